"""The values of a column as Python and JSON can hold them, led by the column's type rather than by what it holds."""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from evalframe.errors import UsageError

_types = pa.types


def listed(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python objects, nanoseconds as text. UsageError for a time outside the years 1 to 9999."""
    try:
        values: list[Any] = column.to_pylist()
    except OverflowError as error:
        raise UsageError(
            "the answer holds a time that cannot be shown",
            expected="times in the years 1 to 9999",
            found=str(column.type),
            where="SELECT",
            hint="CAST(... AS VARCHAR)  # in the query, around what is of this type",
        ) from error
    except ValueError:
        values = column.cast(_times_as_text(column.type)).to_pylist()
    return values


def jsonable(column: pa.ChunkedArray) -> list[Any]:
    """The values as JSON holds them: a non-finite number is null, a map is an object also when it is empty, a decimal
    the number nearest to it, times are ISO 8601 text and bytes base64."""
    values = listed(column)
    convert = _converter(column.type)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """What makes JSON of a value that is not null; None where the value is what JSON holds."""
    if _types.is_boolean(kind) or _types.is_integer(kind) or _types.is_string(kind) or _types.is_large_string(kind):
        return None
    if _types.is_floating(kind):
        return lambda value: value if value - value == 0 else None
    if _types.is_decimal(kind):
        return int if kind.scale == 0 else float
    if _types.is_map(kind):
        of = _or_null(_converter(kind.item_type))
        return lambda pairs: {str(key): of(value) for key, value in pairs}
    if _types.is_struct(kind):
        fields = {kind.field(i).name: _or_null(_converter(kind.field(i).type)) for i in range(kind.num_fields)}
        return lambda named: {name: of(named[name]) for name, of in fields.items()}
    if _types.is_list(kind) or _types.is_large_list(kind) or _types.is_fixed_size_list(kind):
        of = _or_null(_converter(kind.value_type))
        return lambda items: [of(item) for item in items]
    return _scalar


def _or_null(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return lambda value: value if value is None or convert is None else convert(value)


def _scalar(value: Any) -> Any:
    """A value of a type that does not say what it holds (a union), or that only a text can spell."""
    if isinstance(value, pa.MonthDayNano):
        return duration(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value if isinstance(value, bool | int | str) else str(value)


def duration(value: pa.MonthDayNano) -> str:
    """An interval as ISO 8601 spells it: `P1M2DT3.5S`; its parts may be of either sign."""
    seconds = decimal.Decimal(value.nanoseconds).scaleb(-9).normalize()
    return f"P{value.months}M{value.days}DT{seconds:f}S"


def _times_as_text(kind: pa.DataType) -> pa.DataType:
    """The type with text in place of every time in it, lists and structures included."""
    if _types.is_temporal(kind):
        return pa.large_string()
    if _types.is_map(kind):
        return pa.map_(_times_as_text(kind.key_type), _times_as_text(kind.item_type))
    if _types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return pa.struct([pa.field(field.name, _times_as_text(field.type)) for field in fields])
    if _types.is_list(kind) or _types.is_large_list(kind) or _types.is_fixed_size_list(kind):
        return pa.large_list(_times_as_text(kind.value_type))
    return kind
