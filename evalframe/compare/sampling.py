"""How the values of each metric are found under weights: by a kernel, as a count or a quotient of sums, or by the SQL.

The SQL always gives the right answer. The other ways are faster by orders of magnitude, and each is used only where it
gave what the SQL gave: for each run as a whole and, for counts and quotients, under some random weights too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evalframe.compare.columns import places, rows
from evalframe.compare.kernels import Kernel, Latest, Material, as_floats, kernel_for
from evalframe.compare.resampling import MergedMetrics, Narrowing, SampledState, Values, Wanted
from evalframe.relations import plan
from evalframe.stats.draws import count_rows

if TYPE_CHECKING:
    from evalframe.compare.points import Points
    from evalframe.compare.sides import Side
    from evalframe.engines.duckdb import DuckDB
    from evalframe.relations import Catalogue, Relation
    from evalframe.stats.merging import Weights

# Equal but for the order of summation.
_TOLERANCE = 1e-12
_PROBES = 30


@dataclass(frozen=True)
class Sample:
    """Metrics of one run, or of two, under any weights over their clusters.

    kernels: fast ways that agree with the SQL. rest: metrics that the SQL evaluates. unlike: metrics whose merged
    states of a whole run did not give that run's value, so that their values under weights mean nothing.
    """

    kernels: Mapping[str, Kernel]
    merged: MergedMetrics | None
    rest: Wanted
    unlike: frozenset[str]

    def values(self, blocks: Iterator[Weights]) -> dict[str, Values]:
        """Per metric [weightings, cells] over all blocks of weights; NaN where undefined."""
        parts: dict[str, list[Values]] = {metric: [] for metric in (*self.kernels, *self.rest)}
        for counts in blocks:
            # All that follows multiplies: one conversion serves it.
            weights = as_floats(counts)
            for metric, kernel in self.kernels.items():
                parts[metric].append(kernel(weights))
            if self.merged is not None:
                for metric, values in self.merged.values(weights, self.rest).items():
                    parts[metric].append(values)
        return {metric: np.concatenate(values) for metric, values in parts.items()}


class Sampler:
    """Makes samples of runs of one protocol.

    states: per-cluster states of every run by relation name. dimensions: the small tables the metrics read beside them.
    points: the metrics' values of every run as a whole, by their SQL.
    """

    def __init__(
        self,
        engine: DuckDB,
        catalogue: Catalogue,
        states: Mapping[str, pa.Table],
        dimensions: Mapping[str, pa.Table],
        points: Points,
    ) -> None:
        self._engine = engine
        self._catalogue = catalogue
        self._dimensions = dimensions
        self._points = points
        self.states = states

    def sample(self, sides: Sequence[Side], wanted: Wanted, clusters: Sequence[str]) -> Sample:
        """The sample of `sides` (one, or two that may be swapped) over `clusters`, for the cells in `wanted`."""
        runs, parameters = [side.run_id for side in sides], sides[0].parameters
        states = {state.name: self.state(state.name, runs, wanted, clusters) for state in self._cut(wanted)}
        dimensions = {name: _of_run(table, runs[0]) for name, table in self._dimensions.items()}
        material = Material(runs, states, parameters, dimensions, partial(self._relation, sides))
        # One array for all metrics: those that share a pass make it once.
        whole = np.repeat(np.eye(len(runs)), len(clusters), axis=1)
        kernels = {}
        for metric, cells in wanted.items():
            kernel = kernel_for(metric, cells, material)
            if kernel is not None and _same(kernel(whole), self._values(runs, metric, wanted)):
                kernels[metric] = kernel
        rest = {metric: cells for metric, cells in wanted.items() if metric not in kernels}
        if not rest:
            return Sample(kernels, None, {}, frozenset())
        cut = [states[state.name] for state in self._cut(rest)]
        merged = MergedMetrics(self._engine, self._catalogue, list(rest), parameters, cut, dimensions)
        sums, unlike = self._checked(merged, runs, rest, np.concatenate([whole, _probes(runs, clusters)]))
        rest = {metric: cells for metric, cells in rest.items() if metric not in sums}
        if rest:
            cut = [states[state.name] for state in self._cut(rest)]
            merged = MergedMetrics(self._engine, self._catalogue, list(rest), parameters, cut, dimensions)
        return Sample({**kernels, **sums}, merged if rest else None, rest, unlike)

    def state(self, name: str, runs: Sequence[str], wanted: Wanted, clusters: Sequence[str]) -> SampledState:
        """One state of `runs`, as far as the cells in `wanted` of the metrics that read it need it."""
        readers = [metric for metric in wanted if name in {state.name for state in self._cut({metric: ()})}]
        narrowing = Narrowing.to([cell for metric in readers for cell in wanted[metric]])
        return SampledState(self._catalogue[name], narrowing.rows(self.states[name]), runs, clusters)

    def _checked(
        self, merged: MergedMetrics, runs: Sequence[str], wanted: Wanted, weights: Weights
    ) -> tuple[dict[str, Kernel], frozenset[str]]:
        """Metrics that add up over the units, and those that are unlike.

        A quotient is a sum over a sum of each unit's own numerator and denominator, a count the sum of each unit's own.
        weights: each run as a whole first, then random ones. What holds for all of them is taken to hold for any.
        """
        columns = merged.apart(weights, wanted)
        quotients, counts = {}, {}
        unlike: set[str] = set()
        for metric in wanted:
            by_sql = columns["value"][metric][-len(weights) :]
            if not _same(by_sql[: len(runs)], self._values(runs, metric, wanted)):
                unlike.add(metric)
            each = [np.nan_to_num(columns[name][metric][: -len(weights)]) for name in ("numerator", "denominator")]
            parts = np.stack(each, axis=-1)
            own = columns["value"][metric][: -len(weights)]
            if _same(_divided(_summed(parts, weights)), by_sql):
                quotients[metric] = parts
            elif np.array_equal(own, np.rint(own)) and np.array_equal(_counted(own, weights), by_sql):
                counts[metric] = partial(_counted, own)
        return {**_quotients(quotients), **counts}, frozenset(unlike)

    def _cut(self, wanted: Wanted) -> tuple[Relation, ...]:
        return self._catalogue.cluster_states(*wanted)

    def _values(self, runs: Sequence[str], metric: str, wanted: Wanted) -> Values:
        """The values of each run as a whole, [runs, cells]."""
        found = [[self._points[run][metric][cell].value for cell in wanted[metric]] for run in runs]
        return np.array([[np.nan if value is None else value for value in row] for row in found])

    def _relation(self, sides: Sequence[Side], name: str) -> pa.Table:
        """Rows of a relation that is made of small tables, for the runs of a sample."""
        needed = plan(self._catalogue, [name], parameters=sides[0].parameters)
        for table in needed.sources:
            self._engine.bind(table, self._dimensions[table])
        found = self._engine.evaluate(needed)[name]
        return rows(found, places(found["run_id"], [side.run_id for side in sides]) >= 0)


def _probes(runs: Sequence[str], clusters: Sequence[str]) -> Weights:
    """A few random weights of the kind that the sample is made for: draws of one run, swaps of two."""
    count, rng = len(clusters), np.random.default_rng(0)
    if len(runs) == 1:
        return count_rows(rng.integers(0, count, size=(_PROBES, count)), count)
    swapped = rng.integers(0, 2, size=(_PROBES, count))
    return np.hstack([1 - swapped, swapped])


def _quotients(parts: Mapping[str, Values]) -> dict[str, Kernel]:
    """A kernel per metric from its numerators and denominators [units, cells, 2]; one product serves all of them."""
    if not parts:
        return {}
    every = np.concatenate(list(parts.values()), axis=1)
    sums = Latest(partial(_summed, every))
    ends = np.cumsum([each.shape[1] for each in parts.values()])
    return {
        metric: partial(_part, sums, slice(end - each.shape[1], end))
        for (metric, each), end in zip(parts.items(), ends, strict=True)
    }


def _part(sums: Callable[[Weights], Values], cells: slice, weights: Weights) -> Values:
    return _divided(sums(weights)[:, cells])


def _summed(parts: Values, weights: Weights) -> Values:
    """`parts` [units, cells, 2] summed under weights [b, units]: [b, cells, 2]."""
    summed: Values = as_floats(weights) @ parts.reshape(len(parts), -1)
    return summed.reshape(len(weights), -1, 2)


def _counted(own: Values, weights: Weights) -> Values:
    """Whole numbers `own` [units, cells] summed under weights [b, units]: [b, cells]. NaN where a unit has none."""
    counted: Values = as_floats(weights) @ own
    return counted


def _divided(sums: Values) -> Values:
    part, whole = sums[..., 0], sums[..., 1]
    value: Values = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)
    return value


def _same(found: Values, expected: Values) -> bool:
    return bool(np.allclose(found, expected, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True))


def _of_run(table: pa.Table, run: str) -> pa.Table:
    return rows(table, places(table["run_id"], [run]) == 0) if "run_id" in table.column_names else table
