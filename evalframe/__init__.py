"""Model evaluation results that carry the identity of the protocol that made them."""
