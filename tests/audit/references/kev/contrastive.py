"""A reference in the shape of the published one: pairs of siblings."""


def paired_flip(rows):
    """Options are compared by their keys. A pair is relevant where the right keys differ."""
    pairs = {}
    for row in rows:
        pairs.setdefault((row["pair_id"], row["question"]), {})[row["sibling"]] = row

    def said(row):
        return row["keys"][row["p"].index(max(row["p"]))]

    def right(row):
        return row["keys"][row["label"]]

    relevant = [pair for pair in pairs.values() if right(pair["a"]) != right(pair["b"])]
    invariant = [pair for pair in pairs.values() if right(pair["a"]) == right(pair["b"])]

    def both(some):
        return sum(all(said(row) == right(row) for row in pair.values()) for pair in some) / len(some) if some else None

    return {
        "pairs": len(relevant),
        "flip_rate": sum(said(pair["a"]) != said(pair["b"]) for pair in relevant) / len(relevant),
        "both_correct_rate": both(relevant),
        "invariant_pairs": len(invariant),
        "invariance_rate": sum(said(pair["a"]) == said(pair["b"]) for pair in invariant) / len(invariant),
        "invariant_both_correct_rate": both(invariant),
    }
