"""One .duckdb file of tables with comments, macros and views. Views over Parquet paths would break elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from evalframe.engines.duckdb_file import ask_file, write_file
from evalframe.publish.describing import INFO, comments, views
from evalframe.publish.recomputed import MACROS
from evalframe.publish.star import Star
from evalframe.publish.targets import Outcome, other_content
from evalframe.store import faults, staging


@dataclass(frozen=True)
class Database:
    """A DuckDB file that any version from 1.0 on opens."""

    path: Path
    compares: ClassVar[bool] = True

    @property
    def shown(self) -> str:
        """How `--to` names it."""
        return str(self.path)

    def write(self, star: Star, *, force: bool) -> Outcome:
        """Write beside, then rename."""
        if self.path.exists():
            found = ask_file(self.path, f"SELECT value FROM {INFO} WHERE name = 'content_sha256'")
            if found == [(star.digest,)]:
                return "unchanged"
            if not found or not force:
                raise other_content(self.path.name, str(self.path), ours=bool(found))
        with staging.made(self.path, option="--to") as new:
            write_file(new, _counted({**star.tables, INFO: info_table(star)}), _statements(star))
        return "written"


def _counted(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, pa.Table]]:
    for name, table in tables.items():
        faults.reach("output.member")
        yield name, table


def info_table(star: Star) -> pa.Table:
    """`export_info`: what the export says of itself, by name."""
    info = star.info()
    return pa.table({"name": pa.array(info, pa.string()), "value": pa.array(info.values(), pa.string())})


def _statements(star: Star) -> list[str]:
    macros = [f"CREATE MACRO {head} AS {body}" for head, body in MACROS.values()]
    return [*comments(star), *views(), *macros]
