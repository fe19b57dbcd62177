"""Point estimates of every side, from its states by the metrics' own SQL, with the counts that stand beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evalframe.compare.cells import Cell, cell_of
from evalframe.relations import Catalogue, plan

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.compare.sides import Side
    from evalframe.engines.duckdb import DuckDB


class Point(NamedTuple):
    """One metric row of one run. value is None unless status is `ok`.

    counted: the numerator is a count of events, and not a sum of losses or a mean.
    """

    value: float | None
    numerator: float | None
    denominator: float | None
    n_items: int | None
    n_excluded: int | None
    n_failed: int | None
    status: str
    reason: str | None
    counted: bool


Points = Mapping[str, Mapping[str, Mapping[Cell, Point]]]
"""By run, metric relation and cell."""


def points(
    engine: DuckDB,
    catalogue: Catalogue,
    metrics: Sequence[str],
    sides: Sequence[Side],
    states: Mapping[str, pa.Table],
    dimensions: Mapping[str, pa.Table],
) -> dict[str, dict[str, dict[Cell, Point]]]:
    """Evaluate `metrics` on the `states` of all `sides`, those of equal parameters together."""
    found: dict[str, dict[str, dict[Cell, Point]]] = {side.run_id: {metric: {} for metric in metrics} for side in sides}
    for name, table in (*states.items(), *dimensions.items()):
        engine.bind(name, table)
    for settings in dict.fromkeys(tuple(sorted(side.parameters.items())) for side in sides):
        alike = {side.run_id for side in sides if tuple(sorted(side.parameters.items())) == settings}
        wanted = plan(catalogue, metrics, parameters=dict(settings), given=frozenset(states))
        with engine.answering(wanted) as answers:
            for metric in metrics:
                for row in answers.records(metric):
                    if row["run_id"] in alike:
                        found[row["run_id"]][metric][cell_of(row)] = _point(row)
    return found


def _point(row: dict[str, Any]) -> Point:
    def number(name: str) -> float | None:
        return None if row[name] is None else float(row[name])

    def count(name: str) -> int | None:
        return None if row[name] is None else int(row[name])

    return Point(
        value=number("value"),
        numerator=number("numerator"),
        denominator=number("denominator"),
        n_items=count("n_items"),
        n_excluded=count("n_excluded"),
        n_failed=count("n_failed"),
        status=row["status"],
        reason=row["reason"],
        counted=isinstance(row["numerator"], int),
    )
