"""Traces and targets -> `progress_features`: one row per (trajectory, query task), computed once, at ingest."""

from __future__ import annotations

import polars as pl

from evalframe.contracts import contract
from evalframe.features import long, short

VERSION = 1
"""Of all formulas in this folder that make a column; the contract of the table says which versions it may hold."""

_TRACE = ("run_id", "step", "trajectory_index", "query_task")


def progress_features(traces: pl.DataFrame, targets: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The table `progress_features` of one run and step.

    traces: `progress_traces` of one run and step, without duplicates. targets: `progress_targets` of its data set.
    labels: one row per trajectory of the data set (`features.labels`). A trajectory that was not asked about its own
    task has a row without points; every predicted frame of an own-task trace must have a target (the source checks).
    """
    points = _points(traces, targets, labels)
    described = labels.select("trajectory_index", "trajectory_id", "task", "outcome", "label_digest", "n_frames")
    summary = _summaries(points)
    clean = points.filter(pl.col("n_failed") == 0).select("trace", "n_points", "is_own", "progress", "target")
    own_rows = traces.select("run_id", "step").unique().join(described, how="cross").with_columns(query_task="task")
    asked = summary.join(described, on="trajectory_index")
    silent = own_rows.join(asked, on=list(_TRACE), how="anti")
    whole = pl.concat([asked.join(_formulas(clean), on="trace", how="left"), silent], how="diagonal")
    empty = pl.lit([], dtype=pl.List(pl.Float64))
    return (
        whole.with_columns(
            pl.col("n_points", "n_failed").fill_null(0),
            pl.col("window_trend", "window_pearson").fill_null(empty),
            feature_version=pl.lit(VERSION, pl.Int64),
        )
        .sort(_TRACE)
        .select(contract("progress_features").names)
    )


def _points(traces: pl.DataFrame, targets: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Traces in order with their target, `trace` (a number per trace), its length and its failures."""
    own = labels.select("trajectory_index", "task")
    return (
        traces.join(own, on="trajectory_index")
        .join(
            targets.select("trajectory_index", "frame_index", target="target_progress"),
            on=["trajectory_index", "frame_index"],
            how="left",
        )
        .sort(*_TRACE, "prefix_index")
        .with_columns(
            trace=pl.any_horizontal(pl.col(c) != pl.col(c).shift() for c in _TRACE).fill_null(True).cum_sum(),
            is_own=pl.col("task") == pl.col("query_task"),
        )
        .with_columns(
            n_points=pl.len().over("trace").cast(pl.Int64),
            n_failed=pl.col("progress").is_null().sum().over("trace").cast(pl.Int64),
        )
    )


def _summaries(points: pl.DataFrame) -> pl.DataFrame:
    """One row per trace: who, how many, and the ends. The final point of a failed trace is not used."""
    usable = pl.col("n_failed").last() == 0
    return points.group_by("trace", maintain_order=True).agg(
        *(pl.col(name).first() for name in _TRACE),
        pl.col("n_points", "n_failed").first(),
        pl.when(usable).then(pl.col("progress").last()).alias("final_progress"),
        pl.when(usable).then(pl.col("success_probability").last()).alias("final_success_probability"),
    )


def _formulas(clean: pl.DataFrame) -> pl.DataFrame:
    parts = [_no_traces()]
    for (own, n), rows in clean.group_by("is_own", pl.min_horizontal("n_points", short.MAX_POINTS + 1)):
        if n <= short.MAX_POINTS:
            parts.append(short.features(rows, n, with_target=own))
        else:
            parts.append(long.features(rows, with_target=own))
    return pl.concat(parts, how="diagonal")


def _no_traces() -> pl.DataFrame:
    computed = [name for name in contract("progress_features").names if name.startswith(("window_", "filter_"))]
    schema = contract("progress_features").polars_schema()
    wanted = {name: schema[name] for name in (*computed, "mse", "mae", "spearman")}
    return pl.DataFrame(schema={"trace": pl.UInt32, **wanted})
