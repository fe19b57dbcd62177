"""sql/ as a graph: front matter, closure, layers, plans, lint and fingerprints. Runs nothing."""

from evalframe.relations.catalogue import Catalogue, catalogue
from evalframe.relations.fingerprints import metric_fingerprint, protocol_fingerprint
from evalframe.relations.plan import Plan, plan
from evalframe.relations.relation import Relation

__all__ = [
    "Catalogue",
    "Plan",
    "Relation",
    "catalogue",
    "metric_fingerprint",
    "plan",
    "protocol_fingerprint",
]
