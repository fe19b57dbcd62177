"""Cells written as text or JSON -> columns typed by the contract. Nothing is guessed: `001` as text stays `001`.

A column with a cell that cannot be read stays as it was written, and is marked: `validate` then names the very cells.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import physical
from evalframe.contracts.json_values import DECIMAL, TIMESTAMP, parse_json, value_of
from evalframe.contracts.model import Column

_UNREAD = b"evalframe.unread"

# What a cell of each type looks like. The casts that follow accept more (hexadecimal, 1 for true): that is guessing.
_SPELLING = {
    "int64": r"^-?[0-9]{1,19}$",
    "float64": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$",
    "bool": r"^(?i:true|false)$",
    "decimal128(38,15)": DECIMAL,
    "timestamp[us, UTC]": TIMESTAMP,
}
# Integers are read wide, so that one too large for its column is told as such.
_READ_AS = {"int16": "int64", "int32": "int64"}


def from_text(name: str, cells: pa.ChunkedArray, column: Column | None) -> tuple[pa.Field, pa.ChunkedArray]:
    """Large_string cells, null where nothing is written; lists and maps are JSON. Undeclared columns stay text."""
    if column is None:
        return pa.field(name, cells.type), cells
    typed = _typed_text(cells, _kind(column))
    if typed.null_count == cells.null_count:
        return pa.field(name, typed.type), typed
    return _marked(name, cells, "text")


def from_values(name: str, values: Sequence[Any], column: Column | None) -> tuple[pa.Field, pa.ChunkedArray]:
    """Values as a JSON parser yields them; undeclared columns become the JSON they were."""
    if column is not None:
        kind = _kind(column)
        try:
            typed = pa.array([value_of(v, kind) for v in values], type=physical.arrow_type(kind))
            return pa.field(name, typed.type), pa.chunked_array([typed])
        except ValueError:
            pass
    spelled = [None if v is None else json.dumps(v) for v in values]
    return _marked(name, pa.chunked_array([pa.array(spelled, type=pa.large_string())]), "json")


def read_again(field: pa.Field, cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray | None:
    """A marked column typed, with null for each cell that cannot be read; None for a column that is not marked."""
    spelling = (field.metadata or {}).get(_UNREAD)
    if spelling is None:
        return None
    return _typed_text(cells, _kind(column)) if spelling == b"text" else _typed_json(cells, _kind(column))


def _marked(name: str, cells: pa.ChunkedArray, spelling: str) -> tuple[pa.Field, pa.ChunkedArray]:
    return pa.field(name, cells.type, metadata={_UNREAD: spelling}), cells


def _kind(column: Column) -> str:
    return _READ_AS.get(column.physical, column.physical)


def _typed_text(cells: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    if kind == "utf8":
        return cells
    if kind not in _SPELLING:
        return _typed_json(cells, kind)
    plausible = pc.match_substring_regex(cells, _SPELLING[kind])
    kept = pc.if_else(plausible, cells, pa.scalar(None, cells.type))
    return _cast_what_fits(pc.utf8_lower(kept) if kind == "bool" else kept, physical.arrow_type(kind))


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


def _typed_json(cells: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    values = [_json_cell(cell, kind) for cell in cells.to_pylist()]
    return pa.chunked_array([pa.array(values, type=physical.arrow_type(kind))])


def _json_cell(cell: str | None, kind: str) -> Any:
    try:
        return None if cell is None else value_of(parse_json(cell), kind)
    except ValueError:
        return None
