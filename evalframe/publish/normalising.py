"""One normaliser in front of every export: only types that every reader takes for what they are.

int16/32/64, float64, bool, string, date32 and timestamp[us, UTC] pass. Unsigned 64-bit integers come out of ADBC as
-1, nanoseconds are cut, one NaN makes an average null, a dictionary of integers is read as its codes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts.writing import plain

UTC = pa.timestamp("us", "UTC")
NUL, SHOWN_NUL = "\x00", "\u2400"
"""PostgreSQL text cannot hold NUL: the sign for it stands in its place, in every format alike."""

SAFE = frozenset({pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), UTC})


def bi_safe(table: pa.Table) -> pa.Table:
    """The same rows in types of `SAFE`.

    NaN and infinities become null, lists and maps JSON text, bytes hex text, decimals float64, durations microseconds,
    times without a zone UTC. Raises pyarrow.ArrowInvalid for an integer beyond int64 and for finer times than a
    microsecond that would be cut.
    """
    columns = [_column(pa.chunked_array(column.chunks, column.type)) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _column(_chunks(column, lambda chunk: chunk.storage, kind.storage_type))
    if pa.types.is_dictionary(kind):
        return _column(column.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return _column(_chunks(column, pc.run_end_decode, kind.value_type))
    if _is_text(kind):
        return pc.replace_substring(column.cast(pa.string()), NUL, SHOWN_NUL)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # By way of text: Arrow's own cast of a decimal is not rounded correctly (1.5 became 1.5000000000000002).
        exact = column.cast(pa.string()) if pa.types.is_decimal(kind) else column
        numbers = exact.cast(pa.float64())
        return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))
    if pa.types.is_integer(kind):
        return column.cast(_integer(kind))
    if pa.types.is_temporal(kind):
        return _temporal(column)
    if pa.types.is_boolean(kind):
        return column
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    return _spelled(column)


def _chunks(column: pa.ChunkedArray, each: Callable[[Any], Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([each(chunk) for chunk in column.chunks], kind)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _integer(kind: pa.DataType) -> pa.DataType:
    """The narrowest signed type of `SAFE` that holds the type; uint64 goes into int64 value by value or is refused."""
    if kind in (pa.int8(), pa.uint8(), pa.int16()):
        return pa.int16()
    return pa.int32() if kind in (pa.uint16(), pa.int32()) else pa.int64()


def _temporal(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_timestamp(kind):
        moments = column if kind.tz else pc.assume_timezone(column, "UTC")
        return moments.cast(UTC)
    if pa.types.is_date(kind):
        return column.cast(pa.date32())
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us")).cast(pa.int64())
    return column.cast(pa.string())  # a time of day


def _spelled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bytes as hex, lists, maps and structs as JSON with sorted keys."""
    kind = column.type
    values = column.to_pylist()
    if pa.types.is_nested(kind):
        cells = [None if v is None else _json(plain(v, kind)) for v in values]
    else:
        cells = [None if v is None else bytes(v).hex() for v in values]
    return pa.chunked_array([pa.array(cells, pa.string())])


def _json(value: Any) -> str:
    # NUL is escaped by JSON itself; a number that is none has no spelling and becomes null.
    return json.dumps(_finite(value), ensure_ascii=False, sort_keys=True, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(name): _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
