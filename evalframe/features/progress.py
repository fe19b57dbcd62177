"""Traces and targets -> `progress_features`: one row per (trajectory, query task), computed once, at ingest."""

from __future__ import annotations

import polars as pl

from evalframe.contracts import contract
from evalframe.features import long, short

VERSION = 1
"""Of all formulas in this folder that make a column; the contract of the table says which versions it may hold."""

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
    tasks = pl.concat([traces["query_task"], labels["task"]]).unique().sort()
    labels = labels.sort("trajectory_index")
    # Polars adds the numbers of a group in another order where they lie in several pieces.
    points = _points(traces.rechunk(), pl.Enum(tasks), labels)
    summaries = _summaries(points)
    traced = _joined(summaries, _formulas(points, summaries, targets), "trace").select(
        pl.exclude("key"),
        trajectory_index=pl.col("key") // len(tasks),
        query_task=tasks.gather(summaries["key"] % len(tasks)),
    )
    silent = _silent(traced, labels)
    if len(silent):
        traced = pl.concat([traced, silent], how="diagonal").sort("trajectory_index", "query_task")
    empty = pl.lit([], dtype=pl.List(pl.Float64))
    return (
        _joined(traced, labels, "trajectory_index")
        .with_columns(
            run_id=pl.lit(run_id),
            step=pl.lit(step, pl.Int64),
            window_trend=pl.col("window_trend").fill_null(empty),
            window_pearson=pl.col("window_pearson").fill_null(empty),
            feature_version=pl.lit(VERSION, pl.Int64),
        )
        .select(contract("progress_features").names)
    )


def _points(traces: pl.DataFrame, tasks: pl.Enum, labels: pl.DataFrame) -> pl.DataFrame:
    """(trace, key, is_own, trajectory_index, frame_index, progress, success_probability), in order of prefixes.

    `key` is one integer per (trajectory, query task) and `trace` its rank among those that occur, from 0: what follows
    joins, sorts and compares integers alone. labels are sorted by trajectory_index, which counts from 0.
    """
    n = len(tasks.categories)
    own = labels["task"].cast(tasks).to_physical().cast(pl.Int64)
    keyed = traces.select(
        "trajectory_index",
        "prefix_index",
        "frame_index",
        "progress",
        "success_probability",
        task=pl.col("query_task").cast(tasks).to_physical().cast(pl.Int64),
    ).with_columns(
        key=pl.col("trajectory_index") * n + pl.col("task"),
        is_own=pl.col("task") == own.gather(traces["trajectory_index"]),
    )
    if not keyed.select(_in_order()).item():
        keyed = keyed.sort("key", "prefix_index")
    return keyed.with_columns(
        trace=(pl.col("key") != pl.col("key").shift()).fill_null(False).cum_sum().set_sorted()
    ).drop("prefix_index", "task")


def _in_order() -> pl.Expr:
    key, prefix = pl.col("key"), pl.col("prefix_index")
    rising = (key > key.shift()) | ((key == key.shift()) & (prefix > prefix.shift()))
    return rising.fill_null(True).all()


def _summaries(points: pl.DataFrame) -> pl.DataFrame:
    """One row per trace: who, how many, and the ends. The final point of a failed trace is not used."""
    usable = pl.col("progress").null_count() == 0
    return points.group_by("trace", maintain_order=True).agg(
        pl.col("key", "is_own").first(),
        pl.len().cast(pl.Int64).alias("n_points"),
        pl.col("progress").null_count().cast(pl.Int64).alias("n_failed"),
        pl.when(usable).then(pl.col("progress").last()).alias("final_progress"),
        pl.when(usable).then(pl.col("success_probability").last()).alias("final_success_probability"),
    )


def _silent(traced: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """A row without points for each trajectory that was not asked about its own task."""
    own = traced.filter("is_own").select("trajectory_index")
    return labels.join(own, on="trajectory_index", how="anti").select(
        "trajectory_index", query_task="task", n_points=pl.lit(0, pl.Int64), n_failed=pl.lit(0, pl.Int64)
    )


def _formulas(points: pl.DataFrame, summaries: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The computed columns of every trace without a failed point."""
    whole = summaries.select(
        n=pl.when(pl.col("n_failed") == 0).then(pl.min_horizontal("n_points", short.MAX_POINTS + 1))
    )
    sized = points.with_columns(n=whole["n"].gather(points["trace"]))
    parts = [_no_traces()]
    for own in (True, False):
        rows = _where(sized, sized["is_own"] == own)
        rows = _with_targets(rows, targets) if own else rows.with_columns(target=pl.lit(None, pl.Float64))
        for n in rows["n"].drop_nulls().unique():
            same = _where(rows, (rows["n"] == n).fill_null(False))
            if n <= short.MAX_POINTS:
                parts.append(short.features(same, n, with_target=own))
            else:
                parts.append(long.features(same, with_target=own))
    return pl.concat(parts, how="diagonal")


def _with_targets(own: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The points with the target of their frame."""
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


def _where(rows: pl.DataFrame, wanted: pl.Series) -> pl.DataFrame:
    """The rows that are wanted, not copied where all are."""
    return rows if bool(wanted.all()) else rows.filter(wanted)


def _no_traces() -> pl.DataFrame:
    schema = contract("progress_features").polars_schema()
    return pl.DataFrame(schema={"trace": pl.UInt32, **{name: schema[name] for name in (*_COMPUTED, *_FILTERING)}})
