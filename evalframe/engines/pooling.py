"""Scoring asks for no single cluster: what says that it is poolable is then added up over all of them at once.

Sums, minima and maxima do not care in which order they are taken, so every metric stays the same, bit for bit. What is
saved is a group per cluster, of which a data set may have as many as it has rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalframe.relations.plan import Plan, quoted

CLUSTER = "cluster_id"


def pooled(plan: Plan) -> frozenset[str]:
    """Poolable relations of a pooled plan whose clusters reach no output."""
    if plan.one_cluster is not None:
        return plan.one_cluster
    if not plan.pooled:
        return frozenset()
    shown = {
        relation.name
        for relation in plan.relations
        if relation.name in plan.outputs
        and relation.layer not in ("metric", "calibration")
        and (relation.layer not in ("state", "view") or CLUSTER in relation.grain)
    }
    for relation in reversed(plan.relations):
        if relation.name in shown:
            shown.update(relation.inputs)
    return frozenset(relation.name for relation in plan.relations if relation.poolable) - shown


def as_one_cluster(body: str, inputs: Mapping[str, str]) -> str:
    """`body` with the named inputs, each with where it stands, read as if all their rows were of one cluster."""
    shadows = [
        f"{quoted(name)} AS (SELECT * REPLACE ('' AS {CLUSTER}) FROM {place})" for name, place in sorted(inputs.items())
    ]
    return f"WITH {', '.join(shadows)}\nSELECT * FROM (\n{body}\n) AS body" if shadows else body
