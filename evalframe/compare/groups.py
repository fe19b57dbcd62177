"""Groups of runs: one value of each run, paired by tags; wins, ties and losses beside Wilcoxon's signed rank test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evalframe.compare.pairs import cells_of
from evalframe.compare.rows import blank, relative_reduction, with_percentage_points
from evalframe.compare.verdicts import Refusal, metric_refusal
from evalframe.stats.signed_rank import rounded_differences, signed_rank, win_tie_loss

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.choosing import Pairing
    from evalframe.compare.measuring import Measured
    from evalframe.compare.request import Request
    from evalframe.compare.sides import Side
    from evalframe.protocols import Protocol
    from evalframe.relations import Relation

Pairs = Sequence[tuple["Side", "Side"]]


def group_rows(
    measured: Measured,
    pairing: Pairing,
    pairs: Pairs,
    relations: Sequence[Relation],
    request: Request,
    protocol: Protocol,
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """One row per metric and cell: mean values of both groups, the mean change, the test over pairs.

    One pair that must not be compared refuses the row: leaving it out would choose the pairs by their outcome.
    """
    rows, refusals = [], []
    for relation in relations:
        for cell in cells_of(measured, pairs, relation, request, protocol):
            row, refusal = _group_row(measured, pairing, pairs, relation, cell)
            rows.append(row)
            refusals += [] if refusal is None else [refusal]
    return rows, refusals


def _group_row(
    measured: Measured, pairing: Pairing, pairs: Pairs, relation: Relation, cell: Cell
) -> tuple[dict[str, Any], Refusal | None]:
    row = blank(pairing.baseline, pairing.candidate, relation, cell)
    row["n_pairs"] = len(pairs)
    values: list[tuple[float, float]] = []
    for baseline, candidate in pairs:
        first, second = (measured.point(side, relation, cell) for side in (baseline, candidate))
        refusal = metric_refusal(baseline, candidate, relation, (first, second), same_items=False)
        if refusal is not None:
            row.update(status="refused", reason=refusal.reason)
            return row, refusal
        assert first is not None  # a missing point is a refusal
        assert second is not None
        if first.value is None or second.value is None:
            row.update(status="undefined", reason=first.reason if first.value is None else second.reason)
            return row, None
        values.append((first.value, second.value))
    _test(row, relation, np.array(values, dtype=np.float64))
    return with_percentage_points(row), None


def _test(row: dict[str, Any], relation: Relation, values: Any) -> None:
    differences = rounded_differences(values[:, 0], values[:, 1])
    test = signed_rank(differences)
    baseline, candidate = float(values[:, 0].mean()), float(values[:, 1].mean())
    row.update(
        baseline=baseline,
        candidate=candidate,
        change=float((values[:, 1] - values[:, 0]).mean()),
        relative_reduction=relative_reduction(relation, baseline, candidate),
        p_value=test.p_value,
        min_p=test.min_p,
        method=test.method,
    )
    if relation.better in ("higher", "lower"):
        counted = win_tie_loss(differences, relation.better)
        row.update(wins=counted.wins, ties=counted.ties, losses=counted.losses)
