"""Merges the rows of mergeable states under replicate weights: what resampling clusters means, without their rows.

A unit is one cluster of one side. A bootstrap weights each unit by how often its cluster was drawn; a swap gives every
unit weight 1 on one side and 0 on the other. Counts come out exact while they stay below 2^53.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Merge = Literal["sum", "min", "max"]
Weights: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""How often each unit counts [b, units]: whole numbers, in either type; floats are multiplied as they are."""

# A matrix product does this many multiplications in the time in which gathering handles one row.
_DENSE_ADVANTAGE = 200


class StateRows(NamedTuple):
    """`n` rows: the unit [n] and the key [n] each belongs to (from 0), and one value column [n] per name."""

    unit: NDArray[np.int64]
    key: NDArray[np.int64]
    units: int
    keys: int


class Merger:
    """Merges value columns of the same rows for one block of replicates after another."""

    def __init__(self, rows: StateRows) -> None:
        self._rows = rows
        self._order = np.argsort(rows.key, kind="stable")
        self._unit = rows.unit[self._order]
        key = rows.key[self._order]
        self._starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if key.size else np.zeros(0, dtype=np.intp)
        self._held = key[self._starts]
        self._dense = rows.units * rows.keys <= _DENSE_ADVANTAGE * key.size

    def merge(self, values: NDArray[np.float64], how: Merge, weights: Weights) -> NDArray[np.float64]:
        """`values` [n] merged per replicate and key under `weights` [b, units]: [b, keys].

        A key without a row of positive weight is 0 in a sum and NaN in a minimum or maximum.
        """
        if how == "sum":
            return self._sums(values, weights)
        empty = np.inf if how == "min" else -np.inf
        reduce = np.minimum if how == "min" else np.maximum
        merged = np.full((len(weights), self._rows.keys), np.nan)
        if self._held.size:
            drawn = np.where(weights[:, self._unit] > 0, values[self._order], empty)
            best = reduce.reduceat(drawn, self._starts, axis=1)
            merged[:, self._held] = np.where(np.isinf(best), np.nan, best)
        return merged

    def present(self, weights: Weights) -> NDArray[np.bool_]:
        """Whether a key has any row of positive weight, per replicate: [b, keys]."""
        return self._sums(np.ones(self._rows.unit.size), weights) > 0

    def _sums(self, values: NDArray[np.float64], weights: Weights) -> NDArray[np.float64]:
        rows = self._rows
        if self._dense:
            table = np.bincount(rows.unit * rows.keys + rows.key, values, minlength=rows.units * rows.keys)
            return weights.astype(np.float64, copy=False) @ table.reshape(rows.units, rows.keys)
        merged = np.zeros((len(weights), rows.keys))
        if self._held.size:
            weighted = weights[:, self._unit] * values[self._order]
            merged[:, self._held] = np.add.reduceat(weighted, self._starts, axis=1)
        return merged
