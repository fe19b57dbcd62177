"""The rows of one run against another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalframe.compare.cells import Cell
from evalframe.compare.points import Point
from evalframe.compare.reached import recall_reached
from evalframe.compare.rows import change_row
from evalframe.compare.verdicts import Refusal, metric_refusal

if TYPE_CHECKING:
    from evalframe.compare.measuring import Measured
    from evalframe.compare.request import Request
    from evalframe.compare.reselecting import Reselected
    from evalframe.compare.sides import Side
    from evalframe.compare.uncertainty import Uncertainty
    from evalframe.protocols import Protocol
    from evalframe.relations import Relation

Both = tuple[Point | None, Point | None]


def strata_of(request: Request, protocol: Protocol) -> tuple[str, ...]:
    """The strata asked for; by default the whole and the one that the protocol judges by."""
    return request.strata or tuple(dict.fromkeys((protocol.primary_stratum, "all")))


def refused_rows(
    baseline: Side, candidate: Side, relations: Sequence[Relation], stratum: str, refusal: Refusal
) -> list[dict[str, Any]]:
    """A row for every metric of a pair that is not compared at all."""
    cell = Cell(stratum)
    return [change_row(baseline, candidate, one, cell, (None, None), refusal=refusal) for one in relations]


def pair_rows(
    measured: Measured,
    baseline: Side,
    candidate: Side,
    relations: Sequence[Relation],
    request: Request,
    protocol: Protocol,
    *,
    same_items: bool = False,
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """Rows and refusals of `relations` in every cell asked for. `same_items`: both sides were cut to shared items."""
    wanted: list[tuple[Relation, Cell, Both, Refusal | None]] = []
    for relation in relations:
        for cell in cells_of(measured, [(baseline, candidate)], relation, request, protocol):
            both = (measured.point(baseline, relation, cell), measured.point(candidate, relation, cell))
            refusal = metric_refusal(baseline, candidate, relation, both, same_items=same_items)
            wanted.append((relation, cell, both, refusal))
    found = _uncertainties(measured, baseline, candidate, wanted)
    rows = []
    for relation, cell, both, refusal in wanted:
        reached = tuple(
            recall_reached(measured.points[side.run_id], relation.name, cell) for side in (baseline, candidate)
        )
        rows.append(
            change_row(
                baseline,
                candidate,
                relation,
                cell,
                both,
                refusal=refusal,
                uncertainty=found.get((relation.name, cell)),
                reselected=_reselected(measured, baseline, candidate, relation, cell, found),
                cluster=measured.cluster,
                reached=(reached[0], reached[1]),
                recall_slack=request.recall_slack,
            )
        )
    return rows, [refusal for _, _, _, refusal in wanted if refusal is not None]


def _uncertainties(
    measured: Measured,
    baseline: Side,
    candidate: Side,
    wanted: Iterable[tuple[Relation, Cell, Both, Refusal | None]],
) -> Mapping[tuple[str, Cell], Uncertainty]:
    """Interval and test of every row that has a change."""
    cells: dict[str, list[Cell]] = {}
    for relation, cell, both, refusal in wanted:
        if refusal is None and all(point is not None and point.value is not None for point in both):
            cells.setdefault(relation.name, []).append(cell)
    return measured.resampler.pair(baseline, candidate, cells) if cells else {}


def _reselected(
    measured: Measured,
    baseline: Side,
    candidate: Side,
    relation: Relation,
    cell: Cell,
    found: Mapping[tuple[str, Cell], Uncertainty],
) -> Reselected | None:
    """The interval with thresholds chosen anew, beside the plain one."""
    if measured.reselection is None or (relation.name, cell) not in found:
        return None
    clusters = measured.resampler.clusters((baseline.run_id, candidate.run_id), cell.stratum)
    return measured.reselection.interval(baseline, candidate, relation.name, cell, clusters)


def cells_of(
    measured: Measured,
    pairs: Sequence[tuple[Side, Side]],
    relation: Relation,
    request: Request,
    protocol: Protocol,
) -> Iterator[Cell]:
    """Every cell of a metric that was asked for and that any run of `pairs` has.

    A stratum asked for by name in which there is none gives its bare cell; so does a metric that has no cell at all.
    """
    runs = [side.run_id for pair in pairs for side in pair]
    known = sorted({cell for run in runs for cell in measured.points[run].get(relation.name, {})}, key=_order)
    found = 0
    for stratum in strata_of(request, protocol):
        inside = [cell for cell in known if cell.stratum == stratum and _asked_for(cell, request, protocol)]
        bare = [Cell(stratum)] if request.strata else []
        yield from inside or bare
        found += len(inside or bare)
    if not found:
        yield Cell(protocol.primary_stratum)


def _asked_for(cell: Cell, request: Request, protocol: Protocol) -> bool:
    recalls = request.recalls or ((float(protocol.primary_recall),) if protocol.primary_recall else ())
    return (cell.horizon_s is None or not request.horizons or cell.horizon_s in request.horizons) and (
        cell.recall is None or not recalls or cell.recall in recalls
    )


def _order(cell: Cell) -> tuple[float, ...]:
    return tuple(-1.0 if value is None else float(value) for value in cell[1:])
