"""Operating points under resampling: a threshold chosen anew from weighted calibration scores, and what reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class ScoredUnits:
    """Scores of items by unit: distinct `scores` [G] from the highest, `reaching` [units, G] items at or above each."""

    scores: Floats
    reaching: Floats

    @classmethod
    def of(cls, unit: Counts, score: Floats, units: int) -> ScoredUnits:
        """From one row per item: its unit and its finite score."""
        values, place = np.unique(-score, return_inverse=True)
        table = np.bincount(unit * len(values) + place, minlength=units * len(values)).reshape(units, len(values))
        return cls(-values, np.cumsum(table, axis=1).astype(np.float64))

    def threshold(self, weights: Counts, recall: Fraction) -> Floats:
        """The ceil(recall x P)-th largest of the P weighted scores, per row of `weights` [b, units]; NaN for P = 0."""
        found = np.full(len(weights), np.nan)
        length = max(1, _BLOCK_CELLS // max(1, len(self.scores)))
        for start in range(0, len(weights) if self.scores.size else 0, length):
            reaching = weights[start : start + length].astype(np.float64) @ self.reaching
            total = reaching[:, -1].astype(np.int64)
            place = -(-recall.numerator * total // recall.denominator)
            first = (reaching >= place[:, None]).argmax(axis=1)
            found[start : start + length] = np.where(total > 0, self.scores[first], np.nan)
        return found

    def triggered(self, weights: Counts, thresholds: Floats) -> Floats:
        """Weighted items whose score reaches the threshold of their row, [b]; 0 where the threshold is NaN."""
        if self.scores.size == 0:
            return np.zeros(len(weights))
        # The position of the last score that is not below the threshold; -1 where none reaches it.
        last = np.searchsorted(-self.scores, -np.nan_to_num(thresholds, nan=np.inf), side="right") - 1
        each = np.where(last >= 0, self.reaching[:, np.maximum(last, 0)], 0.0)
        sums: Floats = np.einsum("bu,ub->b", weights.astype(np.float64), each)
        return sums

    def total(self, weights: Counts) -> Floats:
        """All weighted items, [b]."""
        return weights.astype(np.float64) @ (self.reaching[:, -1] if self.scores.size else np.zeros(len(self.reaching)))
