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
    """Counts [b, K] per weighting and class of the vocabulary: items of the class that count, hits, predictions."""

    support: Floats
    hits: Floats
    predicted: Floats

    @cached_property
    def f1(self) -> Floats:
        """2TP / (2TP + FP + FN) per class [b, K]; 0 where the denominator is 0."""
        whole = self.support + self.predicted
        return np.divide(2.0 * self.hits, whole, out=np.zeros_like(whole), where=whole > 0)


def accuracy(counts: ClassCounts) -> Floats:
    """Hits over items [b]."""
    return _where_any(counts, counts.hits.sum(axis=1) / np.maximum(counts.support.sum(axis=1), 1.0))


def macro_f1(counts: ClassCounts) -> Floats:
    """Mean F1 over the classes seen in truth or prediction [b]."""
    seen = (counts.support + counts.predicted > 0).sum(axis=1)
    return _where_any(counts, counts.f1.sum(axis=1) / np.maximum(seen, 1))


def balanced_accuracy(counts: ClassCounts) -> Floats:
    """Mean recall over the classes present in truth [b]."""
    present = counts.support > 0
    recall = np.divide(counts.hits, counts.support, out=np.zeros_like(counts.hits), where=present)
    return _where_any(counts, recall.sum(axis=1) / np.maximum(present.sum(axis=1), 1))


def worst_class_f1(counts: ClassCounts) -> Floats:
    """Least F1 over the whole vocabulary [b]."""
    return _where_any(counts, counts.f1.min(axis=1))


def _where_any(counts: ClassCounts, values: Floats) -> Floats:
    """NaN where a weighting has no items."""
    return np.where(counts.support.sum(axis=1) > 0, values, np.nan)
