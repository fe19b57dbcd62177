"""One SQLite file of tables and views: what spreadsheets, R and small BI tools open without a driver of their own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts.shards import Rows
from evalframe.publish.describing import INFO
from evalframe.publish.recomputed import VIEWS
from evalframe.publish.rows import DRAWN_ROWS, passing
from evalframe.publish.single_file import SingleFile, one_by_one
from evalframe.publish.star import Star
from evalframe.relations.plan import quoted

MOMENT = "%Y-%m-%d %H:%M:%SZ"  # %S has the microseconds; SQLite's own date functions read this
_TYPES = {
    pa.int16(): "INTEGER",
    pa.int32(): "INTEGER",
    pa.int64(): "INTEGER",
    pa.float64(): "REAL",
    pa.bool_(): "BOOLEAN",
}


@dataclass(frozen=True)
class Sqlite(SingleFile):
    """A SQLite file. Moments are UTC text, truth values 0 and 1; meanings of columns are in data_dictionary."""

    kind: ClassVar[str] = "sqlite"

    def _held(self) -> str | None:
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as file:
                row = file.execute(f"SELECT value FROM {INFO} WHERE name = 'content_sha256'").fetchone()
        except sqlite3.Error:
            return None
        return str(row[0]) if row else None

    def _fill(self, new: Path, star: Star) -> None:
        try:
            with closing(sqlite3.connect(new)) as file, file:
                for name, rows in one_by_one(star):
                    _write(file, name, rows)
                for name, (_, query) in VIEWS.items():
                    file.execute(f"CREATE VIEW {quoted(name)} AS {query}")
        except sqlite3.OperationalError as error:  # the disk's word, which is not Python's OSError here
            raise OSError(str(error)) from error


def _write(file: sqlite3.Connection, name: str, rows: Rows) -> None:
    columns = ", ".join(f"{quoted(field.name)} {_TYPES.get(field.type, 'TEXT')}" for field in rows.schema)
    file.execute(f"CREATE TABLE {quoted(name)} ({columns})")
    marks = ", ".join("?" * len(rows.schema))
    for batch in passing(name, rows):
        for start in range(0, batch.num_rows, DRAWN_ROWS):
            cells = [_plain(column).to_pylist() for column in batch.slice(start, DRAWN_ROWS)]
            file.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", zip(*cells, strict=True))


def _plain(column: pa.Array) -> pa.Array:
    """Values that SQLite has a type for."""
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, MOMENT)
    return column.cast(pa.string()) if pa.types.is_date(column.type) else column
