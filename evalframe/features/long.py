"""Features of traces of any length, in groups: for traces of more predictions than the protocol's eight."""

from __future__ import annotations

import polars as pl

from evalframe.features import points
from evalframe.features.points import WINDOW
from evalframe.features.short import series


def features(rows: pl.DataFrame, *, with_target: bool) -> pl.DataFrame:
    """One row per trace of `rows` (trace, progress, target), which are sorted and hold at least five rows per trace.

    with_target: the target column has no nulls; without it the error columns are null.
    """
    placed = rows.with_columns(
        pl.int_range(pl.len()).over("trace").alias("i"),
        (pl.len().over("trace") - 1).alias("k"),  # the final point is not among the k kept ones
    )
    joined = _windows(placed).join(_kept(placed.filter(pl.col("i") < pl.col("k"))), on="trace", how="left")
    return joined.join(_errors(placed), on="trace", how="left") if with_target else joined


def _windows(placed: pl.DataFrame) -> pl.DataFrame:
    v = placed["progress"].to_numpy()
    window = [v[i : len(v) - WINDOW + 1 + i] for i in range(WINDOW)]
    spread = points.spread(window)
    trend = points.defined_trend(window, spread)
    found = placed.slice(WINDOW - 1).select(
        "trace", "i", series("window_trend", trend), series("window_pearson", points.pearson(trend, spread))
    )
    # Windows that begin in the trace before end at an earlier point of theirs.
    whole = found.filter(pl.col("i") >= WINDOW - 1)
    return whole.group_by("trace", maintain_order=True).agg("window_trend", "window_pearson")


def _kept(kept: pl.DataFrame) -> pl.DataFrame:
    v, i = pl.col("progress"), pl.col("i")
    k = pl.len()
    trend = ((i - (k - 1) / 2) * v).sum()
    spread = k * (k * k - 1) * (1.0 / 12)
    squares = spread * ((v - v.mean()) * (v - v.mean())).sum()
    flat = (v.max() == v.min()) | (squares == 0)
    return kept.group_by("trace", maintain_order=True).agg(
        v.last().alias("filter_final"),
        pl.when(flat).then(None).otherwise((trend / squares.sqrt()).clip(-1.0, 1.0)).alias("filter_pearson"),
        (v.last() - v.first()).alias("filter_delta"),
        (trend / spread).alias("filter_slope"),
        v.filter(i >= k // 2).mean().alias("filter_late_mean"),
    )


def _errors(placed: pl.DataFrame) -> pl.DataFrame:
    difference = pl.col("progress") - pl.col("target")
    ranked = placed.with_columns(
        # Doubled and centred, as in `ranks`: an integer whatever the ties.
        (2 * pl.col(column).rank("average").over("trace") - (pl.col("k") + 2)).cast(pl.Int64).alias(name)
        for column, name in (("progress", "a"), ("target", "b"))
    )
    a, b = pl.col("a"), pl.col("b")
    return ranked.group_by("trace", maintain_order=True).agg(
        (difference * difference).mean().alias("mse"),
        difference.abs().mean().alias("mae"),
        _correlation((a * b).sum(), (a * a).sum(), (b * b).sum()).alias("spearman"),
    )


def _correlation(product: pl.Expr, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """`ranks.correlation` inside the group: of plain sums alone Polars would add those of parts of a group."""
    scale = (left.cast(pl.Float64) * right.cast(pl.Float64)).sqrt()
    constant = (left == 0) | (right == 0)
    return pl.when(constant).then(None).otherwise((product.cast(pl.Float64) / scale).clip(-1.0, 1.0))
