"""Tables that need not fit into memory: rows in Parquet files, and a place that takes them as a source reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.errors import EngineError
from evalframe.identity import BLOCK, ITEM_COLUMNS, digest_of_blocks

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS = 1 << 16
"""Rows of a batch."""

_GROUP = 1 << 24
"""Bytes of rows that a file takes at a time."""

_LITTLE = 1 << 25
"""Bytes of room once rows went into files."""


class Shards:
    """One table in Parquet files of equal columns, read as it is needed. Rows have the order of the files."""

    def __init__(self, schema: pa.Schema, paths: Sequence[Path]) -> None:
        self.schema = schema
        self.paths = tuple(paths)
        self._rows: int | None = None

    def __len__(self) -> int:
        return self.num_rows

    @property
    def num_rows(self) -> int:
        """Rows of all files, from their footers."""
        import pyarrow.parquet as pq

        if self._rows is None:
            self._rows = sum(pq.read_metadata(path).num_rows for path in self.paths)
        return self._rows

    @property
    def column_names(self) -> list[str]:
        """As of a `pa.Table`."""
        names: list[str] = self.schema.names
        return names

    def batches(
        self, columns: Sequence[str] | None = None, where: Mapping[str, int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows, or these columns of them, a batch at a time; pages are checked against their checksums.

        where: whole numbers in columns that are read; row groups without them are passed over.
        """
        import pyarrow.parquet as pq

        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        for path in self.paths:
            # Buffered ahead, every row group that was read would stay in memory until the last one.
            with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
                groups = groups_with(file, where or {})
                for batch in file.iter_batches(ROWS, groups, columns=schema.names):
                    yield matching(batch.select(schema.names).cast(schema), where or {})

    def reader(self) -> pa.RecordBatchReader:
        """The rows as a stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def table(self, columns: Sequence[str] | None = None, where: Mapping[str, int] | None = None) -> pa.Table:
        """The rows, or these columns of them, in memory; where: see `batches`."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns, where), schema)


Rows: TypeAlias = "pa.Table | Shards"
"""A table in memory or in files: `len`, `column_names` and `schema` are those of both."""

ITEMS = pa.schema({name: pa.large_string() for name in ITEM_COLUMNS})
"""Columns of the rows that name an evaluation set."""

Sort: TypeAlias = "Callable[[Shards, Sequence[str]], Generator[pa.RecordBatch, None, None]]"
"""Gives rows in ascending order of columns, text by its UTF-8 bytes, nulls last; however many there are."""


class Spool:
    """Takes the rows of tables as they are read: in memory up to `room` bytes together, in files of `folder` beyond.

    A source names its tables as it likes, `add`s to them, `take`s each once, and may `discard` what it has read.
    Without a folder all stay in memory. Once rows have outgrown the room, what follows has little: it is as large.
    """

    def __init__(self, folder: Path | None = None, sort: Sort | None = None, room: int = 1 << 28) -> None:
        self._folder, self._sort, self._room = folder, sort, room
        self._held: dict[str, list[pa.Table]] = {}
        self._files: dict[str, _File] = {}
        self._sorts: list[Generator[pa.RecordBatch, None, None]] = []
        self._bytes = 0
        self._made = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        for sort in self._sorts:
            sort.close()  # one that was left half way, as where a row was refused, holds an engine
        for file in self._files.values():
            file.abandon()

    def add(self, name: str, rows: pa.Table | pa.RecordBatch) -> None:
        """Append rows to table `name`; the first ones decide its columns."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        if name in self._files:
            self._files[name].add(table)
            return
        self._held.setdefault(name, []).append(table)
        self._bytes += table.nbytes
        if self._bytes > self._room and self._folder is not None:
            self._room = min(self._room, _LITTLE)
            for held in list(self._held):
                self._write(held)

    def allocate(self, size: int) -> NDArray[np.uint8]:
        """Room for so many bytes: memory, or a file that is mapped where they are more than fit into the room."""
        if self._folder is None or size <= self._room:
            return np.empty(size, np.uint8)
        path = self._path(".bytes")
        with _told(path), path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                # Taken at once: where a mapped file finds no room later, the system kills the process.
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        return np.memmap(path, np.uint8, "r+", shape=(size,))

    @property
    def room(self) -> int:
        """Bytes of rows that may be held in memory now; without a folder, all."""
        return self._room if self._folder is not None else sys.maxsize

    def schema(self, name: str) -> pa.Schema | None:
        """The columns that table `name` was given; None where nothing was added."""
        if name in self._files:
            return self._files[name].schema
        return self._held[name][0].schema if name in self._held else None

    def take(self, name: str, schema: pa.Schema) -> Rows:
        """Table `name` in `schema`, of which nothing is kept here; without rows where nothing was added."""
        if name in self._files:
            file = self._files.pop(name)
            file.close()
            return Shards(schema, [file.path])
        tables = self._held.pop(name, [])
        return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])

    def ordered(self, rows: Rows, by: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in ascending order of columns `by`, text by its UTF-8 bytes, nulls last."""
        if isinstance(rows, Shards):
            assert self._sort is not None, "files are only written where they can be sorted"
            self._sorts.append(self._sort(rows, by))
            for batch in self._sorts[-1]:
                yield batch.cast(rows.schema)
        else:
            yield from rows.sort_by([(name, "ascending") for name in by]).to_batches(ROWS)

    def discard(self, rows: Rows) -> None:
        """Give back the place of rows that were taken and are not read again."""
        if isinstance(rows, Shards):
            for path in rows.paths:
                path.unlink()
        else:
            self._bytes -= rows.nbytes

    def digest(self, items: Rows) -> tuple[str, bool]:
        """`data_digest` of rows with the columns ITEM_COLUMNS, and whether an item id comes twice."""
        repeats = Repeats(ITEM_COLUMNS[0])
        return digest_of_blocks(blocks(repeats.noticed(self.ordered(items, ITEM_COLUMNS)), BLOCK)), repeats.any

    def _path(self, suffix: str) -> Path:
        assert self._folder is not None
        self._made += 1
        return self._folder / f"{self._made}{suffix}"

    def _write(self, name: str) -> None:
        tables = self._held.pop(name)
        self._bytes -= sum(table.nbytes for table in tables)
        self._files[name] = _File(self._path(".parquet"), tables[0].schema)
        for table in tables:
            self._files[name].add(table)


class _File:
    """A Parquet file being written, a row group whenever enough rows are there."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self.path = path
        self.schema = schema
        with _told(path):
            self._writer: pq.ParquetWriter = pq.ParquetWriter(path, schema, compression="lz4", write_page_checksum=True)
        self._waiting: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        self._waiting.append(table.cast(self.schema))
        if sum(part.nbytes for part in self._waiting) >= _GROUP:
            self._flush()

    def abandon(self) -> None:
        """Close what nobody will read."""
        with suppress(OSError):
            self._writer.close()

    def close(self) -> None:
        self._flush()
        with _told(self.path):
            self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            with _told(self.path):
                self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting = []


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise EngineError(
            "what does not fit into memory cannot be kept in a temporary file",
            expected="a folder for temporary files with room",
            found=failure.strerror or str(failure),
            where=str(path.parent),
            hint="export TMPDIR=DIR  # a folder with room, then the same command again",
        ) from None


def blocks(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The rows in tables of exactly `rows`, the last one shorter."""
    waiting: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        waiting.append(batch)
        n += len(batch)
        if n >= rows:
            table = pa.Table.from_batches(waiting)
            whole = n // rows * rows
            for start in range(0, whole, rows):
                yield table.slice(start, rows)
            waiting, n = table.slice(whole).to_batches(), n - whole
    if n:
        yield pa.Table.from_batches(waiting)


class Repeats:
    """Whether a value of a column comes twice in rows that are sorted by it; `any` is known when all were read."""

    def __init__(self, column: str) -> None:
        self._column = column
        self.any = False

    def noticed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, unchanged."""
        import pyarrow.compute as pc

        last: pa.Array = None
        for batch in batches:
            values = batch.column(self._column)
            if last is not None:
                values = pa.concat_arrays([last, values])
            self.any = self.any or bool(pc.any(pc.equal(values[1:], values[:-1])).as_py())
            last = values[-1:] if len(values) else last
            yield batch


def groups_with(file: pq.ParquetFile, where: Mapping[str, int]) -> list[int]:
    """Row groups that may hold rows with these whole numbers in their columns: what is smallest and largest says so."""
    places = {file.metadata.schema.column(place).path: place for place in range(file.metadata.num_columns)}

    def may_hold(group: int, name: str, value: int) -> bool:
        found = file.metadata.row_group(group).column(places[name]).statistics
        return found is None or not found.has_min_max or found.min <= value <= found.max

    groups = range(file.metadata.num_row_groups)
    return [group for group in groups if all(may_hold(group, name, value) for name, value in where.items())]


def matching(rows: Any, where: Mapping[str, int]) -> Any:
    """The rows of a table or batch with these whole numbers in their columns."""
    import pyarrow.compute as pc

    for name, value in where.items():
        rows = rows.filter(pc.equal(rows.column(name), pa.scalar(value, rows.schema.field(name).type)))
    return rows


def batches_of(rows: Rows, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a table, a batch at a time."""
    yield from rows.batches(columns) if isinstance(rows, Shards) else rows.select(list(columns)).to_batches(ROWS)


def holding(rows: Rows, where: Mapping[str, int], columns: Sequence[str]) -> pa.Table:
    """Columns of the rows with these whole numbers in some of them, in memory."""
    if isinstance(rows, Shards):
        return rows.table(columns, where)
    return matching(rows.select(list(columns)), where)


def in_memory(tables: Mapping[str, Rows]) -> dict[str, pa.Table]:
    """Those of the tables that are in memory."""
    return {name: table for name, table in tables.items() if not isinstance(table, Shards)}


def whole(rows: Rows) -> pa.Table:
    """The table in memory, wherever it is: for those that are small."""
    return rows.table() if isinstance(rows, Shards) else rows
