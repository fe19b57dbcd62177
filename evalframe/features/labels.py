"""Targets -> one row per trajectory: its label, how many frames it has, and a digest of all that is known of it."""

from __future__ import annotations

import hashlib

import polars as pl

from evalframe.identity import canonical_json


def trajectory_labels(targets: pl.DataFrame) -> pl.DataFrame:
    """(trajectory_index, trajectory_id, task, outcome, n_frames, label_digest), by trajectory_index.

    targets: rows of `progress_targets` of one data set; task and outcome are the same in all rows of a trajectory.
    n_frames is the last labelled frame + 1. The digest covers task, outcome and each (frame, target), in frame order.
    """
    ordered = targets.sort("trajectory_index", "frame_index")
    frames = ordered["frame_index"].to_numpy().astype("<i8")
    values = ordered["target_progress"].to_numpy().astype("<f8")
    per = ordered.group_by("trajectory_index", maintain_order=True).agg(
        pl.col("trajectory_id", "task", "outcome").first(),
        (pl.col("frame_index").last() + 1).alias("n_frames"),
        pl.len().alias("rows"),
    )
    digests, start = [], 0
    for task, outcome, rows in per.select("task", "outcome", "rows").iter_rows():
        digest = hashlib.sha256(canonical_json([task, outcome]).encode())
        digest.update(frames[start : start + rows].tobytes())
        digest.update(values[start : start + rows].tobytes())
        digests.append(digest.hexdigest()[:16])
        start += rows
    return per.drop("rows").with_columns(label_digest=pl.Series(digests, dtype=pl.String))
