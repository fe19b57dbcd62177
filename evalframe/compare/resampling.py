"""Metrics of resampled clusters: states are merged under weights, then the metrics' own SQL is evaluated on them.

A sample holds the states of one run, or of two (for swaps). Its units are the clusters of each of its runs. A vector of
weights over the units makes one set of merged states, which gets a number in place of a run id; the relations above the
states do not care what a run id is, so one evaluation answers for thousands of weightings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.compare.cells import DIMENSIONS, Cell, rows_in
from evalframe.relations import Catalogue, plan
from evalframe.stats.merging import Merger, StateRows

if TYPE_CHECKING:
    from evalframe.engines.duckdb import DuckDB
    from evalframe.relations import Relation

Values = NDArray[np.float64]

# Rows of merged states in one evaluation: enough to spread the cost of a query, little enough to stay in memory.
_ROWS_AT_ONCE = 3_000_000
# Keys that narrow a state to what was asked for. `all` stays: a metric may look up a total of the whole there.
_NARROWED = ("horizon_s", "recall")


@dataclass(frozen=True)
class Narrowing:
    """What of the states is needed: one stratum, and the horizons and recalls asked for (empty: every one)."""

    stratum: str
    horizon_s: frozenset[float] = frozenset()
    recall: frozenset[float] = frozenset()

    def mask(self, table: pa.Table) -> pa.ChunkedArray | None:
        """Rows of a state that are needed; None for all."""
        mask = None
        if "stratum" in table.column_names:
            mask = pc.is_in(table["stratum"], value_set=pa.array(["all", self.stratum], table["stratum"].type))
        for name in _NARROWED:
            wanted = getattr(self, name)
            if wanted and name in table.column_names:
                kept = pc.or_(pc.is_null(table[name]), pc.is_in(table[name], value_set=pa.array(sorted(wanted))))
                mask = kept if mask is None else pc.and_(mask, kept)
        return mask


class SampledState:
    """The rows of one state of the runs of a sample, ready to be merged under any weights."""

    def __init__(self, relation: Relation, table: pa.Table, runs: Sequence[str], clusters: pa.Array) -> None:
        merge = dict(relation.merge or {})
        keys = [name for name in relation.grain if name not in ("run_id", "cluster_id")]
        cluster = pc.index_in(table["cluster_id"], value_set=clusters.cast(table["cluster_id"].type))
        run = pc.index_in(table["run_id"], value_set=pa.array(runs, table["run_id"].type))
        inside = pc.and_(pc.is_valid(cluster), pc.is_valid(run))
        table, cluster, run = table.filter(inside), cluster.filter(inside), run.filter(inside)
        self.name = relation.name
        self._merge = merge
        self._integer = {name: pa.types.is_integer(table.schema.field(name).type) for name in merge}
        self._values = {name: _floats(table[name]) for name in merge}
        first, code = _distinct([table[name] for name in keys], len(table))
        self.key_names = tuple(keys)
        self._keys = pa.table({name: _compact(table[name].take(first)) for name in keys})
        self.keys = len(first)
        units = len(runs) * len(clusters)
        unit = _integers(run) * len(clusters) + _integers(cluster)
        self.rows = StateRows(unit, code, units, self.keys)
        self._merger = Merger(self.rows)

    def merged(self, weights: NDArray[np.int64]) -> pa.Table:
        """One row per weighting and key that any weighted unit has, as the state's own columns.

        run_id is the weighting's position, cluster_id one constant: the clusters of a weighting are one whole.
        """
        which, key = np.nonzero(self._merger.present(weights))
        columns: dict[str, pa.Array | pa.ChunkedArray] = {"run_id": pa.array(which.astype(np.int64))}
        zeros = pa.array(np.zeros(len(which), dtype=np.int8))
        columns["cluster_id"] = pa.DictionaryArray.from_arrays(zeros, pa.array(["merged"], pa.large_string()))
        taken = self._keys.take(pa.array(key))
        columns.update({name: taken[name] for name in taken.column_names})
        for name, how in self._merge.items():
            values = self._merger.merge(self._values[name], how, weights)[which, key]
            columns[name] = pa.array(np.rint(values).astype(np.int64) if self._integer[name] else values)
        return pa.table(columns)

    def column(self, name: str) -> NDArray[np.float64]:
        """A value column of the rows, for kernels."""
        return self._values[name]

    def key_column(self, name: str) -> pa.ChunkedArray:
        """A key column, one value per row, for kernels."""
        column = self._keys[name]
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        return plain.take(pa.array(self.rows.key))


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
        self._dimensions = dimensions
        self._plan = plan(catalogue, metrics, parameters=parameters, given=frozenset(s.name for s in states))
        each = sum(state.keys for state in states) + sum(
            len(t) for t in dimensions.values() if "run_id" in t.schema.names
        )
        self.at_once = max(1, _ROWS_AT_ONCE // max(1, each))

    def values(self, weights: NDArray[np.int64], cells: Mapping[str, Sequence[Cell]]) -> dict[str, Values]:
        """Per metric an array [weightings, cells] under `weights` [weightings, units]; NaN where undefined."""
        parts = [
            self._values(weights[start : start + self.at_once], cells) for start in range(0, len(weights), self.at_once)
        ]
        return {metric: np.concatenate([part[metric] for part in parts]) for metric in cells}

    def _values(self, weights: NDArray[np.int64], cells: Mapping[str, Sequence[Cell]]) -> dict[str, Values]:
        for state in self._states:
            self._engine.bind(state.name, state.merged(weights))
        for name, table in self._dimensions.items():
            self._engine.bind(name, _repeated(table, len(weights)) if "run_id" in table.schema.names else table)
        answers = self._engine.evaluate(self._plan)
        return {metric: _scatter(answers[metric], len(weights), cells[metric]) for metric in cells}


def _scatter(table: pa.Table, weightings: int, cells: Sequence[Cell]) -> Values:
    found = np.full((weightings, len(cells)), np.nan)
    for position, cell in enumerate(cells):
        mask = rows_in(table, cell)
        rows = table if mask is None else table.filter(mask)
        found[_integers(rows["run_id"]), position] = _floats(rows["value"])
    return found


def _repeated(table: pa.Table, times: int) -> pa.Table:
    place = np.tile(np.arange(len(table)), times)
    run = pa.array(np.repeat(np.arange(times, dtype=np.int64), len(table)))
    return table.take(pa.array(place)).set_column(table.schema.get_field_index("run_id"), "run_id", run)


def _distinct(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each distinct row the position of its first, and per row which distinct row it is. Nulls equal nulls."""
    code = np.zeros(rows, dtype=np.int64)
    for column in columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        code = code * (len(encoded.dictionary) + 1) + _integers(encoded.indices)
        # Codes are made dense after each column, so that their product stays far below 2^63.
        code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    _, first = np.unique(code, return_index=True)
    return first.astype(np.int64), code


def _compact(column: pa.ChunkedArray) -> pa.Array:
    """Text as a dictionary: it is repeated thousands of times."""
    whole = column.combine_chunks()
    return (
        whole.dictionary_encode() if pa.types.is_large_string(whole.type) or pa.types.is_string(whole.type) else whole
    )


def _integers(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    return np.asarray(
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    ).astype(np.int64)


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers as float64, null as NaN."""
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


__all__ = ["DIMENSIONS", "MergedMetrics", "Narrowing", "SampledState", "Values"]
