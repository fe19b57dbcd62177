"""Rows of an export on their way to a place: a batch at a time, each time in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from evalframe.contracts.shards import Rows, batches_of
from evalframe.underway import portions

DRAWN_ROWS = 1 << 13
"""Rows that are Python objects at one time."""


def passing(name: str, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows of table `name`; how far they are is told as what is under way."""
    return portions(f"rows of {name}", batches_of(rows, rows.column_names), rows.num_rows)


def reader(name: str, rows: Rows) -> pa.RecordBatchReader:
    """What `passing` gives, for those who take an Arrow stream."""
    return pa.RecordBatchReader.from_batches(rows.schema, passing(name, rows))


def dicts(name: str, rows: Rows) -> Iterator[dict[str, Any]]:
    """What `passing` gives, row by row."""
    for batch in passing(name, rows):
        for start in range(0, batch.num_rows, DRAWN_ROWS):
            yield from batch.slice(start, DRAWN_ROWS).to_pylist()
