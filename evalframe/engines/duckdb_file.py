"""One DuckDB file of tables, in the storage of DuckDB 1.0, which every later version and DuckDB-WASM read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from evalframe.engines.choosing import chosen
from evalframe.engines.limits import modest
from evalframe.relations.plan import literal, quoted

if TYPE_CHECKING:
    import pyarrow as pa

STORAGE_VERSION = "v1.0.0"


def write_file(path: Path, tables: Iterable[tuple[str, pa.RecordBatchReader]], statements: Sequence[str]) -> None:
    """Write `tables` by name and then `statements` (comments, views, macros) into a new file at `path`.

    The rows keep their order, and are written as they come. Raises OSError when the disk does, duckdb.Error for a
    statement that does not run; the file is then of no use.
    """
    try:
        with duckdb.connect(":memory:") as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"SET memory_limit = {literal(modest(chosen().memory_limit))}")
            connection.execute(f"SET temp_directory = {literal(str(path.with_suffix('.spill')))}")
            connection.execute("SET python_enable_replacements = false")
            connection.execute(f"ATTACH {literal(str(path))} AS exported (STORAGE_VERSION '{STORAGE_VERSION}')")
            connection.execute("USE exported")
            for name, rows in tables:
                connection.register("incoming rows", rows)
                connection.execute(f'CREATE TABLE {quoted(name)} AS SELECT * FROM "incoming rows"')
                connection.unregister("incoming rows")
            for statement in statements:
                connection.execute(statement)
            connection.execute("USE memory")
            connection.execute("DETACH exported")
    except (duckdb.IOException, duckdb.FatalException) as error:
        raise OSError(" ".join(str(error).split())) from error


def ask_file(path: Path, query: str) -> list[tuple[Any, ...]] | None:
    """The rows of one query over a DuckDB file; None where it is no such file or has not what is asked for."""
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute(query).fetchall()
    except duckdb.Error:
        return None
