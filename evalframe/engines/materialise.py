"""What an engine computes once and keeps while a plan runs."""

from __future__ import annotations

from collections import Counter

from evalframe.relations.plan import Plan


def kept(plan: Plan) -> frozenset[str]:
    """Names of relations to keep: what its author asks for, else states that are read and facts that are read twice.

    A state is small and every metric above it would recompute it. A fact is as long as the data: it streams through
    into its only reader, unless that would compute it twice.
    """
    readers = Counter(name for relation in plan.relations for name in relation.inputs)
    keep = set()
    for relation in plan.relations:
        uses = readers[relation.name] + (relation.name in plan.outputs)
        if relation.materialize is not None:
            # An output is computed as a whole in any case; who reads it too need not compute it again.
            wanted = relation.materialize or (relation.name in plan.outputs and readers[relation.name] > 0)
        elif relation.layer == "fact":
            wanted = uses > 1
        else:
            wanted = relation.layer in ("state", "calibration") and readers[relation.name] > 0
        if wanted:
            keep.add(relation.name)
    return frozenset(keep)
