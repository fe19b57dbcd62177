"""Contracted tables -> Parquet files and back. Rows keep the order they are given in.

zstd; doubles as BYTE_STREAM_SPLIT (33.5 bytes for a row of ten probabilities); a dictionary where a sample of the
column repeats itself; other integers as deltas. Row groups of about 64 MB of Arrow data; a file ends at 1 GiB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from evalframe.errors import ContractError, StoreCorrupt, StoreError
from evalframe.store import faults
from evalframe.store.files import Sink, reported
from evalframe.store.places import Place
from evalframe.store.refusals import command
from evalframe.store.seals import SealedFile

if TYPE_CHECKING:
    from evalframe.contracts import Contract

GROUP_BYTES = 64 << 20
GROUP_ROWS = range(1 << 14, 1 << 19)
FILE_BYTES = 1 << 30
_SAMPLE = 1 << 14
_REPEATS = 4  # a dictionary pays when a value is seen this often on average


class Encoding(NamedTuple):
    """How the leaf columns of one table are written, by their Parquet paths."""

    dictionary: list[str]
    others: dict[str, str]


def encoding(sample: pa.Table) -> Encoding:
    """What pays for a table that begins like `sample`."""
    dictionary, others = [], {}
    sample = sample.slice(0, _SAMPLE)
    for column in sample.schema:
        if pa.types.is_list(column.type):
            path, kind, values = f"{column.name}.list.element", column.type.value_type, None
        else:
            path, kind, values = column.name, column.type, sample.column(column.name)
        repeats = values is not None and not pa.types.is_map(kind) and _repeats(values)
        if pa.types.is_floating(kind) and not repeats:
            others[path] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_map(kind):
            dictionary += [f"{path}.key_value.key", f"{path}.key_value.value"]
        elif repeats and not pa.types.is_boolean(kind):
            dictionary.append(path)
        elif pa.types.is_int64(kind) or pa.types.is_int32(kind):
            others[path] = "DELTA_BINARY_PACKED"
    return Encoding(dictionary, others)


def _repeats(values: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    present = len(values) - values.null_count
    distinct: int = pc.count_distinct(values).as_py()
    return bool(present >= _REPEATS and _REPEATS * distinct <= present)


class Writer:
    """Writes one table below one stem, file after file; `files` are those it closed.

    `with Writer(...) as writer: writer.add(table)`. Leaving by an exception closes what is open.
    """

    def __init__(self, store: Place, table: str, stem: tuple[str, str], schema: pa.Schema) -> None:
        self.files: list[SealedFile] = []
        self.created: list[str] = []
        self._store, self._table, self._schema = store, table, schema
        self._folder, self._start = stem
        self._pending: list[pa.Table] = []
        self._waiting = 0
        self._group_rows = 0
        self._encoding: Encoding | None = None
        self._sink: Sink | None = None
        self._parquet: pq.ParquetWriter | None = None
        self._rows = 0

    def __enter__(self) -> Writer:
        return self

    def add(self, table: pa.Table) -> None:
        """Append rows; whole row groups are written as they fill. Text may come as dictionaries."""
        if len(table) == 0:
            return
        self._group_rows = self._group_rows or _rows_of_a_group(table.slice(0, _SAMPLE).cast(self._schema))
        self._pending.append(table)
        self._waiting += len(table)
        if self._waiting >= self._group_rows:
            self._write(self._waiting // self._group_rows * self._group_rows)

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            if error is None:
                self._rest()
        finally:
            self._abandon()

    def _rest(self) -> None:
        if self._waiting or not self.created:
            self._write(self._waiting)
        with reported(f"writing table {self._table}", self._store.shown(self._folder)):
            self._finish()

    def _write(self, count: int) -> None:
        """Write the first `count` pending rows, or no rows into a first file."""
        rows = pa.concat_tables(self._pending or [self._schema.empty_table()])
        size = max(self._group_rows, 1)
        with reported(f"writing table {self._table}", self._store.shown(self._folder)):
            for start in range(0, max(count, 1), size):
                if self._sink is not None and self._sink.size >= FILE_BYTES:
                    self._finish()
                group = rows.slice(start, min(size, count - start)).cast(self._schema)
                if self._parquet is None:
                    self._begin(group)
                if len(group):
                    self._parquet.write_table(group, row_group_size=size)  # type: ignore[union-attr]
                self._rows += len(group)
        self._waiting -= count
        self._pending = [rows.slice(count)] if self._waiting else []

    def _begin(self, sample: pa.Table) -> None:
        self._encoding = self._encoding or encoding(sample)
        path, self._sink = self._store.create(self._folder, self._start, ".parquet")
        self.created.append(path)
        faults.reach("part.created")
        self._rows = 0
        self._parquet = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            use_dictionary=self._encoding.dictionary or False,
            column_encoding=self._encoding.others or None,
            write_page_checksum=True,
        )

    def _finish(self) -> None:
        if self._parquet is None or self._sink is None:
            return
        self._parquet.close()
        self._sink.close()
        done = SealedFile(self._table, self.created[-1], self._rows, self._sink.size, self._sink.sha256)
        self.files.append(done)
        self._parquet = self._sink = None
        faults.reach("part.closed")

    def _abandon(self) -> None:
        """Close what an error left open."""
        if self._sink is not None:
            self._sink.abandon()
        if self._parquet is not None:
            self._parquet.close()  # its footer goes nowhere
        self._sink = self._parquet = None


def _rows_of_a_group(sample: pa.Table) -> int:
    per_row = max(int(sample.nbytes) // max(len(sample), 1), 1)
    return min(max(GROUP_BYTES // per_row, GROUP_ROWS.start), GROUP_ROWS.stop)


def conformed(contract: Contract, data: Any, ids: Mapping[str, str | None]) -> Iterator[pa.Table]:
    """`data` in the contract's columns, batch by batch where it is a stream, each row checked to carry `ids`.

    ids: column -> the one text that may stand in it. Null is accepted where the contract lets the column be null.
    """
    from evalframe.contracts import conform

    batches = data if isinstance(data, pa.RecordBatchReader) else [data]
    for batch in batches:
        table = conform(contract, batch)
        for column, wanted in ids.items():
            if column in table.column_names:
                _check_id(contract, table.column(column), column, wanted)
        yield table


def _check_id(contract: Contract, values: pa.ChunkedArray, column: str, wanted: str | None) -> None:
    found = [value for value in values.unique().to_pylist() if value not in (None, wanted)]
    if found:
        raise ContractError(
            f"rows of {contract.name} belong to something else",
            expected=f"{column} {wanted!r} in every row",
            found=", ".join(repr(value) for value in found[:3])
            + ("" if len(found) <= 3 else f" and {len(found) - 3} more"),
            hint=f"evalframe explain {contract.name}",
        )


def sha256(content: bytes) -> str:
    """64 hex over a file's content."""
    return hashlib.sha256(content).hexdigest()


def read(source: Path | bytes, schema: pa.Schema, root: Path | str, *, dictionaries: bool = False) -> pa.Table:
    """One file in `schema`, its pages checked against their checksums. A column that it lacks is null.

    dictionaries: leave text columns as dictionaries, a tenth of the memory where values repeat.
    Raises StoreCorrupt when the bytes are not what a writer wrote.
    """
    where = source if isinstance(source, Path) else root
    texts = [field.name for field in schema if pa.types.is_large_string(field.type)] if dictionaries else []
    opened = pa.BufferReader(source) if isinstance(source, bytes) else source
    with _sound(where, root), pq.ParquetFile(opened, page_checksum_verification=True, read_dictionary=texts) as file:
        held = _held(file, schema, where, root)
        # Threads cost more than they save on a file of a few pages.
        table = file.read(columns=sorted(held), use_threads=file.metadata.num_rows > _SAMPLE)
        return _in_schema(table, schema, texts)


def parts(path: Path, schema: pa.Schema, root: Path | str, holding: Mapping[str, int]) -> Iterator[pa.Table]:
    """What `read` gives, a row group at a time. holding: whole numbers that rows must have in columns of `schema`.

    Row groups that say that they have none of them are not read.
    """
    from evalframe.contracts.shards import groups_with, matching

    with _sound(path, root), pq.ParquetFile(path, page_checksum_verification=True) as file:
        held = _held(file, schema, path, root)
        for group in groups_with(file, holding):
            yield matching(_in_schema(file.read_row_group(group, columns=sorted(held)), schema), holding)


@contextmanager
def _sound(where: Path | str, root: Path | str) -> Iterator[None]:
    """What reading a damaged file raises, as StoreCorrupt."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as damage:
        if isinstance(damage, OSError) and damage.errno is not None:  # Arrow reports broken pages as OSError too
            with reported("reading", where):
                raise
        raise StoreCorrupt(
            "a sealed file cannot be read",
            expected="Parquet as it was written",
            found=str(damage).splitlines()[0][:200],
            where=str(where),
            hint=command("store verify", root),
        ) from damage


def _held(file: pq.ParquetFile, schema: pa.Schema, where: Path | str, root: Path | str) -> set[str]:
    """The columns of `schema` that the file has."""
    held = set(file.schema_arrow.names).intersection(schema.names)
    _check_lacking(schema, held, where, root)
    return held


def _in_schema(table: pa.Table, schema: pa.Schema, dictionaries: Collection[str] = ()) -> pa.Table:
    wanted = pa.schema([_DICTIONARY.with_name(f.name) if f.name in dictionaries else f for f in schema])
    held = set(table.column_names)
    columns = [_as(table.column(f.name), f.type) if f.name in held else pa.nulls(len(table), f.type) for f in wanted]
    return pa.table(columns, schema=wanted)


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == kind else column.cast(kind)


_DICTIONARY = pa.field("", pa.dictionary(pa.int32(), pa.string()))


def _check_lacking(schema: pa.Schema, held: set[str], where: Path | str, root: Path | str) -> None:
    lacking = [field.name for field in schema if field.name not in held and not field.nullable]
    if lacking:
        raise StoreError(
            "a file was sealed under another version of its contract",
            expected=f"column {', '.join(lacking)}",
            found="a file without it",
            where=str(where),
            hint=command("rescore --store", root),
        )
