"""A processed data set -> the rows that a split selects, with targets, and their frames to be read when needed."""

from __future__ import annotations

import hashlib
import math
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from evalframe.errors import ContractError, SelectionDiffers
from evalframe.identity import canonical_json
from evalframe.sources import progress
from evalframe.sources.progress_frames import FrameFile, frame_path, inspect
from evalframe.sources.progress_registry import Registry
from evalframe.sources.save_to_disk import Batch, open_saved
from evalframe.sources.values import is_text

COLUMNS = ("id", "task", "quality_label", "frames", "target_progress")
OUTCOMES = ("success", "failure")


@dataclass(frozen=True, slots=True)
class Row:
    """One selected trajectory: id, task as the registry writes it, outcome, target per frame, and its frames."""

    trajectory_id: str
    task: str
    outcome: str
    target: tuple[float, ...]
    frames: FrameFile


@dataclass(frozen=True)
class Selection:
    """The rows of a split in the order of their ids.

    tasks: the query tasks, in the registry's order. digest: 64 hex over ids, labels, targets and the frame files'
    digests. n_other: rows of the data set that belong to no task of the split.
    """

    registry: Registry
    rows: tuple[Row, ...]
    targets: progress.Targets
    digest: str
    n_other: int

    @property
    def tasks(self) -> tuple[str, ...]:
        """The query tasks."""
        return tuple(self.registry.tasks.values())


def select(folder: Path, registry: Registry, *, tasks: int, rows_per_outcome: int) -> Selection:
    """The rows of the registry's split, all checked; frames are inspected, not unpacked.

    The split must name `tasks` tasks, and the data set must hold exactly `rows_per_outcome` successes and failures of
    each: SelectionDiffers names every count that is off. Raises ContractError for rows that break the form, among them
    an id that two rows share, and what `save_to_disk` and `progress_frames` raise.
    """
    chosen, n_other = _chosen(folder, registry)
    _check_counts(folder, registry, chosen, tasks, rows_per_outcome)
    rows = tuple(
        Row(r["id"], r["task"], r["outcome"], r["target"], inspect(frame_path(folder, r["frames"]), len(r["target"])))
        for r in sorted(chosen, key=lambda r: r["id"])
    )
    targets = progress.targets(_target_rows(rows), where=str(folder))
    defining = [[r.trajectory_id, r.task, r.outcome, list(r.target), r.frames.sha256] for r in rows]
    digest = hashlib.sha256(canonical_json(defining).encode()).hexdigest()
    return Selection(registry, rows, targets, digest, n_other)


def _chosen(folder: Path, registry: Registry) -> tuple[list[dict[str, Any]], int]:
    seen: dict[str, str] = {}
    chosen, n_other = [], 0
    for batch in open_saved(folder).batches(COLUMNS):
        _check_types(folder, batch)
        for offset, row in enumerate(batch.rows.to_pylist()):
            place = f"row {batch.first_row + offset} of {batch.shard}"
            identity = _text(folder, row, "id", place)
            if identity in seen:
                raise _broken(folder, f"id {identity} stands twice", "each id once", f"{seen[identity]} and {place}")
            seen[identity] = place
            task = registry.task_of(_text(folder, row, "task", place))
            if task is None:
                n_other += 1
                continue
            chosen.append(
                {
                    "id": identity,
                    "task": task,
                    "outcome": _outcome(folder, row, place),
                    "frames": _text(folder, row, "frames", place),
                    "target": _target(folder, row, place),
                }
            )
    return chosen, n_other


def _check_types(folder: Path, batch: Batch) -> None:
    for name in COLUMNS:
        kind = batch.rows.schema.field(name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        fits = (
            (pa.types.is_list(plain) or pa.types.is_large_list(plain)) and pa.types.is_floating(plain.value_type)
            if name == "target_progress"
            else is_text(plain)
        )
        if not fits:
            wanted = "a list of floats" if name == "target_progress" else "text"
            raise _broken(folder, f"column {name} has another type", wanted, f"{kind} in {batch.shard}")


def _text(folder: Path, row: Mapping[str, Any], name: str, place: str) -> str:
    value = row[name]
    if not value:
        raise _broken(folder, f"{name} is missing", f"a {name} in every row", f"{value!r} in {place}")
    return unicodedata.normalize("NFC", value)


def _outcome(folder: Path, row: Mapping[str, Any], place: str) -> str:
    if row["quality_label"] not in OUTCOMES:
        raise _broken(
            folder, "quality_label is neither of two", " or ".join(OUTCOMES), f"{row['quality_label']!r} in {place}"
        )
    return str(row["quality_label"])


def _target(folder: Path, row: Mapping[str, Any], place: str) -> tuple[float, ...]:
    values = row["target_progress"]
    if not values or not all(isinstance(v, float) and math.isfinite(v) for v in values):
        raise _broken(
            folder, "target_progress is no list of numbers", "a finite number per frame, at least one", f"in {place}"
        )
    return tuple(values)


def _check_counts(
    folder: Path, registry: Registry, chosen: list[dict[str, Any]], tasks: int, rows_per_outcome: int
) -> None:
    counts = {(task, outcome): 0 for task in registry.tasks.values() for outcome in OUTCOMES}
    for row in chosen:
        counts[row["task"], row["outcome"]] += 1
    off = [
        f"{task}: {n} {outcome}, {_off_by(n - rows_per_outcome)}"
        for (task, outcome), n in counts.items()
        if n != rows_per_outcome
    ]
    n_tasks = len(registry.tasks)
    if n_tasks != tasks:
        off.insert(0, f"{n_tasks} tasks in the registry, {_off_by(n_tasks - tasks)}")
    if off:
        raise SelectionDiffers(
            f"the data set is not the one that {registry.split} selects",
            expected=f"{tasks} tasks with {rows_per_outcome} success and {rows_per_outcome} failure rows each",
            found="; ".join(off),
            where=str(folder),
            hint=f"--set tasks={n_tasks} rows_per_outcome=N  (another selection is another evaluation)",
        )


def _off_by(difference: int) -> str:
    return f"{-difference} missing" if difference < 0 else f"{difference} too many"


def _target_rows(rows: tuple[Row, ...]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trajectory_id": [r.trajectory_id for r in rows],
            "task": [r.task for r in rows],
            "outcome": [r.outcome for r in rows],
            "frame_index": [list(range(len(r.target))) for r in rows],
            "target_progress": [list(r.target) for r in rows],
        },
        schema_overrides={"frame_index": pl.List(pl.Int64), "target_progress": pl.List(pl.Float64)},
    ).explode("frame_index", "target_progress")


def _broken(folder: Path, what: str, expected: str, found: str) -> ContractError:
    return ContractError(
        what,
        expected=expected,
        found=found,
        where=str(folder),
        hint=f"ls {shlex.quote(str(folder))}  # columns {', '.join(COLUMNS)}",
    )
