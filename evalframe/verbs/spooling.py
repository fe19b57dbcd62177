"""Where sources put rows that may be too many for memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalframe.contracts.shards import Shards, Spool
from evalframe.engines.choosing import chosen
from evalframe.engines.duckdb import DuckDB, in_order
from evalframe.engines.limits import memory_share
from evalframe.engines.spilling import SpillFolder

if TYPE_CHECKING:
    import pyarrow as pa

ROOM = 1 << 28
"""Bytes of rows that a source may hold in memory before it writes them to files."""


@contextmanager
def spooled(room: int | None = None) -> Iterator[Spool]:
    """A spool whose files live as long as the block, in a folder for temporary files. room: bytes; default ROOM."""
    folder = SpillFolder()
    try:
        with Spool(folder.path, _sorted, ROOM if room is None else room) as spool:
            yield spool
    finally:
        folder.remove()


def _sorted(rows: Shards, by: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
    # Half of what an engine may take: a source holds rows of its own beside it.
    with DuckDB(memory_share(chosen().memory_limit, 2)) as engine:
        engine.bind("rows", rows.reader())
        yield from engine.stream(f'SELECT * FROM "rows"{in_order(by, nulls="LAST")}', "a sorted table")
