"""One .duckdb file of tables with comments, macros and views. Views over Parquet paths would break elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalframe.engines.duckdb_file import ask_file, write_file
from evalframe.publish.describing import INFO, comments, views
from evalframe.publish.recomputed import MACROS
from evalframe.publish.rows import reader
from evalframe.publish.single_file import SingleFile, one_by_one
from evalframe.publish.star import Star


@dataclass(frozen=True)
class Database(SingleFile):
    """A DuckDB file that any version from 1.0 on opens."""

    def _held(self) -> str | None:
        found = ask_file(self.path, f"SELECT value FROM {INFO} WHERE name = 'content_sha256'")
        return str(found[0][0]) if found else None

    def _fill(self, new: Path, star: Star) -> None:
        macros = [f"CREATE MACRO {head} AS {body}" for head, body in MACROS.values()]
        tables = ((name, reader(name, rows)) for name, rows in one_by_one(star))
        write_file(new, tables, [*comments(star), *views(), *macros])
