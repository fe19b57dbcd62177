"""One row of a comparison: the change of one metric in one cell, with everything that qualifies it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from evalframe.contracts import contract

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.points import Point
    from evalframe.compare.reselecting import Reselected
    from evalframe.compare.sides import Side
    from evalframe.compare.uncertainty import Uncertainty
    from evalframe.compare.verdicts import Refusal
    from evalframe.relations import Relation

PROPORTION = "proportion"
"""The unit whose margins and `_pp` columns are percentage points."""

# Fewer baseline events than this, and a relative reduction says more about luck than about the model.
SMALL_BASELINE = 10
# A recomputed value may differ from the recorded one by so much.
ROUND_OFF = 1e-12


@cache
def _unknown() -> Mapping[str, Any]:
    """Every column of `comparisons` that is about one row, with nothing in it."""
    names = contract("comparisons").names
    return {**dict.fromkeys(names[names.index("baseline_run") :]), "status": "ok"}


def blank(baseline: str, candidate: str, relation: Relation, cell: Cell) -> dict[str, Any]:
    """A row that says what would be compared and nothing about it yet."""
    return {
        **_unknown(),
        "baseline_run": baseline,
        "candidate_run": candidate,
        "metric": relation.published,
        "unit": relation.unit,
        "better": relation.better,
        "stratum": cell.stratum,
        "horizon_s": cell.horizon_s,
        "recall": cell.recall,
        "step": cell.step,
        "flags": [],
    }


def change_row(
    baseline: Side,
    candidate: Side,
    relation: Relation,
    cell: Cell,
    points: tuple[Point | None, Point | None],
    *,
    refusal: Refusal | None = None,
    uncertainty: Uncertainty | None = None,
    reselected: Reselected | None = None,
    cluster: str | None = None,
    reached: tuple[float | None, float | None] = (None, None),
    recall_slack: float = 0.0,
) -> dict[str, Any]:
    """The row of one metric and cell. A refused one shows no change; an undefined one shows what is defined."""
    row = blank(baseline.run_id, candidate.run_id, relation, cell)
    for side, point, run in (("baseline", points[0], baseline), ("candidate", points[1], candidate)):
        if point is not None:
            row[side] = point.value
            row[f"{side}_numerator"], row[f"{side}_denominator"] = point.numerator, point.denominator
        if cell.stratum == "all":
            row[f"{side}_frozen"] = run.frozen.get(relation.published)
    row["baseline_recall"], row["candidate_recall"] = reached
    if refusal is not None:
        row.update(status="refused", reason=refusal.reason)
        return row
    first, second = points
    assert first is not None  # a missing point is a refusal
    assert second is not None
    if first.value is not None and second.value is not None:
        row["change"] = second.value - first.value
        row["relative_reduction"] = relative_reduction(relation, first.value, second.value)
    else:
        row.update(status="undefined", reason=first.reason if first.value is None else second.reason)
    row["flags"] = _flags(row, relation, first, second, baseline, recall_slack)
    if uncertainty is not None:
        _add_uncertainty(row, uncertainty, cell, cluster)
    if reselected is not None:
        _add_reselected(row, reselected)
    return with_percentage_points(row)


def relative_reduction(relation: Relation, baseline: float, candidate: float) -> float | None:
    """(baseline - candidate) / baseline where lower is better and the baseline is above 0."""
    return (baseline - candidate) / baseline if relation.better == "lower" and baseline > 0 else None


def with_percentage_points(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its `_pp` columns: 100 x those of a proportion."""
    for name in ("change", "ci_low", "ci_high"):
        known = row["unit"] == PROPORTION and row[name] is not None
        row[f"{name}_pp"] = 100.0 * row[name] if known else None
    return row


def _add_uncertainty(row: dict[str, Any], found: Uncertainty, cell: Cell, cluster: str | None) -> None:
    interval, test = found.interval, found.test
    row.update(
        cluster=cluster,
        n_clusters=found.clusters,
        ci_low=interval.low,
        ci_high=interval.high,
        replicates_undefined=interval.undefined,
        p_value=test.p_value,
        min_p=test.min_p,
        # The thresholds of both sides stay as they were selected; only the evaluated clusters are resampled.
        method=test.method if cell.recall is None else f"{test.method}, thresholds as selected",
    )
    row["flags"] += [flag for flag in found.flags if flag not in row["flags"]]
    if interval.reason is not None:
        row.update(status="undefined", reason=interval.reason)


def _add_reselected(row: dict[str, Any], found: Reselected) -> None:
    row.update(
        ci_low_reselected=found.interval.low,
        ci_high_reselected=found.interval.high,
        calibration_unit=found.unit,
        n_calibration_units=found.units,
    )
    if "candidate" in found.unit:
        row["flags"].append("calibration_events_resampled")
    if found.interval.reason == "unstable_replicates":
        row["flags"].append("unstable_when_reselected")


def _flags(
    row: Mapping[str, Any], relation: Relation, first: Point, second: Point, baseline: Side, recall_slack: float
) -> list[str]:
    flags = []
    if relation.denominator == "model" and first.denominator != second.denominator:
        flags.append("denominator_differs")
    events = first.numerator if first.counted else None
    if row["relative_reduction"] is not None and events is not None and events < SMALL_BASELINE:
        flags.append("small_baseline")
    reached = (row["baseline_recall"], row["candidate_recall"])
    if None not in reached and reached[1] < reached[0] - recall_slack:
        flags.append("recall_lost")
    if baseline.taint is not None:
        flags.append("tainted")
    for side in ("baseline", "candidate"):
        frozen, value = row[f"{side}_frozen"], row[side]
        if frozen is not None and value is not None and abs(frozen - value) > ROUND_OFF:
            flags.append("differs_from_frozen")
            break
    return flags
