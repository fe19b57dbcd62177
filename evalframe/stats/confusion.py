"""Classification metrics from counts per class, for many weightings at once. Equal to no one's definition by itself:
whoever uses these compares them with the definition first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassCounts:
    """Counts [K, b] per class of the vocabulary and weighting: items of the class that count, hits, predictions.

    Classes come first: what adds up or compares the few classes then goes through the many weightings at full speed.
    """

    support: Floats
    hits: Floats
    predicted: Floats

    @cached_property
    def items(self) -> Floats:
        """Items that count [b]."""
        return np.asarray(self.support.sum(axis=0))

    @cached_property
    def named(self) -> Floats:
        """How often each class is a truth or a prediction [K, b]."""
        return self.support + self.predicted

    @cached_property
    def f1(self) -> Floats:
        """2TP / (2TP + FP + FN) per class [K, b]; 0 where the denominator is 0."""
        return 2.0 * self.hits / _at_least_one(self.named)


def accuracy(counts: ClassCounts) -> Floats:
    """Hits over items [b]."""
    return _where_any(counts, counts.hits.sum(axis=0) / _at_least_one(counts.items))


def macro_f1(counts: ClassCounts) -> Floats:
    """Mean F1 over the classes seen in truth or prediction [b]."""
    return _where_any(counts, _summed(counts.f1) / np.maximum(np.count_nonzero(counts.named, axis=0), 1))


def balanced_accuracy(counts: ClassCounts) -> Floats:
    """Mean recall over the classes present in truth [b]."""
    recall = counts.hits / _at_least_one(counts.support)
    return _where_any(counts, _summed(recall) / np.maximum(np.count_nonzero(counts.support, axis=0), 1))


def worst_class_f1(counts: ClassCounts) -> Floats:
    """Least F1 over the whole vocabulary [b]."""
    return _where_any(counts, counts.f1.min(axis=0))


def _at_least_one(counts: Floats) -> Floats:
    """Counts to divide by: they are whole, and where one is 0 so is what is divided."""
    return np.maximum(counts, 1.0)


def _summed(values: Floats) -> Floats:
    """Real numbers [K, b] over the classes [b], of each weighting in the order in which NumPy adds up a row."""
    return np.asarray(np.ascontiguousarray(values.T).sum(axis=1))


def _where_any(counts: ClassCounts, values: Floats) -> Floats:
    """NaN where a weighting has no items."""
    return np.where(counts.items > 0, values, np.nan)
