"""Do engines agree? Each relation alone, over the same inputs, on the engine of record and on another.

A relation is given the rows of its inputs as the engine of record has them, so that a difference is shown where it
arises and nowhere after.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Protocol

from evalframe.engines.base import Engine
from evalframe.errors import EngineError, NotPortable
from evalframe.relations.plan import Plan
from evalframe.relations.relation import Layer, Relation

if TYPE_CHECKING:
    import pyarrow as pa

TOLERANCE = 1e-12
"""Largest relative difference of two numbers that is agreement."""

Outcome = Literal["exact", "close", "differs", "not portable"]
_RANK: Mapping[str, int] = {"exact": 0, "close": 1, "not portable": 2, "differs": 3}


class Evaluates(Protocol):
    """As much of an engine as is needed to be compared."""

    def bind(self, name: str, source: pa.Table) -> None:
        """Make a table readable as `name`."""

    def unbind(self, *names: str) -> None:
        """Forget what was bound under these names."""

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        """The rows of the plan's outputs."""


@dataclass(frozen=True)
class Agreement:
    """What came of one relation on one engine.

    largest: the largest relative difference of two numbers. reason: for `not portable`, of NotPortable's list. detail:
    what differs first, or what the engine said. n_rows: rows compared.
    """

    relation: str
    layer: Layer
    outcome: Outcome
    n_rows: int = 0
    largest: float = 0.0
    reason: str | None = None
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against agreement."""
        return self.outcome != "differs"


def compare(
    relation: Relation,
    inputs: Mapping[str, pa.Table],
    parameters: Mapping[str, str],
    expected: pa.Table,
    engine: Evaluates,
) -> Agreement:
    """`relation` over `inputs` on `engine`, beside the rows `expected` of the engine of record."""
    alone = Plan(
        outputs=(relation.name,),
        relations=(relation,),
        tables=(),
        given=frozenset(relation.inputs),
        parameters={name: parameters[name] for name in relation.parameters},
    )
    try:
        for name in relation.inputs:
            engine.bind(name, inputs[name])
        found = engine.evaluate(alone)[relation.name]
    except NotPortable as error:
        return Agreement(relation.name, relation.layer, "not portable", reason=error.reason, detail=error.found)
    except EngineError as error:
        return Agreement(relation.name, relation.layer, "not portable", reason="types", detail=error.found)
    finally:
        engine.unbind(*relation.inputs)
    return _beside(relation, found, expected)


def compare_plan(
    plan: Plan,
    tables: Mapping[str, pa.Table],
    record: Engine,
    others: Mapping[str, Evaluates],
    layers: Collection[str] | None = None,
) -> Iterator[tuple[str, Agreement]]:
    """(name of the other engine, agreement) for every relation of `plan` over the contract tables it reads.

    layers: those to compare, default all; the engine of record computes the others all the same.
    """
    known = dict(tables)
    by_name = {relation.name: relation for relation in plan.relations}
    for name, table in tables.items():
        record.bind(name, table)
    for name, rows in record.steps(plan):
        known[name] = rows
        relation = by_name[name]
        if layers is None or relation.layer in layers:
            for label, engine in others.items():
                yield label, compare(relation, known, plan.parameters, rows, engine)


def worst(agreements: Iterable[Agreement]) -> Agreement:
    """Several outcomes of one relation as one: the gravest, over the rows of all."""
    found = list(agreements)
    gravest = max(found, key=lambda each: (_RANK[each.outcome], each.largest))
    return replace(gravest, n_rows=sum(each.n_rows for each in found))


def _beside(relation: Relation, found: pa.Table, expected: pa.Table) -> Agreement:
    def differs(detail: str) -> Agreement:
        return Agreement(relation.name, relation.layer, "differs", len(expected), detail=detail)

    names = expected.column_names
    if sorted(found.column_names) != sorted(names):
        return differs(f"columns {', '.join(found.column_names)} instead of {', '.join(names)}")
    if len(found) != len(expected):
        return differs(f"{len(found)} rows instead of {len(expected)}")
    key = [name for name in relation.grain if name in names]
    ordered = [_ordered(table.select(names), key) for table in (found, expected)]
    largest = 0.0
    for row, (one, other) in enumerate(zip(*ordered, strict=True)):
        for name in names:
            apart = _apart(one[name], other[name])
            if apart is None or apart > TOLERANCE:
                place = ", ".join(f"{column}={other[column]}" for column in key) or f"row {row}"
                return differs(f"{name} is {one[name]!r} instead of {other[name]!r} at {place}")
            largest = max(largest, apart)
    outcome: Outcome = "exact" if largest == 0.0 else "close"
    return Agreement(relation.name, relation.layer, outcome, len(expected), largest)


def _ordered(table: pa.Table, key: Sequence[str]) -> list[dict[str, Any]]:
    """Rows by key, then by everything whose order round-off cannot change."""
    rows: list[dict[str, Any]] = table.to_pylist()
    exact = [name for name in table.column_names if name not in key and not _is_float(table, name)]
    return sorted(rows, key=lambda row: tuple(_rank(row[name]) for name in (*key, *exact)))


def _is_float(table: pa.Table, name: str) -> bool:
    kind = str(table.schema.field(name).type)
    return "float" in kind or "double" in kind or "decimal" in kind


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    if isinstance(value, bool | int | float | Decimal):
        number = float(value)
        return (1, -math.inf if math.isnan(number) else number)
    return (2, repr(value))


def _apart(one: Any, other: Any) -> float | None:
    """Relative difference of two numbers; 0 for equal values; None where they cannot be compared or are not equal."""
    if one is None or other is None:
        return 0.0 if one is other else None
    if isinstance(one, list) and isinstance(other, list):
        parts = [_apart(a, b) for a, b in zip(one, other, strict=False)] if len(one) == len(other) else [None]
        return None if None in parts else max((part for part in parts if part is not None), default=0.0)
    if isinstance(one, bool) or isinstance(other, bool):
        return 0.0 if one is other else None
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        a, b = float(one), float(other)
        if a == b or (math.isnan(a) and math.isnan(b)):
            return 0.0
        if not (math.isfinite(a) and math.isfinite(b)) or (isinstance(one, int) and isinstance(other, int)):
            return None
        return abs(a - b) / max(abs(a), abs(b))
    return 0.0 if one == other else None
