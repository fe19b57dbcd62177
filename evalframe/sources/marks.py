"""Answers that another tool marked right or wrong -> the contracted table of one run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from evalframe.contracts import conform, contract
from evalframe.errors import DuplicateItem
from evalframe.identity import data_digest
from evalframe.sources.values import shown

ERROR_LENGTH = 500
"""Characters of an error that are kept: it says why there is no answer, and is no log."""

_FIELDS = ("item_id", "attempt", "task", "target_digest", "marked_by", "correct", "error")


@dataclass(frozen=True, slots=True)
class Mark:
    """One attempt at one item. marked_by: which scorer or metric of the tool. correct: null where nobody marked it;
    error: why there is no answer, else null."""

    item_id: str
    attempt: int
    task: str | None
    target_digest: str | None
    marked_by: str
    correct: bool | None
    error: str | None = None


def mark_tables(marks: Iterable[Mark], run_id: str, where: str) -> tuple[str, dict[str, pa.Table]]:
    """(dataset_id, tables by name). Raises DuplicateItem where one attempt at one item is there twice."""
    rows = list(marks)
    seen: dict[tuple[str, int], int] = {}
    for index, mark in enumerate(rows):
        first = seen.setdefault((mark.item_id, mark.attempt), index)
        if first != index:
            raise DuplicateItem(
                "one attempt at one item is there twice",
                expected="every item and attempt once",
                found=f"item {shown(mark.item_id)}, attempt {mark.attempt} at {first} and {index} (from 0)",
                where=where,
                hint="name the files of one evaluation once each",
            )
    table = contract("answer_marks")
    attempts = [f"{mark.attempt} {mark.marked_by}" for mark in rows]
    columns: dict[str, list[object]] = {
        "run_id": [run_id] * len(rows),
        "item_index": list(range(len(rows))),
        **{name: [getattr(mark, name) for mark in rows] for name in _FIELDS},
    }
    schema = table.arrow_schema()
    known = {
        "item_id": pa.array(columns["item_id"], pa.large_string()),
        "label": pa.array(columns["target_digest"], pa.large_string()),
        "cluster_id": pa.array(attempts, pa.large_string()),
        "stratum": pa.array(columns["task"], pa.large_string()),
    }
    made = pa.table([pa.array(columns[f.name], f.type) for f in schema], schema=schema)
    return data_digest(pa.table(known))[:16], {"answer_marks": conform(table, made)}
