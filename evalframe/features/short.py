"""Features of traces of up to eight predictions: one array per point, all traces of one length, some at a time.

Eight is what the protocol asks for. Of a million traces this takes a tenth of the time of working in groups
(`features.long`, for longer traces); the formulas are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from evalframe.features import points, ranks
from evalframe.features.points import WINDOW, Column, Points, divided, total

MAX_POINTS = 8

_BLOCK = 1 << 13
"""Traces worked on together: their points and what is made of them stay in the cache of a core."""


def features(rows: pl.DataFrame, n: int, *, with_target: bool) -> pl.DataFrame:
    """One row per trace of `rows` (trace, progress, target), which are sorted and hold exactly `n` rows per trace.

    with_target: the target column has no nulls; without it the error columns are null.
    """
    progress = rows["progress"].to_numpy().reshape(-1, n)
    target = rows["target"].to_numpy().reshape(-1, n) if with_target else None
    found: dict[str, Column] = {}
    for start in range(0, max(1, len(progress)), _BLOCK):
        part = slice(start, start + _BLOCK)
        block = _block(_by_point(progress[part]), None if target is None else _by_point(target[part]))
        for name, values in block.items():
            if start == 0:
                found[name] = np.empty((len(progress), *values.shape[1:]))
            found[name][part] = values
    return pl.DataFrame([rows["trace"].gather_every(n), *(series(name, values) for name, values in found.items())])


def series(name: str, values: Column) -> pl.Series:
    """Numbers, or the list in each row of (rows, windows); what is NaN is null."""
    flat = pl.Series(name, values.reshape(-1)).fill_nan(None)
    if values.ndim == 1:
        return flat
    if not values.shape[1]:
        return pl.Series(name, [[]], dtype=pl.List(pl.Float64)).new_from_index(0, len(values))
    return flat.reshape(values.shape).arr.to_list()


def _by_point(traces: Column) -> Points:
    return list(np.ascontiguousarray(traces.T))


def _block(v: Points, t: Points | None) -> Mapping[str, Column]:
    """The columns of some traces from their points and, if any, targets."""
    columns = {**_windows(v), **_kept(v[:-1])}
    if t is not None:
        columns |= _errors(v, t)
        if len(v) > 1:
            columns["spearman"] = _spearman(v, t)
    return columns


def _windows(v: Points) -> dict[str, Column]:
    windows = [v[i : i + WINDOW] for i in range(len(v) - WINDOW + 1)]
    trends, pearsons = (np.empty((len(v[0]), len(windows))) for _ in range(2))
    for i, window in enumerate(windows):
        spread = points.spread(window)
        trends[:, i] = points.defined_trend(window, spread)
        pearsons[:, i] = points.pearson(trends[:, i], spread)
    return {"window_trend": trends, "window_pearson": pearsons}


def _kept(v: Points) -> dict[str, Column]:
    """Filtering scores of all points but the final one; a score that needs more points than there are is null."""
    if not v:
        return {}
    if len(v) == 1:
        return {"filter_final": v[0]}
    spread = points.spread(v)
    return {
        "filter_final": v[-1],
        "filter_pearson": np.clip(points.pearson(points.defined_trend(v, spread), spread), -1.0, 1.0),
        "filter_delta": v[-1] - v[0],
        "filter_slope": points.slope(v),
        "filter_late_mean": points.late_mean(v),
    }


def _errors(v: Points, t: Points) -> dict[str, Column]:
    differences = [p - q for p, q in zip(v, t, strict=True)]
    return {
        "mse": divided(total(np.square(d) for d in differences), len(v)),
        "mae": divided(total(np.abs(d) for d in differences), len(v)),
    }


def _spearman(v: Points, t: Points) -> Column:
    p = ranks.centred_ranks(v)
    q = ranks.rising_ranks(t) or ranks.centred_ranks(t)  # most targets rise with time
    return ranks.correlation(ranks.product(p, q), ranks.product(p, p), ranks.product(q, q))
