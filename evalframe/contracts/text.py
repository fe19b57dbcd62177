"""Cells written as text or JSON -> columns typed by the contract. Nothing is guessed: `001` as text stays `001`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import physical
from evalframe.contracts.model import Column, Contract

# What a cell of each type looks like; the casts that follow accept more (hexadecimal, 1 for true), which is guessing.
_SPELLING = {
    "int64": r"^-?[0-9]{1,19}$",
    "float64": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$",
    "bool": r"^(?i:true|false)$",
    "decimal128(38,15)": r"^-?[0-9]{1,23}(\.[0-9]+)?$",
    "timestamp[us, UTC]": r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})$",
}
# Integers are read wide, so that one too large for its column is told as such.
_READ_AS = {"int16": "int64", "int32": "int64"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A table typed by a contract, and the cells that could not be: null in `table`, as written in `unreadable`.

    Columns that the contract does not declare stay text. Integers are int64 whatever their column's width.
    """

    table: pa.Table
    unreadable: Mapping[str, pa.ChunkedArray]


def parse_cells(contract: Contract, cells: pa.Table) -> Parsed:
    """Text cells, null where empty; lists and maps are written as JSON."""
    return _parsed(contract, cells.column_names, cells.columns, _from_text)


def parse_records(contract: Contract, records: Sequence[Mapping[str, Any]]) -> Parsed:
    """JSON objects; a key that an object lacks is null there, a column that no object has is missing."""
    names = list(dict.fromkeys(name for record in records for name in record)) if records else list(contract.names)
    columns = [[record.get(name) for record in records] for name in names]
    return _parsed(contract, names, columns, _from_json)


def _parsed(
    contract: Contract,
    names: Sequence[str],
    columns: Iterable[Any],
    parse: Callable[[Any, Column | None], tuple[pa.ChunkedArray, pa.ChunkedArray | None]],
) -> Parsed:
    declared = {c.name: c for c in contract.columns}
    arrays, unreadable = [], {}
    for name, column in zip(names, columns, strict=True):
        typed, cells = parse(column, declared.get(name))
        arrays.append(typed)
        if cells is not None:
            unreadable[name] = cells
    return Parsed(pa.Table.from_arrays(arrays, names=list(names)), unreadable)


def _from_text(cells: pa.ChunkedArray, column: Column | None) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    if column is None or column.physical == "utf8":
        return cells, None
    kind = _READ_AS.get(column.physical, column.physical)
    if kind in _SPELLING:
        plausible = pc.match_substring_regex(cells, _SPELLING[kind])
        kept = pc.if_else(plausible, cells, pa.scalar(None, cells.type))
        typed = _cast_what_fits(pc.utf8_lower(kept) if kind == "bool" else kept, physical.arrow_type(kind))
    else:
        typed = _chunked((_json_cell(cell, kind) for cell in cells.to_pylist()), kind)
    return typed, (cells if typed.null_count > cells.null_count else None)


def _cast_what_fits(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Each cell cast, null where it cannot be: halves until the cells that do not fit stand alone."""
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:
        if len(cells) == 1:
            return pa.chunked_array([pa.nulls(1, kind)])
        half = len(cells) // 2
        parts = [_cast_what_fits(cells.slice(0, half), kind), _cast_what_fits(cells.slice(half), kind)]
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=kind)


def _json_cell(cell: str | None, kind: str) -> Any:
    if cell is None:
        return None
    try:
        return value_of(parse_json(cell), kind)
    except (ValueError, RecursionError):
        return None


def _from_json(values: list[Any], column: Column | None) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    if column is None:
        return _chunked((_spelled(v) for v in values), "utf8"), None
    kind = _READ_AS.get(column.physical, column.physical)
    typed: list[Any] = []
    unreadable = False
    for value in values:
        try:
            typed.append(value_of(value, kind))
        except ValueError:
            typed.append(None)
            unreadable = True
    return _chunked(typed, kind), (_chunked((_spelled(v) for v in values), "utf8") if unreadable else None)


def _chunked(values: Iterable[Any], kind: str) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(values), type=physical.arrow_type(kind))])


def _spelled(value: Any) -> str | None:
    """A JSON value as it would be written: what a report shows of a cell that could not be read."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def parse_json(text: str) -> Any:
    """One JSON value. ValueError for NaN and Infinity, which JSON does not know, and for a key written twice."""
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is written twice")
    return made


def value_of(value: Any, kind: str) -> Any:
    """A JSON value as the Python value of a physical type; ValueError where it is of another type. Null is null."""
    if value is None:
        return None
    inner = physical.element(kind)
    if inner:
        return [value_of(v, inner) for v in _only(value, list)]
    return _VALUES[kind](value)


def _only(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:  # bool is an int to isinstance
        raise ValueError(f"{value!r} is of another type")
    return value


def _text(value: Any) -> str:
    text: str = _only(value, str)
    text.encode("utf-8")  # half a surrogate pair, which JSON can spell, raises a ValueError here
    return text


def _integer(value: Any) -> int:
    number: int = _only(value, int)
    if not -(2**63) <= number < 2**63:
        raise ValueError("wider than 64 bits")
    return number


def _number(value: Any) -> float:
    number = _only(value, int, float)
    if isinstance(number, int) and abs(number) > 2**53:
        raise ValueError("no double holds this integer exactly")
    return float(number)


def _decimal(value: Any) -> Decimal:
    try:
        number = Decimal(str(_only(value, int, float, str)))
        scaled = number.quantize(Decimal("1e-15"))
    except InvalidOperation as error:
        raise ValueError("not a decimal of 38 digits") from error
    if scaled != number or not math.isfinite(number):
        raise ValueError("more than 15 decimals")
    return scaled


def _time(value: Any) -> datetime:
    moment = datetime.fromisoformat(_only(value, str))
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment.astimezone(UTC)


def _map(value: Any) -> list[tuple[str, str | None]]:
    return [(_text(k), None if v is None else _text(v)) for k, v in _only(value, dict).items()]


_VALUES: dict[str, Callable[[Any], Any]] = {
    "utf8": _text,
    "int64": _integer,
    "float64": _number,
    "bool": lambda value: _only(value, bool),
    "decimal128(38,15)": _decimal,
    "timestamp[us, UTC]": _time,
    "map<utf8,utf8>": _map,
}
