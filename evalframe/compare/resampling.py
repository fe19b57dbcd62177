"""Metrics of resampled clusters: states are merged under weights, then the metrics' own SQL is evaluated on them.

A sample holds the states of one run, or of two (for swaps). Its units are the clusters of each of its runs. A vector of
weights over the units makes one set of merged states, which gets a number in place of a run id; the relations above the
states do not care what a run id is, so one evaluation answers for thousands of weightings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.compare.cells import Cell, rows_in
from evalframe.compare.columns import codes, floats, integers, numbers, places, rows
from evalframe.relations import Catalogue, plan
from evalframe.stats.merging import Merger, StateRows, Weights

if TYPE_CHECKING:
    from evalframe.engines.duckdb import DuckDB
    from evalframe.relations import Relation

Values = NDArray[np.float64]
Wanted = Mapping[str, Sequence[Cell]]
"""Per metric (relation name) the cells to evaluate."""

# Rows of merged states in one evaluation: enough to spread the cost of a query, little enough to stay in memory.
_ROWS_AT_ONCE = 3_000_000
_MERGED = pa.array(["merged"], pa.large_string())


class Narrowing(NamedTuple):
    """What of a state is needed: some strata, horizons and recalls (None: every one)."""

    strata: frozenset[str]
    horizon_s: frozenset[float] | None
    recall: frozenset[float] | None

    @classmethod
    def to(cls, cells: Sequence[Cell]) -> Narrowing:
        """To the cells of the metrics that read the state. `all` stays: they may look up a total of the whole there.

        A metric without a horizon or recall of its own may add up over all of them.
        """
        horizons, recalls = ({getattr(cell, name) for cell in cells} for name in ("horizon_s", "recall"))
        return cls(
            frozenset(("all", *(cell.stratum for cell in cells))),
            None if None in horizons else frozenset(horizons),
            None if None in recalls else frozenset(recalls),
        )

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows of a state that are needed. A null key belongs to no single horizon or recall and stays."""
        for name, wanted in (("stratum", self.strata), ("horizon_s", self.horizon_s), ("recall", self.recall)):
            if wanted is not None and name in table.column_names:
                table = rows(table, places(table[name], [*sorted(wanted), None]) >= 0)
        return table


class SampledState:
    """The rows of one state of the runs of a sample, ready to be merged under any weights."""

    def __init__(self, relation: Relation, table: pa.Table, runs: Sequence[str], clusters: Sequence[str]) -> None:
        cluster, run = places(table["cluster_id"], clusters), places(table["run_id"], runs)
        inside = (cluster >= 0) & (run >= 0)
        table = rows(table, inside)
        self.name = relation.name
        self.key_names = tuple(name for name in relation.grain if name not in ("run_id", "cluster_id"))
        self.run = run[inside]
        """Per row the position of its run in the sample."""
        first, key = _distinct([table[name] for name in self.key_names], len(table))
        self.keys = len(first)
        self.rows = StateRows(self.run * len(clusters) + cluster[inside], key, len(runs) * len(clusters), self.keys)
        self._columns = {name: _Column(how, table[name], self.rows) for name, how in (relation.merge or {}).items()}
        self._held, self._first = table.select(list(self.key_names)), first

    @cached_property
    def _keys(self) -> pa.Table:
        first = numbers(self._first)
        return pa.table({name: _compact(self._held[name].take(first)) for name in self.key_names})

    @cached_property
    def _merger(self) -> Merger:
        return Merger(self.rows)

    def merged(self, weights: Weights, offset: int = 0) -> pa.Table:
        """One row per weighting and key that any weighted unit has, as the state's own columns.

        run_id is the weighting's position from `offset` on, cluster_id one constant: a weighting is one whole.
        """
        which, key = np.nonzero(self._merger.present(weights))
        values = {name: column.merged(weights)[which, key] for name, column in self._columns.items()}
        return self._table(which + offset, key, values)

    def apart(self) -> pa.Table:
        """The rows as they are, each unit under its own number in place of a run id."""
        return self._table(self.rows.unit, self.rows.key, {n: c.values for n, c in self._columns.items()})

    def column(self, name: str) -> Values:
        """A value column of the rows, for kernels; a null is 0."""
        return np.nan_to_num(self._columns[name].values, nan=0.0)

    def key_column(self, name: str) -> pa.ChunkedArray:
        """A key column, one value per row, for kernels."""
        return self._held[name]

    def _table(self, run: NDArray[np.int64], key: NDArray[np.int64], values: Mapping[str, Values]) -> pa.Table:
        taken = self._keys.take(numbers(key))
        return pa.table(
            {
                "run_id": numbers(run),
                "cluster_id": pa.DictionaryArray.from_arrays(numbers(np.zeros(len(run), dtype=np.int8)), _MERGED),
                **{name: taken[name] for name in taken.column_names},
                **{name: self._columns[name].array(each) for name, each in values.items()},
            }
        )


class _Column:
    """One value column of a state. Rows without a value take no part; a sum, least or most of none is null."""

    def __init__(self, how: str, column: pa.ChunkedArray, rows: StateRows) -> None:
        self.values = floats(column)
        self._how = how
        self._integer = pa.types.is_integer(column.type)
        self._rows = rows

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.values)

    @cached_property
    def _merger(self) -> Merger:
        rows, known = self._rows, self._known
        return Merger(StateRows(rows.unit[known], rows.key[known], rows.units, rows.keys))

    def merged(self, weights: Weights) -> Values:
        known = self.values[self._known]
        if self._how != "sum":
            return self._merger.merge(known, "min" if self._how == "min" else "max", weights)
        sums = self._merger.merge(known, "sum", weights)
        return sums if self._known.all() else np.where(self._merger.present(weights), sums, np.nan)

    def array(self, values: Values) -> pa.Array:
        """`values` in the kind of number that the state has: whole or real. NaN is null."""
        if not self._integer:
            return numbers(values, np.isnan(values))
        return numbers(np.nan_to_num(np.rint(values)).astype(np.int64), np.isnan(values))


class MergedMetrics:
    """Evaluates metrics on the merged states of one sample.

    dimensions: small tables that the metrics read beside states, of one of the runs; those with a run_id hold for every
    weighting.
    """

    def __init__(
        self,
        engine: DuckDB,
        catalogue: Catalogue,
        metrics: Sequence[str],
        parameters: Mapping[str, str],
        states: Sequence[SampledState],
        dimensions: Mapping[str, pa.Table],
    ) -> None:
        self._engine = engine
        self._states = states
        self._plan = plan(catalogue, metrics, parameters=parameters, given=frozenset(s.name for s in states))
        self._dimensions = {name: dimensions[name] for name in self._plan.tables}
        repeated = sum(len(table) for table in self._dimensions.values() if "run_id" in table.column_names)
        self._at_once = max(1, _ROWS_AT_ONCE // max(1, sum(state.keys for state in states) + repeated))

    def values(self, weights: Weights, wanted: Wanted) -> dict[str, Values]:
        """Per metric an array [weightings, cells] under `weights` [weightings, units]; NaN where undefined."""
        parts = []
        for start in range(0, len(weights), self._at_once):
            block = weights[start : start + self._at_once]
            self._bind([state.merged(block) for state in self._states], len(block))
            parts.append(_scattered(self._engine.evaluate(self._plan), "value", len(block), wanted))
        return {metric: np.concatenate([part[metric] for part in parts]) for metric in wanted}

    def apart(self, weights: Weights, wanted: Wanted) -> dict[str, dict[str, Values]]:
        """Columns value, numerator and denominator, each [units + weightings, cells] by metric, of one evaluation.

        The first rows are those of each unit by itself, the others those under `weights`.
        """
        units = self._states[0].rows.units
        self._bind(
            [pa.concat_tables([state.apart(), state.merged(weights, units)]) for state in self._states],
            units + len(weights),
        )
        answers = self._engine.evaluate(self._plan)
        columns = ("value", "numerator", "denominator")
        return {name: _scattered(answers, name, units + len(weights), wanted) for name in columns}

    def _bind(self, states: Sequence[pa.Table], runs: int) -> None:
        for state, table in zip(self._states, states, strict=True):
            self._engine.bind(state.name, table)
        for name, table in self._dimensions.items():
            self._engine.bind(name, _repeated(table, runs) if "run_id" in table.column_names else table)


def _scattered(answers: Mapping[str, pa.Table], column: str, runs: int, wanted: Wanted) -> dict[str, Values]:
    found = {}
    for metric, cells in wanted.items():
        values = np.full((runs, len(cells)), np.nan)
        for position, cell in enumerate(cells):
            mask = rows_in(answers[metric], cell)
            rows = answers[metric] if mask is None else answers[metric].filter(mask)
            values[integers(rows["run_id"]), position] = floats(rows[column])
        found[metric] = values
    return found


def _repeated(table: pa.Table, times: int) -> pa.Table:
    place = np.tile(np.arange(len(table)), times)
    run = numbers(np.repeat(np.arange(times, dtype=np.int64), len(table)))
    return table.take(numbers(place)).set_column(table.schema.get_field_index("run_id"), "run_id", run)


def _distinct(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each distinct row the position of its first, and per row which distinct row it is. Nulls equal nulls."""
    code = np.zeros(rows, dtype=np.int64)
    for column in columns:
        own, distinct = codes(column)
        # Codes are made dense after each column, so that their product stays far below 2^63.
        code = np.unique(code * (distinct + 1) + own, return_inverse=True)[1].astype(np.int64)
    _, first = np.unique(code, return_index=True)
    return first.astype(np.int64), code


def _compact(column: pa.ChunkedArray) -> pa.Array:
    """Text as a dictionary: it is repeated thousands of times."""
    whole = column.combine_chunks()
    return whole.dictionary_encode() if pa.types.is_large_string(whole.type) else whole
