"""Formulas over consecutive predictions v[0..k-1], one array per point: correlation with time, slope, ends.

With i the index, m = sum over i of (i - mean i) v[i] is written as weighted differences of opposite points, so that a
constant sequence gives exactly 0. For five points m = 2(v4 - v0) + (v3 - v1). What is not defined is NaN.
Source: Robometer frozen evaluation, "Filtering" and the two failure rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from operator import add, and_

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.float64]
Points = Sequence[Column]


def total(terms: Iterable[Column]) -> Column:
    """The terms added left to right: the order is part of a float's definition."""
    return reduce(add, terms)


def divided(column: Column, by: float) -> Column:
    """A column over a number, as its multiple: that is what the features have been made with."""
    return column * (1.0 / by)


def trend(v: Points) -> Column:
    """m of at least two points; its sign is the sign of their correlation with time."""
    k = len(v)
    return total(((k - 1) / 2 - j) * (v[k - 1 - j] - v[j]) for j in range(k // 2))


def spread(v: Points) -> Column:
    """Sum of squares about the mean, times that of the index."""
    mean = divided(total(v), len(v))
    return index_spread(len(v)) * total(np.square(point - mean) for point in v)


def index_spread(k: int) -> float:
    """Sum of (i - mean i)^2 over i = 0..k-1."""
    return k * (k * k - 1) / 12


def defined_trend(v: Points, spread: Column) -> Column:
    """Trend of at least two points, or NaN where they have no correlation with time; `spread` is theirs.

    Rounding can leave a spread in equal points, and none in points that differ in their last digits only.
    """
    equal = reduce(and_, (after == before for before, after in pairwise(v)))
    found = trend(v)
    np.copyto(found, np.nan, where=equal | (spread == 0))
    return found


def pearson(trend: Column, spread: Column) -> Column:
    """Correlation of points with their index from their trend and spread; NaN where the trend is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return trend / np.sqrt(spread)


def slope(v: Points) -> Column:
    """Least-squares slope of at least two points against their index."""
    return divided(trend(v), index_spread(len(v)))


def late_mean(v: Points) -> Column:
    """Mean of the last ceil(k/2) points."""
    late = v[len(v) // 2 :]
    return divided(total(late), len(late))


WINDOW = 5
"""Predictions in a failure window."""
