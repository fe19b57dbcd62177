"""Kernels of the metrics that rank items: counts per score group and cluster, cumulated from the highest score down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.compare.columns import integers, places
from evalframe.compare.kernels import Latest
from evalframe.stats import ranks

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.kernels import Kernel, Material, Values
    from evalframe.compare.resampling import SampledState
    from evalframe.stats.merging import Weights

RankMetric = Callable[[ranks.ScoreGroups, "Weights"], "Values"]


@dataclass(frozen=True)
class Ranking:
    """Where a state holds ranked items: the key column of the score, the columns that count marked and other items.

    where: what the state's further key columns must hold. others_include_marked: `others` counts all items.
    """

    state: str
    score: str
    marked: str
    others: str
    others_include_marked: bool = False
    where: Mapping[str, object] = field(default_factory=dict)

    def rows(self, material: Material, cell: Cell) -> tuple[SampledState, NDArray[np.bool_]]:
        """The state and which of its rows lie in the cell and are ranked."""
        state = material.states[self.state]
        inside = np.ones(len(state.rows.unit), dtype=np.bool_)
        wanted = {**self.where, "stratum": cell.stratum, "horizon_s": cell.horizon_s, "step": cell.step}
        for name, value in wanted.items():
            if name in state.key_names:
                inside &= np.asarray(pc.fill_null(pc.equal(state.key_column(name), value), False))
        inside &= np.asarray(pc.is_valid(state.key_column(self.score)))
        return state, inside

    def groups(
        self, state: SampledState, inside: NDArray[np.bool_], unranked: NDArray[np.int64] | None = None
    ) -> ranks.ScoreGroups:
        """Score groups of the rows `inside`."""
        score = np.asarray(state.key_column(self.score).cast("float64"), dtype=np.float64)[inside]
        marked = np.rint(state.column(self.marked)[inside]).astype(np.int64)
        others = np.rint(state.column(self.others)[inside]).astype(np.int64)
        total = others if self.others_include_marked else others + marked
        return ranks.score_groups(state.rows.unit[inside], score, marked, total, state.rows.units, unranked)


def _ranked(ranking: Ranking, metric: RankMetric, material: Material, cell: Cell) -> Kernel:
    groups = ranking.groups(*ranking.rows(material, cell))
    return lambda weights: metric(groups, weights)


def _events(kind: str, variant: str = "") -> Ranking:
    return Ranking("floor_score_groups", "score", f"n_positive{variant}", f"n_negative{variant}", where={"kind": kind})


_CHOICES = Ranking("choice_score_groups", "confidence", "errors", "n", others_include_marked=True)


def _choices(
    together: Callable[[ranks.ScoreGroups, Weights], Values],
    part: Callable[[Values], Values],
    material: Material,
    cell: Cell,
) -> Kernel:
    """A part of what one pass over the answers by confidence gives.

    The metrics of that pass share it, and so do populations of the same answers: `all` and `headline` often are.
    """
    groups = material.shared((_CHOICES.state, cell), lambda: _answers(material, cell))
    found = material.shared((together, groups.content()), lambda: Latest(partial(together, groups)))
    return lambda weights: part(found(weights))


def _answers(material: Material, cell: Cell) -> ranks.ScoreGroups:
    """Labelled questions on which the model failed are never accepted and stay in n."""
    sums = material.states["choice_sums"]
    inside = np.asarray(pc.equal(sums.key_column("stratum"), cell.stratum))
    failed = sums.column("n_labelled_failed") * (material.parameters["failed"] == "wrong")
    unranked = np.bincount(sums.rows.unit[inside], failed[inside], minlength=sums.rows.units)
    state, rows = _CHOICES.rows(material, cell)
    strata = material.relation("choice_strata")
    strata = strata.filter(pc.equal(strata["stratum"], cell.stratum))
    # Cells are numbered by each run for itself.
    run, theirs = places(strata["run_id"], material.runs), integers(strata["cell_index"])
    cells = integers(state.key_column("cell_index"))
    belongs = np.zeros((len(material.runs), 1 + max(cells.max(initial=0), theirs.max(initial=0))), dtype=np.bool_)
    belongs[run, theirs] = True
    rows &= belongs[state.run, cells]
    return _CHOICES.groups(state, rows, np.rint(unranked).astype(np.int64))


_BUDGETS = (Fraction(1, 100), Fraction(1, 20))
_SHARES = (Fraction(1, 2), Fraction(4, 5))


def _selective(groups: ranks.ScoreGroups, weights: Weights) -> Values:
    return ranks.selective(groups, weights, _SHARES, _BUDGETS)


def _at(position: int, found: Values) -> Values:
    one: Values = found[position]
    return one


def _of_most_confident(what: Callable[[Values], Values], position: int, found: Values) -> Values:
    return what(found[1 + 3 * position : 4 + 3 * position])


def _top_k(score: str, material: Material, cell: Cell) -> Kernel:
    """Mean over query tasks of the correct share of the top k; candidates without a score are one last group."""
    state = material.states["filter_hits_by_trajectory"]
    k = int(material.parameters["top_k"])
    columns = {name: state.key_column(name) for name in state.key_names}
    inside = np.asarray(pc.and_(pc.equal(columns["score"], score), pc.equal(columns["stratum"], cell.stratum)))
    units = np.asarray(columns["score_units"].cast("float64"), dtype=np.float64)
    place = np.where(np.asarray(columns["has_score"]), units, units.min(initial=0.0) - 1.0)
    task = np.asarray(pc.fill_null(columns["query_task"], "").to_numpy(zero_copy_only=False))
    pools = []
    for one in sorted(set(task[inside])):
        here = inside & (task == one)
        hits, n = (np.rint(state.column(name)[here]).astype(np.int64) for name in ("n_hits", "n"))
        pools.append(ranks.score_groups(state.rows.unit[here], place[here], hits, n, state.rows.units))

    def values(weights: Weights) -> Values:
        if not pools:
            return np.full(len(weights), np.nan)
        found: Values = np.sum([ranks.marked_in_top(pool, weights, k) for pool in pools], axis=0)
        return found / (k * len(pools))

    return values


_FAILURES = Ranking("failure_scores_by_trajectory", "failure_score", "n_failures", "n_successes")

RANKED: Mapping[str, Callable[[Material, Cell], Kernel]] = {
    "response_ap": partial(_ranked, _events("response"), ranks.average_precision),
    "yield_ap": partial(_ranked, _events("yield"), ranks.average_precision),
    "response_ap_full_horizon": partial(_ranked, _events("response", "_full_horizon"), ranks.average_precision),
    "yield_ap_full_horizon": partial(_ranked, _events("yield", "_full_horizon"), ranks.average_precision),
    "framewise_ap": partial(
        _ranked, Ranking("floor_frame_groups", "score", "n_positive", "n_negative"), ranks.average_precision
    ),
    "failure_ap": partial(_ranked, _FAILURES, ranks.average_precision),
    "failure_roc_auc": partial(_ranked, _FAILURES, ranks.roc_auc),
    "aurc": partial(_choices, _selective, partial(_at, 0)),
    "coverage_at_error_0.01": partial(_choices, _selective, partial(_at, -2)),
    "coverage_at_error_0.05": partial(_choices, _selective, partial(_at, -1)),
    "selective_coverage_0.5": partial(_choices, _selective, partial(_of_most_confident, ranks.coverage, 0)),
    "selective_coverage_0.8": partial(_choices, _selective, partial(_of_most_confident, ranks.coverage, 1)),
    "selective_accuracy_0.5": partial(_choices, _selective, partial(_of_most_confident, ranks.unmarked_share, 0)),
    "selective_accuracy_0.8": partial(_choices, _selective, partial(_of_most_confident, ranks.unmarked_share, 1)),
    "top_k_pearson": partial(_top_k, "pearson"),
    "top_k_final": partial(_top_k, "final"),
    "top_k_delta": partial(_top_k, "delta"),
    "top_k_slope": partial(_top_k, "slope"),
    "top_k_late_mean_delta": partial(_top_k, "late_mean_delta"),
}
