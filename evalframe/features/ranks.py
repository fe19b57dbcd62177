"""Spearman's correlation in integers: exact sums, one division.

The centred rank of a value, doubled, is the number of smaller values minus the number of larger ones: average ranks of
ties without ranking. All sums are int64, so the result does not depend on order or on how rows are grouped.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalframe.features.points import total


def sign_columns(prefix: str, v: Sequence[pl.Expr]) -> list[pl.Expr]:
    """Sign of v[i] - v[j] for each pair j < i, as int8 columns `<prefix><i>_<j>`."""
    return [
        ((v[i] > v[j]).cast(pl.Int8) - (v[i] < v[j]).cast(pl.Int8)).alias(f"{prefix}{i}_{j}")
        for i in range(len(v))
        for j in range(i)
    ]


def centred_ranks(prefix: str, n: int) -> list[pl.Expr]:
    """Doubled centred ranks `<prefix><i>` of n values from their sign columns, as int16 (n is small)."""
    return [
        total(pl.col(f"{prefix}{i}_{j}") if j < i else -pl.col(f"{prefix}{j}_{i}") for j in range(n) if j != i)
        .cast(pl.Int16)
        .alias(f"{prefix}{i}")
        for i in range(n)
    ]


def rising(v: Sequence[pl.Expr]) -> pl.Expr:
    """Whether the values rise in every row."""
    return pl.all_horizontal((v[i] < v[i + 1]).all() for i in range(len(v) - 1))


def rising_ranks(prefix: str, n: int) -> list[pl.Expr]:
    """`centred_ranks` of values that rise: no pair of them need be compared."""
    return [pl.lit(2 * i - (n - 1), pl.Int16).alias(f"{prefix}{i}") for i in range(n)]


def correlation(product: pl.Expr, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Correlation from the int64 sums of a*b, a*a and b*b of centred ranks; null where a side is constant."""
    constant = (left == 0) | (right == 0)
    scale = (left.cast(pl.Float64) * right.cast(pl.Float64)).sqrt()
    return pl.when(constant).then(None).otherwise((product.cast(pl.Float64) / scale).clip(-1.0, 1.0))
