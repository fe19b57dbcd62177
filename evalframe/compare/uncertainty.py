"""Interval and p-value of each change of a pair of runs, from their per-cluster states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.compare import classes
from evalframe.compare.cells import Cell
from evalframe.compare.kernels import Kernel, Sample, kernel_for
from evalframe.compare.resampling import MergedMetrics, Narrowing, SampledState, Values
from evalframe.stats.draws import bootstrap_weights, swap_method, swap_patterns
from evalframe.stats.intervals import Interval, percentile_interval
from evalframe.stats.permutation import SwapTest, swap_test

if TYPE_CHECKING:
    from evalframe.compare.points import Points
    from evalframe.compare.sides import Side
    from evalframe.engines.duckdb import DuckDB
    from evalframe.relations import Catalogue

Weights = NDArray[np.int64]
Wanted = Mapping[str, Sequence[Cell]]
"""Per metric the cells to resample; all of one stratum."""


@dataclass(frozen=True)
class Uncertainty:
    """What resampling says about one change. `flags` tells what to know about it."""

    interval: Interval
    test: SwapTest
    clusters: int
    flags: tuple[str, ...]


class Resampler:
    """Resamples pairs of runs of one protocol. The draws depend on nothing but the seed and a stratum's clusters.

    states: per-cluster states of every run by relation name. dimensions: the small tables the metrics read beside them.
    """

    def __init__(
        self,
        engine: DuckDB,
        catalogue: Catalogue,
        states: Mapping[str, pa.Table],
        dimensions: Mapping[str, pa.Table],
        points: Points,
        *,
        replicates: int,
        seed: int,
    ) -> None:
        self._engine = engine
        self._catalogue = catalogue
        self._states = states
        self._dimensions = dimensions
        self._points = points
        self._replicates = replicates
        self._seed = seed
        self._kept: dict[tuple[str, Narrowing, tuple[str, ...]], dict[str, Values]] = {}

    def pair(
        self, baseline: Side, candidate: Side, wanted: Wanted, stratum: str
    ) -> dict[tuple[str, Cell], Uncertainty]:
        """Interval and test of candidate - baseline for every metric and cell in `wanted`, all in `stratum`."""
        clusters = self.clusters((baseline.run_id, candidate.run_id), stratum)
        narrowing = _narrowing(wanted, stratum)
        count = len(clusters)
        if count == 0:
            return {}
        changes = self._changes(baseline, candidate, wanted, narrowing, clusters)
        swapped = self._swapped(baseline, candidate, wanted, narrowing, clusters)
        method = swap_method(count, self._replicates)
        unsteady = self._unsteady_classes(baseline, narrowing, clusters, list(wanted))
        found = {}
        for metric, cells in wanted.items():
            for position, cell in enumerate(cells):
                interval = percentile_interval(changes[metric][:, position], count)
                change = self._change(baseline, candidate, metric, cell)
                test = swap_test(change, swapped[metric][:, position], count, method)
                found[metric, cell] = self._judged(metric, interval, test, count, unsteady)
        return found

    def interval(self, baseline: Side, candidate: Side, metric: str, cell: Cell) -> Interval:
        """The interval of candidate - baseline alone. One baseline after the other is resampled once."""
        clusters = self.clusters((baseline.run_id, candidate.run_id), cell.stratum)
        wanted = {metric: [cell]}
        changes = self._changes(baseline, candidate, wanted, _narrowing(wanted, cell.stratum), clusters)
        return percentile_interval(changes[metric][:, 0], len(clusters))

    def clusters(self, runs: Sequence[str], stratum: str) -> pa.Array:
        """Sorted ids of the clusters that hold anything of `runs` in `stratum`, in any state."""
        tables = [t for t in self._states.values() if "stratum" in t.column_names] or list(self._states.values())
        found: set[str] = set()
        for table in tables:
            inside = pc.is_in(table["run_id"], value_set=pa.array(runs, table["run_id"].type))
            if "stratum" in table.column_names:
                inside = pc.and_(inside, pc.equal(table["stratum"], stratum))
            found.update(pc.unique(table["cluster_id"].filter(inside)).to_pylist())
        # Text sorts by code points here, whatever an engine's collation is.
        return pa.array(sorted(found), pa.large_string())

    def _change(self, baseline: Side, candidate: Side, metric: str, cell: Cell) -> float | None:
        first = self._points[baseline.run_id][metric][cell].value
        second = self._points[candidate.run_id][metric][cell].value
        return None if first is None or second is None else second - first

    @staticmethod
    def _judged(metric: str, interval: Interval, test: SwapTest, clusters: int, unsteady: bool) -> Uncertainty:
        flags = interval.flags
        if unsteady and metric in classes.CLASSWISE:
            flags = (*flags, classes.MISSING)
            if metric in classes.EXTREMES and interval.reason is None:
                interval = replace(interval, low=None, high=None, reason="unstable_replicates")
        return Uncertainty(interval, test, clusters, flags)

    # ---- replicates -------------------------------------------------------------------------------------------------

    def _changes(
        self, baseline: Side, candidate: Side, wanted: Wanted, narrowing: Narrowing, clusters: pa.Array
    ) -> dict[str, Values]:
        """Bootstrap replicates of candidate - baseline, both sides from the same draws."""
        first = self._bootstrap(baseline, wanted, narrowing, clusters, keep=True)
        second = self._bootstrap(candidate, wanted, narrowing, clusters, keep=False)
        return {metric: second[metric] - first[metric] for metric in wanted}

    def _bootstrap(
        self, side: Side, wanted: Wanted, narrowing: Narrowing, clusters: pa.Array, *, keep: bool
    ) -> dict[str, Values]:
        key = (side.run_id, narrowing, tuple(wanted))
        if key not in self._kept:
            sample = self._sample((side,), wanted, narrowing, clusters)
            values = sample.values(bootstrap_weights(len(clusters), self._replicates, self._seed))
            if not keep:
                return values
            self._kept = {key: values}  # one baseline serves many candidates
        return self._kept[key]

    def _swapped(
        self, baseline: Side, candidate: Side, wanted: Wanted, narrowing: Narrowing, clusters: pa.Array
    ) -> dict[str, Values]:
        """Changes under each swap pattern: the two sides' states of some clusters exchanged."""
        sample = self._sample((baseline, candidate), wanted, narrowing, clusters)
        patterns = swap_patterns(len(clusters), self._replicates, self._seed)
        parts = []
        for pattern in patterns:
            both = np.concatenate([np.hstack([1 - pattern, pattern]), np.hstack([pattern, 1 - pattern])])
            values = sample.values(iter([both]))
            parts.append({metric: v[len(pattern) :] - v[: len(pattern)] for metric, v in values.items()})
        return {metric: np.concatenate([part[metric] for part in parts]) for metric in wanted}

    def _sample(self, sides: Sequence[Side], wanted: Wanted, narrowing: Narrowing, clusters: pa.Array) -> _Sample:
        runs = [side.run_id for side in sides]
        states = {
            name: SampledState(self._catalogue[name], _kept(table, narrowing), runs, clusters)
            for name, table in self._states.items()
            if name in {s.name for s in self._catalogue.cluster_states(*wanted)}
        }
        dimensions = {name: _of_run(table, runs[0]) for name, table in self._dimensions.items()}
        kernels = {}
        sample = Sample(states, sides[0].parameters, dimensions)
        for metric, cells in wanted.items():
            kernel = kernel_for(metric, cells, sample)
            if kernel is not None and self._agrees(kernel, metric, cells, runs, len(clusters)):
                kernels[metric] = kernel
        rest = {metric: cells for metric, cells in wanted.items() if metric not in kernels}
        merged = None
        if rest:
            cut = [states[state.name] for state in self._catalogue.cluster_states(*rest)]
            merged = MergedMetrics(self._engine, self._catalogue, list(rest), sides[0].parameters, cut, dimensions)
        return _Sample(kernels, merged, rest)

    def _agrees(self, kernel: Kernel, metric: str, cells: Sequence[Cell], runs: Sequence[str], clusters: int) -> bool:
        """Whether the kernel gives what the metric's SQL gave, on each run of the sample: else SQL answers alone."""
        whole = np.repeat(np.eye(len(runs), dtype=np.int64), clusters, axis=1)
        points = [[self._points[run][metric][cell].value for cell in cells] for run in runs]
        expected = np.array([[np.nan if value is None else value for value in row] for row in points])
        return bool(np.allclose(kernel(whole), expected, rtol=0.0, atol=1e-12, equal_nan=True))

    def _unsteady_classes(self, side: Side, narrowing: Narrowing, clusters: pa.Array, metrics: Sequence[str]) -> bool:
        """Whether a class with support is missing from more than 1 % of the bootstrap replicates."""
        if not classes.CLASSWISE & set(metrics) or classes.STATE not in self._states:
            return False
        state = SampledState(
            self._catalogue[classes.STATE], _kept(self._states[classes.STATE], narrowing), [side.run_id], clusters
        )
        draws = bootstrap_weights(len(clusters), self._replicates, self._seed)
        return classes.unsteady(state, narrowing.stratum, draws, self._replicates)


@dataclass(frozen=True)
class _Sample:
    """How the values of each metric are found under weights: by a kernel where one agrees, else by the SQL."""

    kernels: Mapping[str, Kernel]
    merged: MergedMetrics | None
    rest: Wanted

    def values(self, blocks: Iterator[Weights]) -> dict[str, Values]:
        parts: dict[str, list[Values]] = {metric: [] for metric in (*self.kernels, *self.rest)}
        for weights in blocks:
            for metric, kernel in self.kernels.items():
                parts[metric].append(kernel(weights))
            if self.merged is not None:
                for metric, values in self.merged.values(weights, self.rest).items():
                    parts[metric].append(values)
        return {metric: np.concatenate(values) for metric, values in parts.items()}


def _narrowing(wanted: Wanted, stratum: str) -> Narrowing:
    return Narrowing(stratum, _values_of(wanted, "horizon_s"), _values_of(wanted, "recall"))


def _kept(table: pa.Table, narrowing: Narrowing) -> pa.Table:
    mask = narrowing.mask(table)
    return table if mask is None else table.filter(mask)


def _of_run(table: pa.Table, run: str) -> pa.Table:
    return table.filter(pc.equal(table["run_id"], run)) if "run_id" in table.column_names else table


def _values_of(wanted: Wanted, dimension: str) -> frozenset[float]:
    """The values of a dimension in all cells; a metric without the dimension does not narrow the others."""
    found = {getattr(cell, dimension) for cells in wanted.values() for cell in cells}
    return frozenset(value for value in found if value is not None)
