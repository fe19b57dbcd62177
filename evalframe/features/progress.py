"""Traces and targets -> `progress_features`: one row per (trajectory, query task), computed once, at ingest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from evalframe.contracts import contract
from evalframe.features import long, short

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

VERSION = 1
"""Of all formulas in this folder that make a column; the contract of the table says which versions it may hold."""

POINT = ("trajectory_index", "query_task", "prefix_index", "frame_index", "progress", "success_probability")
"""What is read of `progress_traces`."""

_PART = 1 << 20
"""Points worked on together: what is made of them is small enough for memory to be used again, not asked for anew."""

_COMPUTED = ("window_trend", "window_pearson", "mse", "mae", "spearman")
_FILTERING = ("filter_pearson", "filter_final", "filter_delta", "filter_slope", "filter_late_mean")


def progress_features(
    traces: pl.DataFrame, targets: pl.DataFrame, labels: pl.DataFrame, run_id: str, step: int
) -> pl.DataFrame:
    """The table `progress_features` of one run and step, or of some whole trajectories of it.

    traces: `progress_traces` of the run and step, no duplicates. targets: `progress_targets` of its data set, or of
    the trajectories. labels: one row for each of them (`features.labels`). A trajectory that was not asked about
    its own task has a row without points; every predicted frame of an own-task trace must have a target (the source
    checks both).
    """
    labels = labels.sort("trajectory_index")
    parts = [_of_some(*part) for part in _parts(traces.select(POINT), targets, labels)]
    return (
        pl.concat(parts)
        .with_columns(
            run_id=pl.lit(run_id),
            step=pl.lit(step, pl.Int64),
            feature_version=pl.lit(VERSION, pl.Int64),
        )
        .select(contract("progress_features").names)
    )


def _parts(traces: pl.DataFrame, targets: pl.DataFrame, labels: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, ...]]:
    """The three frames, of some trajectories at a time where rows are sorted by them, else as they are."""
    by = "trajectory_index"
    size = max(1, _PART * len(labels) // max(1, len(traces)))
    if len(labels) <= size or not (traces[by].is_sorted() and targets[by].is_sorted()):
        yield traces, targets, labels
        return
    starts = labels[by].gather_every(size)
    ends = [np.append(side[by].search_sorted(starts).to_numpy(), len(side)) for side in (traces, targets, labels)]
    for cuts in zip(*map(pairwise, ends), strict=True):
        yield tuple(
            side.slice(start, end - start) for side, (start, end) in zip((traces, targets, labels), cuts, strict=True)
        )


def _of_some(traces: pl.DataFrame, targets: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """`progress_features` without what is the same in all rows. labels are sorted."""
    # Polars adds the numbers of a group in another order where they lie in several pieces.
    points = traces.rechunk()
    first = _starts(points)
    if not _in_order(points, first):
        points = points.sort("trajectory_index", "query_task", "prefix_index")
        first = _starts(points)
    summaries = _summaries(points, first, labels)
    traced = _joined(summaries, _formulas(points, summaries, targets), "trace")
    silent = _silent(traced, labels)
    if len(silent):
        traced = pl.concat([traced, silent], how="diagonal").sort("trajectory_index", "query_task")
    empty = pl.lit([], dtype=pl.List(pl.Float64))
    return _joined(traced.drop("trace", "is_own"), labels, "trajectory_index").with_columns(
        pl.col("window_trend", "window_pearson").fill_null(empty)
    )


def _starts(points: pl.DataFrame) -> Rows:
    """The row at which each trace begins; points of one trace lie together."""
    changes = (pl.col(name) != pl.col(name).shift() for name in ("trajectory_index", "query_task"))
    return points.select(pl.any_horizontal(changes).fill_null(True).arg_true()).to_series().to_numpy()


def _in_order(points: pl.DataFrame, first: Rows) -> bool:
    """Whether traces rise by (trajectory, query task) and within each the prefixes."""
    prefix = points["prefix_index"].to_numpy()
    later = prefix[1:] > prefix[:-1]
    later[first[1:] - 1] = True
    index, task = pl.col("trajectory_index"), pl.col("query_task")
    rising = (index > index.shift()) | ((index == index.shift()) & (task > task.shift()))
    return bool(later.all()) and bool(points[first].select(rising.fill_null(True).all()).item())


def _summaries(points: pl.DataFrame, first: Rows, labels: pl.DataFrame) -> pl.DataFrame:
    """One row per trace: who, how many, and the ends. The final point of a failed trace is not used.

    `trace` is its rank, from 0. labels are sorted by trajectory_index, which counts by one.
    """
    place = points["trajectory_index"].gather(first) - labels["trajectory_index"][0]
    n_points = np.diff(first, append=len(points)).astype(np.int64)
    progress = points["progress"]
    n_failed = np.zeros_like(n_points)
    if progress.null_count():
        n_failed = np.add.reduceat(progress.is_null().to_numpy(), first, dtype=np.int64)
    last = first + n_points - 1
    usable = pl.col("n_failed") == 0
    return (
        points[first]
        .select("trajectory_index", "query_task")
        .with_row_index("trace")
        .with_columns(
            is_own=pl.col("query_task") == labels["task"].gather(place),
            n_points=n_points,
            n_failed=n_failed,
            final_progress=progress.gather(last),
            final_success_probability=points["success_probability"].gather(last),
        )
        .with_columns(pl.when(usable).then(pl.col("final_progress", "final_success_probability")))
    )


def _silent(traced: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """A row without points for each trajectory that was not asked about its own task."""
    own = traced.filter("is_own")["trajectory_index"]
    if own.equals(labels["trajectory_index"]):
        labels = labels.clear()
    return labels.filter(~pl.col("trajectory_index").is_in(own.implode())).select(
        "trajectory_index", query_task="task", n_points=pl.lit(0, pl.Int64), n_failed=pl.lit(0, pl.Int64)
    )


def _formulas(points: pl.DataFrame, summaries: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The computed columns of every trace without a failed point."""
    is_own, n_points, n_failed = (summaries[name].to_numpy() for name in ("is_own", "n_points", "n_failed"))
    kinds = np.where(n_failed == 0, np.minimum(n_points, short.MAX_POINTS + 1), 0)
    # Marked as sorted also because Polars then adds the numbers of a group in another order.
    trace = pl.Series("trace", np.repeat(summaries["trace"].to_numpy(), n_points)).set_sorted()
    rows = points.select("trajectory_index", "frame_index", "progress", trace)
    parts = [_no_traces()]
    for own in (True, False):
        of_own = (is_own == own) & (kinds > 0)
        some = _where(rows, of_own, n_points)
        some = _with_targets(some, targets) if own else some.with_columns(target=pl.lit(None, pl.Float64))
        for n in np.flatnonzero(np.bincount(kinds[of_own])).tolist():
            same = _where(some, kinds[of_own] == n, n_points[of_own])
            if n <= short.MAX_POINTS:
                parts.append(short.features(same, n, with_target=own))
            else:
                parts.append(long.features(same, with_target=own))
    return pl.concat(parts, how="diagonal")


def _with_targets(own: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The points with the target of their frame."""
    place = ["trajectory_index", "frame_index"]
    if own.select(place).equals(targets.select(place)):
        return own.with_columns(targets["target_progress"].rechunk().alias("target"))
    frames = max(int(side["frame_index"].to_numpy().max(initial=0)) for side in (own, targets)) + 1
    cell = (pl.col("trajectory_index") * frames + pl.col("frame_index")).alias("cell")
    return _joined(own.with_columns(cell), targets.select(cell, target="target_progress"), "cell")


def _joined(left: pl.DataFrame, right: pl.DataFrame, on: str) -> pl.DataFrame:
    """Left join in the order of `left`, by integers. Most often the two sides have the same rows, side by side."""
    if left[on].equals(right[on]):
        return left.hstack(right.drop(on))
    # Columns marked as sorted join in a thirtieth of the time.
    marked = [side.with_columns(pl.col(on).set_sorted()) if side[on].is_sorted() else side for side in (left, right)]
    return marked[0].join(marked[1], on=on, how="left", maintain_order="left")


def _where(rows: pl.DataFrame, wanted: Mask, sizes: Rows) -> pl.DataFrame:
    """The rows of the wanted traces, of as many rows each as `sizes` says; not copied where all are wanted."""
    return rows if wanted.all() else rows.filter(np.repeat(wanted, sizes))


def _no_traces() -> pl.DataFrame:
    schema = contract("progress_features").polars_schema()
    return pl.DataFrame(schema={"trace": pl.UInt32, **{name: schema[name] for name in (*_COMPUTED, *_FILTERING)}})
