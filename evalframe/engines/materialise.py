"""What an engine computes once and keeps while a plan runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from evalframe.engines.pooling import CLUSTER
from evalframe.relations.plan import Plan, literal, quoted
from evalframe.relations.relation import Relation


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


def constants(relation: Relation, plan: Plan, of_one_cluster: Collection[str]) -> dict[str, str]:
    """Columns of a kept relation that have one text in every row, with the text; they need not be kept.

    A fact is as long as the data: such a text takes as long to write, and as much memory, as a number of every row.
    """
    found: dict[str, str] = {}
    if relation.layer == "fact" and relation.name not in plan.outputs:
        if plan.run_id is not None and _RUN in relation.grain:
            found[_RUN] = plan.run_id
        if relation.name in of_one_cluster:
            found[CLUSTER] = ""
    return found


def without(body: str, constants: Mapping[str, str]) -> str:
    """The rows of `body` without the columns that are constant. A row of another run is an error, never relabelled."""
    names = ", ".join(map(literal, constants))
    rows = f"SELECT COLUMNS(lambda name: name NOT IN ({names})) FROM (\n{body}\n) AS body"
    if _RUN not in constants:
        return rows
    refusal = literal(f"a row of another run than {constants[_RUN]}")
    return f"{rows}\nWHERE CASE WHEN {_RUN} = {literal(constants[_RUN])} THEN TRUE ELSE error({refusal}) END"


def beside(name: str, constants: Mapping[str, str]) -> str:
    """The rows of a temporary table made by `without`, with the constants again."""
    columns = (f"{literal(text)} AS {quoted(column)}" for column, text in constants.items())
    return f"SELECT {', '.join(columns)}, * FROM temp.{quoted(name)}"


_RUN = "run_id"
