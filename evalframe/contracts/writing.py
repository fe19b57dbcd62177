"""A table as the bytes of a file that `read_table` reads back unchanged."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa


def table_bytes(table: pa.Table, suffix: str) -> bytes:
    """`table` as a `.parquet`, `.csv`, `.ndjson` (or `.jsonl`), `.arrow` (file) or `.arrows` (stream) file.

    Text formats spell times as ISO 8601 in UTC, decimals in full, lists and maps as JSON. KeyError for another suffix;
    ValueError for NaN or infinities in NDJSON, which has no word for them.
    """
    return _WRITERS[suffix](table)


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _csv(table: pa.Table) -> bytes:
    import pyarrow.csv as pa_csv

    file = io.BytesIO()
    cells = pa.table({name: _cells(table.column(name)) for name in table.column_names})
    pa_csv.write_csv(cells, file)  # quotes empty text and leaves null bare, which is how they are told apart
    return file.getvalue()


def _cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_nested(column.type):
        return column.cast(pa.large_string())
    values = (plain(v, column.type) for v in column.to_pylist())
    cells = [None if v is None else json.dumps(v, ensure_ascii=False, allow_nan=False) for v in values]
    return pa.chunked_array([pa.array(cells, type=pa.large_string())])


def _ndjson(table: pa.Table) -> bytes:
    types = {field.name: field.type for field in table.schema}
    rows = ({name: plain(v, types[name]) for name, v in row.items()} for row in table.to_pylist())
    return b"".join(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n" for row in rows)


def plain(value: Any, kind: pa.DataType) -> Any:
    """A value as JSON can hold it: times and decimals as text, maps as objects."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    return dict(value) if pa.types.is_map(kind) and value is not None else value


def _ipc(opened: Callable[..., Any]) -> Callable[[pa.Table], bytes]:
    def write(table: pa.Table) -> bytes:
        file = io.BytesIO()
        with opened(file, table.schema) as writer:
            writer.write_table(table)
        return file.getvalue()

    return write


_WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".ndjson": _ndjson,
    ".jsonl": _ndjson,
    ".arrow": _ipc(pa.ipc.new_file),
    ".arrows": _ipc(pa.ipc.new_stream),
}
