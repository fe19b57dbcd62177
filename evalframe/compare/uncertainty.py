"""Interval and p-value of each change of a pair of runs, from their per-cluster states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalframe.compare import classes
from evalframe.compare.cells import Cell
from evalframe.compare.columns import distinct, places, rows
from evalframe.compare.kernels import as_floats
from evalframe.errors import RelationError
from evalframe.stats.draws import BLOCK_CELLS, bootstrap_weights, swap_count, swap_method, swap_patterns
from evalframe.stats.intervals import Interval, percentile_interval
from evalframe.stats.permutation import SwapTest, swap_test
from evalframe.underway import portions

if TYPE_CHECKING:
    from evalframe.compare.points import Points
    from evalframe.compare.resampling import Values, Wanted
    from evalframe.compare.sampling import Sample, Sampler
    from evalframe.compare.sides import Side
    from evalframe.stats.merging import Weights

NOT_EXCHANGEABLE = "sides_not_exchangeable"
"""Flag of a row without a test: the states of the two sides do not speak of the same keys."""


class Uncertainty(NamedTuple):
    """What resampling says about one change. `flags` tells what to know about it."""

    interval: Interval
    test: SwapTest
    clusters: int
    flags: tuple[str, ...]


class Resampler:
    """Resamples pairs of runs. The draws depend on nothing but the seed and the clusters of a stratum."""

    def __init__(self, sampler: Sampler, points: Points, *, replicates: int, seed: int) -> None:
        self._sampler = sampler
        self._points = points
        self._replicates = replicates
        self._seed = seed
        self._kept: dict[object, dict[str, Values]] = {}
        self._drawn: dict[int, list[Values]] = {}
        self._clusters: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}

    def pair(self, baseline: Side, candidate: Side, wanted: Wanted) -> dict[tuple[str, Cell], Uncertainty]:
        """Interval and test of candidate - baseline for every metric and cell in `wanted`.

        Strata over the same clusters are resampled together; they would have the same draws by themselves.
        """
        alike: dict[tuple[str, ...], list[str]] = {}
        for stratum in dict.fromkeys(cell.stratum for cells in wanted.values() for cell in cells):
            alike.setdefault(self.clusters((baseline.run_id, candidate.run_id), stratum), []).append(stratum)
        found: dict[tuple[str, Cell], Uncertainty] = {}
        for clusters, strata in alike.items():
            inside = {m: [cell for cell in cells if cell.stratum in strata] for m, cells in wanted.items()}
            some = {metric: cells for metric, cells in inside.items() if cells}
            found.update(self._pair(baseline, candidate, some, clusters))
        return found

    def interval(self, baseline: Side, candidate: Side, metric: str, cell: Cell) -> Interval:
        """The interval of candidate - baseline alone. One baseline after the other is resampled once."""
        clusters = self.clusters((baseline.run_id, candidate.run_id), cell.stratum)
        changes = self._changes(baseline, candidate, {metric: [cell]}, clusters)
        return percentile_interval(changes[metric][:, 0], len(clusters))

    def clusters(self, runs: Sequence[str], stratum: str) -> tuple[str, ...]:
        """Sorted ids of the clusters that hold anything of `runs` in `stratum`, in any state."""
        key = (tuple(runs), stratum)
        if key not in self._clusters:
            self._clusters[key] = self._found(runs, stratum)
        return self._clusters[key]

    def _found(self, runs: Sequence[str], stratum: str) -> tuple[str, ...]:
        states = list(self._sampler.states.values())
        found: set[str] = set()
        for table in [state for state in states if "stratum" in state.column_names] or states:
            inside = places(table["run_id"], list(dict.fromkeys(runs))) >= 0
            if "stratum" in table.column_names:
                inside &= places(table["stratum"], [stratum]) == 0
            found |= distinct(rows(table.select(["cluster_id"]), inside)["cluster_id"])
        # Text sorts by code points here, whatever an engine's collation is.
        return tuple(sorted(found))

    def _pair(
        self, baseline: Side, candidate: Side, wanted: Wanted, clusters: tuple[str, ...]
    ) -> dict[tuple[str, Cell], Uncertainty]:
        count = len(clusters)
        if count == 0:
            return {}
        changes = self._changes(baseline, candidate, wanted, clusters)
        swapped, unlike = self._swapped(baseline, candidate, wanted, clusters)
        method = swap_method(count, self._replicates)
        unsteady = self._unsteady_strata(baseline, wanted, clusters)
        found = {}
        for metric, cells in wanted.items():
            for position, cell in enumerate(cells):
                interval = percentile_interval(changes[metric][:, position], count)
                change = None if metric in unlike else self._change(baseline, candidate, metric, cell)
                test = swap_test(change, swapped[metric][:, position], count, method)
                flags = interval.flags
                if metric in unlike:
                    flags = (*flags, NOT_EXCHANGEABLE)
                if metric in classes.CLASSWISE and cell.stratum in unsteady:
                    flags = (*flags, classes.MISSING)
                    if metric in classes.EXTREMES and interval.reason is None:
                        interval = interval._replace(low=None, high=None, reason="unstable_replicates")
                found[metric, cell] = Uncertainty(interval, test, count, flags)
        return found

    def _change(self, baseline: Side, candidate: Side, metric: str, cell: Cell) -> float | None:
        first = self._points[baseline.run_id][metric][cell].value
        second = self._points[candidate.run_id][metric][cell].value
        return None if first is None or second is None else second - first

    def _changes(self, baseline: Side, candidate: Side, wanted: Wanted, clusters: tuple[str, ...]) -> dict[str, Values]:
        """Bootstrap replicates of candidate - baseline, both sides from the same draws."""
        key = (baseline.run_id, clusters, tuple((metric, tuple(cells)) for metric, cells in wanted.items()))
        if key not in self._kept:
            self._kept = {key: self._bootstrap(baseline, wanted, clusters)}  # one baseline serves many candidates
        first, second = self._kept[key], self._bootstrap(candidate, wanted, clusters)
        return {metric: second[metric] - first[metric] for metric in wanted}

    def _bootstrap(self, side: Side, wanted: Wanted, clusters: tuple[str, ...]) -> dict[str, Values]:
        sample = self._sample((side,), wanted, clusters)
        if sample.unlike:
            metric = min(sample.unlike)
            raise RelationError(
                f"{metric} is not made of per-cluster states that add up",
                expected="the metric of a run's merged states to be the metric of the run",
                found=f"another value for {side.run_id}",
                hint=f"evalframe explain {metric} --steps",
            )
        return sample.values(portions("replicates", self._draws(len(clusters)), self._replicates))

    def _draws(self, clusters: int) -> Iterator[Weights]:
        """The weights of all replicates, the same for both sides: where they are one block, the other finds it here."""
        blocks = bootstrap_weights(clusters, self._replicates, self._seed)
        if self._replicates * clusters > BLOCK_CELLS:
            return blocks
        if clusters not in self._drawn:
            self._drawn = {clusters: [as_floats(block) for block in blocks]}
        return iter(self._drawn[clusters])

    def _swapped(
        self, baseline: Side, candidate: Side, wanted: Wanted, clusters: tuple[str, ...]
    ) -> tuple[dict[str, Values], frozenset[str]]:
        """Changes under each swap pattern (the two sides' states of some clusters exchanged), and metrics without."""
        sample = self._sample((baseline, candidate), wanted, clusters)
        parts = []
        patterns = swap_patterns(len(clusters), self._replicates, self._seed)
        for pattern in portions("patterns", patterns, swap_count(len(clusters), self._replicates)):
            values = sample.values(iter([_exchanged(pattern)]))
            parts.append({metric: v[len(pattern) :] - v[: len(pattern)] for metric, v in values.items()})
        return {metric: np.concatenate([part[metric] for part in parts]) for metric in wanted}, sample.unlike

    def _sample(self, sides: Sequence[Side], wanted: Wanted, clusters: tuple[str, ...]) -> Sample:
        return self._sampler.sample(sides, wanted, clusters)

    def _unsteady_strata(self, side: Side, wanted: Wanted, clusters: tuple[str, ...]) -> frozenset[str]:
        """Strata in which a class with support is missing from more than 1 % of the bootstrap replicates."""
        asked = {metric: cells for metric, cells in wanted.items() if metric in classes.CLASSWISE}
        if not asked or classes.STATE not in self._sampler.states:
            return frozenset()
        state = self._sampler.state(classes.STATE, [side.run_id], asked, clusters)
        return frozenset(
            stratum
            for stratum in {cell.stratum for cells in asked.values() for cell in cells}
            if classes.unsteady(state, stratum, self._draws(len(clusters)), self._replicates)
        )


def _exchanged(pattern: NDArray[np.int64]) -> Values:
    """Weights [2b, 2C] over the clusters of both sides: the baseline under each pattern [b, C], then the candidate."""
    count, clusters = pattern.shape
    weights = np.empty((2 * count, 2 * clusters))
    weights[:count, clusters:] = weights[count:, :clusters] = pattern
    weights[:count, :clusters] = weights[count:, clusters:] = 1 - pattern
    return weights
