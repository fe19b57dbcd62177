"""Choice questions as files -> one run's tables: KEV rows (JSON list or lines), or outcomes (Parquet, Arrow, CSV)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.contracts.shards import Rows, Spool
from evalframe.sources.choice_json import read_objects
from evalframe.sources.choice_outcomes import read_outcome_tables
from evalframe.sources.choice_rows import checked_row
from evalframe.sources.choice_tables import RowTables
from evalframe.sources.fields import file_sha256


@dataclass(frozen=True)
class ChoiceRun:
    """One run as its file has it. inputs: what makes it the same run again. has_probabilities: whether p was kept."""

    run_id: str
    dataset_id: str
    tables: Mapping[str, Rows]
    inputs: Mapping[str, Any]
    has_probabilities: bool


def read_rows(path: Path, run_id: str, spool: Spool | None = None) -> ChoiceRun:
    """KEV rows of one run, in memory unless there is a spool that they outgrow.

    Raises InputError (unreadable) or ContractError (cannot be meant), naming the row.
    """
    digest = file_sha256(path)
    return _run(read_objects(path), run_id, str(path), {"rows_sha256": digest}, spool)


def rows_run(
    rows: Iterable[Mapping[str, Any]], run_id: str, where: str = "rows", spool: Spool | None = None
) -> ChoiceRun:
    """`read_rows` for rows from elsewhere; `where` names them in refusals."""
    return _run(rows, run_id, where, {}, spool)


def read_outcomes(path: Path, run_id: str) -> ChoiceRun:
    """Confidence and correctness of one run; the metrics that need probabilities are absent. Raises as `read_rows`."""
    dataset_id, tables, digest = read_outcome_tables(path, run_id)
    return ChoiceRun(run_id, dataset_id, tables, {"outcomes_sha256": digest}, has_probabilities=False)


def _run(
    rows: Iterable[Mapping[str, Any]], run_id: str, where: str, inputs: Mapping[str, Any], spool: Spool | None
) -> ChoiceRun:
    collected = RowTables(where, spool or Spool())
    collected.add(checked_row(row, place, where) for place, row in enumerate(rows))
    dataset_id, tables = collected.tables(run_id)
    return ChoiceRun(run_id, dataset_id, tables, inputs or {"dataset_id": dataset_id}, has_probabilities=True)
