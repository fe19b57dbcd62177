"""Formulas over consecutive predictions v[0..k-1], each a Polars expression: correlation with time, slope, ends.

With i the index, m = sum over i of (i - mean i) v[i] is written as weighted differences of opposite points, so that a
constant sequence gives exactly 0. For five points m = 2(v4 - v0) + (v3 - v1).
Source: Robometer frozen evaluation, "Filtering" and the two failure rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add, and_

import polars as pl

Points = Sequence[pl.Expr]


def total(terms: Iterable[pl.Expr]) -> pl.Expr:
    """The terms added left to right: the order is part of a float's definition."""
    return reduce(add, terms)


def divided(column: pl.Expr, by: float) -> pl.Expr:
    """A column over a number, as its multiple.

    Polars makes a multiple of such a division, but not where rows come one at a time: written out, what a trace says
    does not depend on how many others it is looked at with.
    """
    return column * (1.0 / by)


def trend(v: Points) -> pl.Expr:
    """m of at least two points; its sign is the sign of their correlation with time."""
    k = len(v)
    return total(((k - 1) / 2 - j) * (v[k - 1 - j] - v[j]) for j in range(k // 2))


def spread(v: Points) -> pl.Expr:
    """Sum of squares about the mean, times that of the index."""
    mean = divided(total(v), len(v))
    return index_spread(len(v)) * total((point - mean) * (point - mean) for point in v)


def constant(v: Points, spread: pl.Expr) -> pl.Expr:
    """Whether at least two points have no correlation; `spread` is theirs.

    Rounding can leave a spread in equal points, and none in points that differ in their last digits only.
    """
    return reduce(and_, (point == v[0] for point in v[1:])) | (spread == 0)


def index_spread(k: int) -> float:
    """Sum of (i - mean i)^2 over i = 0..k-1."""
    return k * (k * k - 1) / 12


def pearson(v: Points) -> pl.Expr:
    """Correlation of at least two points with their index; null where they are constant."""
    return pl.when(constant(v, spread(v))).then(None).otherwise(trend(v) / spread(v).sqrt())


def slope(v: Points) -> pl.Expr:
    """Least-squares slope of at least two points against their index."""
    return divided(trend(v), index_spread(len(v)))


def late_mean(v: Points) -> pl.Expr:
    """Mean of the last ceil(k/2) points."""
    late = v[len(v) // 2 :]
    return divided(total(late), len(late))


WINDOW = 5
"""Predictions in a failure window."""


def window_trend(v: Points, spread: pl.Expr) -> pl.Expr:
    """Trend of one window of five; null where it is constant."""
    return pl.when(constant(v, spread)).then(None).otherwise(trend(v))


def window_pearson(trend: pl.Expr, spread: pl.Expr) -> pl.Expr:
    """Correlation of a window with time from its trend and spread; null where the trend is."""
    return trend / spread.sqrt()
