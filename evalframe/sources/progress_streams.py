"""Traces and targets that need not fit into memory: read in parts, sorted, and taken some trajectories at a time.

Every check and formula is that of `sources.progress`, made of whole trajectories; only which of them are looked at
together is decided here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa

from evalframe.contracts import conform, contract
from evalframe.contracts.shards import Rows, Spool, batches_of
from evalframe.errors import ContractError, InputError
from evalframe.features.progress import progress_features
from evalframe.sources import progress as source

_ROW = 1 << 10
"""Bytes that a row takes while rows are worked on together."""

_BY_FRAME = ("trajectory_id", "frame_index")
_BY_PREFIX = ("trajectory_id", "query_task", "prefix_index")
_PROGRESS = ("progress_targets", "progress_traces", "progress_features")


@dataclass(frozen=True)
class SpooledTargets:
    """`sources.progress.Targets` in a spool. table: in the order of trajectories and frames; labels: likewise."""

    dataset_id: str
    table: Rows
    labels: Rows
    tasks: list[str]

    def blocks(self) -> Iterator[source.Targets]:
        """Some trajectories at a time, with all that is known of them."""
        labels = _Cursor(_frames(self.labels))
        for table in _whole(_frames(self.table), "trajectory_index"):
            yield source.Targets(
                self.dataset_id, table, labels.until("trajectory_index", table["trajectory_index"][-1])
            )


@dataclass(frozen=True)
class SpooledTraces:
    """`progress_traces` of one step in the order of trajectories. pools: candidates of each query task."""

    run_id: str
    table: Rows
    pools: Mapping[str, int]


class _Unlike(Exception):
    """Rows that cannot be taken in parts, for whatever reason."""


def outgrow(paths: Iterable[Path], room: int) -> bool:
    """Whether the rows of these Parquet files need more bytes than there is room for; not where one is unreadable."""
    import pyarrow.parquet as pq

    try:
        rows: int = sum(pq.read_metadata(path).num_rows for path in paths)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return rows * _ROW > room


def read_run(
    targets: Path, traces: Path, spool: Spool
) -> tuple[SpooledTargets | source.Targets, Mapping[int, SpooledTraces | pl.DataFrame]]:
    """The targets, and the traces by step: in the spool where they outgrow it, else in memory. Raises as those do.

    What is wrong somewhere is told of all rows together, so that they are read again into memory for it.
    """
    if outgrow((targets, traces), spool.room):
        with suppress(ContractError, InputError, _Unlike):
            spooled = _targets(targets, spool)
            return spooled, _traces(traces, spooled, spool)
    known = source.read_targets(targets)
    return known, source.read_traces(traces, known)


def _targets(path: Path, spool: Spool) -> SpooledTargets:
    read, where = "targets as read", str(path)
    for part in source.read_parts(path, source.TARGETS, "progress_targets"):
        spool.add(read, _typed(part))
    unsorted = _taken(spool, read)
    digest, n, tasks = hashlib.sha256(), 0, set[str]()
    ordered = map(_frame, spool.ordered(unsorted, _BY_FRAME))
    for rows in _whole(ordered, "trajectory_id"):
        table, labels = source.labelled(rows, where, n)
        tasks.update(labels["task"].unique())
        for text in source.pair_texts(labels.select("trajectory_id", "label_digest")):
            digest.update(b"," if n else b"[")
            digest.update(text.encode())
            n += 1
        spool.add("targets", table.to_arrow())
        spool.add("labels", labels.to_arrow())
    spool.discard(unsorted)
    digest.update(b"]")
    return SpooledTargets(digest.hexdigest()[:16], _taken(spool, "targets"), _taken(spool, "labels"), sorted(tasks))


def _traces(path: Path, known: SpooledTargets, spool: Spool) -> dict[int, SpooledTraces]:
    runs, steps = set[str](), set[int]()
    for part in source.read_parts(path, source.TRACES_ALL, "progress_traces", optional=("error",)):
        runs.update(part["run_id"].unique())
        for (step,), rows in part.partition_by("step", as_dict=True).items():
            steps.add(step)
            spool.add(f"traces of step {step} as read", _typed(rows))
    if len(runs) != 1:
        raise _Unlike
    (run_id,) = runs
    return {step: _step(step, run_id, known, str(path), spool) for step in sorted(steps)}


def _step(step: int, run_id: str, known: SpooledTargets, where: str, spool: Spool) -> SpooledTraces:
    unsorted, name = _taken(spool, f"traces of step {step} as read"), f"traces of step {step}"
    cursor = _Cursor(map(_frame, spool.ordered(unsorted, _BY_PREFIX)))
    pools: dict[str, int] = {}
    for block in known.blocks():
        rows = source.placed(cursor.until("trajectory_id", block.labels["trajectory_id"][-1]), block, where)
        for task, n in rows.group_by("query_task").agg(pl.col("trajectory_id").n_unique()).iter_rows():
            pools[task] = pools.get(task, 0) + n
        spool.add(name, conform(contract("progress_traces"), rows))
    if cursor.is_left():
        raise _Unlike
    spool.discard(unsorted)
    return SpooledTraces(run_id, _taken(spool, name), pools)


def run_tables(step: int, run_id: str, traces: SpooledTraces, known: SpooledTargets, spool: Spool) -> dict[str, Rows]:
    """`sources.progress.run_tables` of a step under the name it has in a store."""
    cursor = _Cursor(_frames(traces.table))
    for block in known.blocks():
        last = block.labels["trajectory_index"][-1]
        rows = cursor.until("trajectory_index", last).with_columns(run_id=pl.lit(run_id))
        named = block.table.with_columns(dataset_id=pl.lit(known.dataset_id))
        for name, table in zip(_PROGRESS, (named, rows, _features(rows, block, run_id, step)), strict=True):
            spool.add(name, conform(contract(name), table))
    return {name: spool.take(name, contract(name).arrow_schema()) for name in _PROGRESS}


def _features(rows: pl.DataFrame, block: source.Targets, run_id: str, step: int) -> pl.DataFrame:
    """`progress_features` of some trajectories, which count from 0 where it is made."""
    index, first = pl.col("trajectory_index"), block.labels["trajectory_index"][0]
    traces, targets, labels = (frame.with_columns(index - first) for frame in (rows, block.table, block.labels))
    return progress_features(traces, targets, labels, run_id, step).with_columns(index + first)


def _typed(frame: pl.DataFrame) -> pa.Table:
    """The rows for a spool, which knows no column without a type."""
    return frame.with_columns(pl.col(pl.Null).cast(pl.String)).to_arrow()


def _taken(spool: Spool, name: str) -> Rows:
    schema = spool.schema(name)
    if schema is None:
        raise _Unlike
    return spool.take(name, schema)


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))


def _frames(rows: Rows) -> Iterator[pl.DataFrame]:
    return map(_frame, batches_of(rows, rows.column_names))


def _whole(frames: Iterable[pl.DataFrame], column: str) -> Iterator[pl.DataFrame]:
    """Rows sorted by a column, cut only where it changes."""
    held: pl.DataFrame | None = None
    for frame in filter(len, frames):
        held = frame if held is None else pl.concat([held, frame])
        n = int((held[column] < held[column][-1]).sum())
        if n:
            yield held.head(n)
            held = held.slice(n)
    if held is not None:
        yield held


class _Cursor:
    """Takes sorted rows up to a value."""

    def __init__(self, frames: Iterable[pl.DataFrame]) -> None:
        self._frames = iter(frames)
        self._held = next(self._frames)

    def until(self, column: str, last: object) -> pl.DataFrame:
        """The next rows whose value is not beyond `last`."""
        parts = []
        while True:
            n = int((self._held[column] <= last).sum())
            parts.append(self._held.head(n))
            self._held = self._held.slice(n)
            if len(self._held):
                break
            following = next(self._frames, None)
            if following is None:
                break
            self._held = following
        return pl.concat(parts)

    def is_left(self) -> bool:
        """Whether there are further rows."""
        return len(self._held) > 0 or next(self._frames, None) is not None
