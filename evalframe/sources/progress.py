"""Saved traces and targets -> contracted tables.

traces: run_id, step, trajectory_id, query_task, prefix_index, frame_index, progress, success_probability and optionally
error. targets: trajectory_id, task, outcome, frame_index, target_progress. Both Parquet; further columns are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from evalframe.contracts import conform, contract, validate
from evalframe.contracts.shards import ROWS
from evalframe.errors import ContractError, InputError
from evalframe.features.labels import trajectory_labels
from evalframe.features.progress import progress_features
from evalframe.identity import canonical_json

if TYPE_CHECKING:
    import pyarrow.parquet as pq

TRACES = ("run_id", "step", "trajectory_id", "query_task", "prefix_index", "frame_index", "progress")
TRACES_ALL = (*TRACES, "success_probability", "error")
TEXTS = ("run_id", "trajectory_id", "query_task", "task", "outcome", "error")
TARGETS = ("trajectory_id", "task", "outcome", "frame_index", "target_progress")


@dataclass(frozen=True)
class Targets:
    """What is known of a data set before any prediction.

    table: `progress_targets`. labels: a row per trajectory (`features.labels`).
    """

    dataset_id: str
    table: pl.DataFrame
    labels: pl.DataFrame

    @property
    def tasks(self) -> list[str]:
        """The tasks of the trajectories, sorted."""
        return sorted(self.labels["task"].unique())


def read_targets(path: Path) -> Targets:
    """The targets in a Parquet file. Raises InputError (unreadable) or ContractError naming the rows."""
    return targets(_read(path, TARGETS, "progress_targets"), where=str(path))


def targets(rows: pl.DataFrame, where: str) -> Targets:
    """Targets with the columns of the file form, checked, with trajectory ranks and the data set's id."""
    if rows.is_empty():
        raise ContractError(
            "there are no targets",
            expected="at least one trajectory",
            found="0 rows",
            where=where,
            hint="evalframe explain progress_targets",
        )
    table, labels = labelled(rows, where)
    pairs = labels.sort("trajectory_id").select("trajectory_id", "label_digest")
    digest = hashlib.sha256(b"[")
    digest.update(",".join(pair_texts(pairs)).encode() + b"]")
    dataset_id = digest.hexdigest()[:16]
    return Targets(dataset_id, table.with_columns(dataset_id=pl.lit(dataset_id)), labels)


def labelled(rows: pl.DataFrame, where: str, first: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(`progress_targets` of a data set without a name, a row per trajectory), checked.

    rows: whole trajectories. first: how many trajectories of the data set sort before these.
    """
    ids = rows["trajectory_id"].unique().sort()
    ranks = pl.DataFrame({"trajectory_id": ids, "trajectory_index": range(first, first + len(ids))})
    placed = rows.join(ranks, on="trajectory_id", how="left", maintain_order="left")
    table = _checked("progress_targets", placed.with_columns(dataset_id=pl.lit("unknown")), where)
    _refuse_two_labels(table, where)
    return table, trajectory_labels(table)


def pair_texts(pairs: pl.DataFrame) -> list[str]:
    """(id, label digest) of each trajectory as canonical JSON: in a list, they name the data set."""
    return [canonical_json(list(pair)) for pair in pairs.iter_rows()]


def read_traces(path: Path, known: Targets) -> dict[int, pl.DataFrame]:
    """`progress_traces` per step from a Parquet file of one run. Raises InputError or ContractError naming the rows."""
    rows = _read(path, TRACES_ALL, "progress_traces", optional=("error",))
    return traces(rows, known, where=str(path))


def traces(rows: pl.DataFrame, known: Targets, where: str) -> dict[int, pl.DataFrame]:
    """Traces with the columns of the file form, checked against the targets, split by step."""
    runs = rows["run_id"].unique().sort().to_list()
    if len(runs) != 1:
        raise ContractError(
            "a traces file holds one run",
            expected="one run_id in all rows",
            found=", ".join(map(str, runs)) or "no rows",
            where=where,
            hint="write one file per run",
        )
    table = placed(rows, known, where)
    return {step: part for (step,), part in table.partition_by("step", as_dict=True).items()}


def placed(rows: pl.DataFrame, known: Targets, where: str) -> pl.DataFrame:
    """`progress_traces` of rows in the file form, checked against the targets of their trajectories."""
    ranks = known.labels.select("trajectory_id", "trajectory_index")
    strangers = rows.join(ranks, on="trajectory_id", how="anti")
    if len(strangers):
        raise ContractError(
            "traces of trajectories that have no targets",
            expected="every trajectory_id of the traces among those of the targets",
            found=_some(strangers["trajectory_id"]),
            where=where,
            hint="evalframe explain progress_targets",
        )
    ranked = rows.join(ranks, on="trajectory_id", how="left", maintain_order="left")
    table = _checked("progress_traces", ranked, where)
    _refuse_half_failures(table, where)
    _refuse_disorder(table, where)
    _refuse_unlabelled_frames(table, known, where)
    return table


def run_tables(run_traces: pl.DataFrame, known: Targets) -> Mapping[str, pa.Table]:
    """Every table of one run and step: its traces, the targets, and the features made of both."""
    named = (run_traces["run_id"][0], run_traces["step"][0])
    features = progress_features(run_traces, known.table, known.labels, *named)
    return {
        "progress_targets": conform(contract("progress_targets"), known.table),
        "progress_traces": conform(contract("progress_traces"), run_traces),
        "progress_features": conform(contract("progress_features"), features),
    }


def _read(path: Path, columns: tuple[str, ...], wanted: str, optional: tuple[str, ...] = ()) -> pl.DataFrame:
    """The named columns of a Parquet file, text in NFC; optional ones, which are text, are null where they are not.

    wanted: the contract that says what they are.
    """
    with _told(path, wanted):
        file, there = _opened(path, columns, wanted, optional)
        table = file.read(columns=there)
        table.validate(full=True)  # bytes that are no text would be taken for it
    return _plain(table, path, optional)


def read_parts(
    path: Path, columns: tuple[str, ...], wanted: str, optional: tuple[str, ...] = ()
) -> Iterator[pl.DataFrame]:
    """What is read at once elsewhere, some rows at a time."""
    with _told(path, wanted):
        file, there = _opened(path, columns, wanted, optional)
        for batch in file.iter_batches(ROWS, columns=there):
            batch.validate(full=True)
            yield _plain(pa.Table.from_batches([batch]), path, optional)


@contextmanager
def _told(path: Path, wanted: str) -> Iterator[None]:
    """What the Parquet reader says, as a typed error."""
    try:
        yield
    except (OSError, ValueError, LookupError, pa.ArrowException) as error:
        raise InputError(
            f"{path.name} cannot be read",
            expected="a Parquet file",
            found=" ".join(str(error).split())[:300],
            where=str(path),
            hint=f"evalframe explain {wanted}",
        ) from error


def _opened(
    path: Path, columns: tuple[str, ...], wanted: str, optional: tuple[str, ...]
) -> tuple[pq.ParquetFile, list[str]]:
    """The file, and those of the columns that it has. Raises ContractError where one lacks that is not optional."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    there = file.schema_arrow.names
    missing = [name for name in columns if name not in there and name not in optional]
    if missing:
        raise ContractError(
            f"{path.name} lacks column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            expected=", ".join(columns),
            found=", ".join(there) or "no columns",
            where=str(path),
            hint=f"evalframe explain {wanted}",
        )
    return file, [name for name in columns if name in there]


def _plain(table: pa.Table, path: Path, optional: tuple[str, ...]) -> pl.DataFrame:
    """Rows of a file as they are meant: see `_read`."""
    table = pa.table(table.columns, names=table.column_names)  # Polars would take metadata for text
    frame = pl.DataFrame(pl.from_arrow(table)).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    for name in TEXTS:
        # Before any join: a number that looks like an id must not meet a text that looks like the number.
        if name in frame.columns and frame.schema[name] not in (pl.String, pl.Null):
            raise ContractError(
                f"column {name} of {path.name} is not text",
                expected="text: ids and labels are never numbers",
                found=str(frame.schema[name]),
                where=str(path),
                hint=f"cast {name} to text where the file is written",
            )
    absent = [pl.lit(None, pl.String).alias(name) for name in optional if name not in table.column_names]
    return frame.with_columns(*absent).with_columns(pl.col(pl.String).str.normalize("NFC"))


def _checked(name: str, rows: pl.DataFrame, where: str) -> pl.DataFrame:
    """`rows` as the contracted table; every broken rule in one ContractError."""
    target = contract(name)
    chosen = rows.select(target.names)
    validate(target, chosen).raise_for_failures(where=where)
    return pl.DataFrame(pl.from_arrow(conform(target, chosen)))


def _refuse_two_labels(table: pl.DataFrame, where: str) -> None:
    per = table.group_by("trajectory_id").agg(pl.col("task", "outcome").n_unique())
    torn = per.filter((pl.col("task") > 1) | (pl.col("outcome") > 1))
    if len(torn):
        raise ContractError(
            "a trajectory has one task and one outcome",
            expected="the same task and outcome in every row of a trajectory",
            found=f"more than one for {_some(torn['trajectory_id'])}",
            where=where,
            hint="evalframe explain progress_targets",
        )


def _refuse_half_failures(table: pl.DataFrame, where: str) -> None:
    """A prediction is whole (progress and success probability) or failed (neither, and an error)."""
    failed = pl.col("progress").is_null()
    torn = table.filter((failed != pl.col("success_probability").is_null()) | (failed != pl.col("error").is_not_null()))
    if len(torn):
        row = torn.row(0, named=True)
        raise ContractError(
            f"{len(torn)} predictions are neither whole nor failed",
            expected="progress and success_probability, or neither and an error",
            found=f"{_place(row)}: progress={row['progress']}, success_probability={row['success_probability']}, "
            f"error={row['error']!r}",
            where=where,
            hint="write null progress, null success_probability and an error where the model failed",
        )


def _refuse_disorder(table: pl.DataFrame, where: str) -> None:
    """Prefixes end later and later."""
    trace = ["run_id", "step", "trajectory_index", "query_task"]
    ordered = table.sort(*trace, "prefix_index")
    back = ordered.filter(pl.col("frame_index") < pl.col("frame_index").shift().over(trace))
    if len(back):
        raise ContractError(
            "frame_index falls while prefix_index rises",
            expected="prefixes numbered in the order of their last frame",
            found=_place(back.row(0, named=True)),
            where=where,
            hint="number the prefixes of each trace by their last frame",
        )


def _refuse_unlabelled_frames(table: pl.DataFrame, known: Targets, where: str) -> None:
    own = table.join(known.labels.select("trajectory_index", query_task="task"), on=["trajectory_index", "query_task"])
    bare = own.join(known.table, on=["trajectory_index", "frame_index"], how="anti")
    if len(bare):
        raise ContractError(
            f"{len(bare)} predictions have no target",
            expected="a target_progress for every predicted frame of a trajectory's own task",
            found=_place(bare.sort("trajectory_index", "frame_index").row(0, named=True)),
            where=where,
            hint="evalframe explain progress_targets",
        )


def _place(row: Mapping[str, object]) -> str:
    return (
        f"trajectory {row['trajectory_id']}, query_task {row['query_task']}, prefix {row['prefix_index']}, "
        f"frame {row['frame_index']}"
    )


def _some(ids: pl.Series, limit: int = 5) -> str:
    unique = ids.unique().sort()
    more = f" and {len(unique) - limit} more" if len(unique) > limit else ""
    return ", ".join(unique.head(limit)) + more
