"""Features of traces of up to eight predictions: one Polars column per point, all traces of one length at a time.

Eight is what the protocol asks for. Of a million traces this takes a quarter of the time of working in groups
(`features.long`, for longer traces); the formulas are the same expressions.
"""

from __future__ import annotations

import polars as pl

from evalframe.features import points, ranks
from evalframe.features.points import WINDOW, divided, total

MAX_POINTS = 8

_NO_WINDOWS = pl.lit([], dtype=pl.List(pl.Float64))


def features(rows: pl.DataFrame, n: int, *, with_target: bool) -> pl.DataFrame:
    """One row per trace of `rows` (trace, progress, target), which are sorted and hold exactly `n` rows per trace.

    with_target: the target column has no nulls; without it the error columns are null.
    """
    wide = rows.select(
        pl.col("trace").gather_every(n),
        *(pl.col("progress").gather_every(n, i).alias(f"v{i}") for i in range(n)),
        *(pl.col("target").gather_every(n, i).alias(f"t{i}") for i in range(n) if with_target),
    ).lazy()
    v = [pl.col(f"v{i}") for i in range(n)]
    t = [pl.col(f"t{i}") for i in range(n)]
    wide, windows = _with_windows(wide, v)
    columns = [*windows, *_kept(v[:-1])]
    if with_target:
        columns += _errors(v, t)
    if with_target and n > 1:
        # Most targets rise with time. Two steps, so that each pair of other points is compared once.
        rising = wide.select(ranks.rising(t)).collect().item()
        wide = wide.with_columns(*ranks.sign_columns("p", v), *([] if rising else ranks.sign_columns("q", t)))
        of_target = ranks.rising_ranks if rising else ranks.centred_ranks
        wide = wide.with_columns(*ranks.centred_ranks("p", n), *of_target("q", n))
        columns.append(ranks.correlation(_dot("p", "q", n), _dot("p", "p", n), _dot("q", "q", n)).alias("spearman"))
    return wide.select("trace", *columns).collect()


def _dot(a: str, b: str, n: int) -> pl.Expr:
    return total(pl.col(f"{a}{i}") * pl.col(f"{b}{i}") for i in range(n)).cast(pl.Int64)


def _with_windows(wide: pl.LazyFrame, v: list[pl.Expr]) -> tuple[pl.LazyFrame, list[pl.Expr]]:
    """The frame with what the two window lists are made of, in steps so that nothing is done twice, and both."""
    windows = [v[i : i + WINDOW] for i in range(len(v) - WINDOW + 1)]
    if not windows:
        return wide, [_NO_WINDOWS.alias("window_trend"), _NO_WINDOWS.alias("window_pearson")]
    spreads, trends = ([pl.col(f"{name}{i}") for i in range(len(windows))] for name in ("spread", "trend"))
    wide = wide.with_columns(points.spread(w).alias(f"spread{i}") for i, w in enumerate(windows))
    wide = wide.with_columns(points.window_trend(w, spreads[i]).alias(f"trend{i}") for i, w in enumerate(windows))
    pearsons = [points.window_pearson(trend, spread) for trend, spread in zip(trends, spreads, strict=True)]
    return wide, [
        pl.concat_arr(trends).arr.to_list().alias("window_trend"),
        pl.concat_arr(pearsons).arr.to_list().alias("window_pearson"),
    ]


def _errors(v: list[pl.Expr], t: list[pl.Expr]) -> list[pl.Expr]:
    differences = [p - q for p, q in zip(v, t, strict=True)]
    return [
        divided(total(d * d for d in differences), len(v)).alias("mse"),
        divided(total(d.abs() for d in differences), len(v)).alias("mae"),
    ]


def _kept(v: list[pl.Expr]) -> list[pl.Expr]:
    """Filtering scores of all points but the final one; a score that needs more points than there are is null."""
    columns = [v[-1].alias("filter_final")] if v else []
    if len(v) > 1:
        columns += [
            points.pearson(v).clip(-1.0, 1.0).alias("filter_pearson"),
            (v[-1] - v[0]).alias("filter_delta"),
            points.slope(v).alias("filter_slope"),
            points.late_mean(v).alias("filter_late_mean"),
        ]
    return columns
