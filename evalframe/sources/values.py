"""Columns as they come -> what a table may hold: text in one normal form, finite times, plain truth values.

`ids`, `times` and `truths` take one Arrow column, the name it has for the user and the place it stands in, and raise
ContractError naming the first row (from 0) that cannot be meant. start: the row of the file that the column begins at.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.errors import ContractError

_EXACT = 2**53  # beyond this, float64 skips integers


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this Arrow type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def normalised(column: pa.Array) -> pa.Array:
    """Text in Unicode normal form C, as large_string: two spellings of one name are one name."""
    return pc.utf8_normalize(column.cast(pa.large_string()), form="NFC")


def first(rows: NDArray[np.bool_]) -> int | None:
    """The first row that is true."""
    return int(rows.argmax()) if rows.any() else None


def shown(value: Any, limit: int = 80) -> str:
    """`value` as a message shows it."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def repeated(text: str, n: int) -> pa.Array:
    """One text in `n` rows."""
    return pa.repeat(pa.scalar(text, pa.large_string()), n)


def ids(column: pa.Array, name: str, where: str, start: int = 0) -> pa.Array:
    """Names of people or things as text: text normalised, integers as their decimal digits, none missing or empty."""
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        raise ContractError(
            f"{name} holds no names",
            expected="text or integers",
            found=str(column.type),
            where=where,
            hint=f"{name} = {name}.astype(str)",
        )
    text = normalised(column.cast(pa.large_string()))
    row = first(np.asarray(pc.fill_null(pc.equal(text, ""), True)))
    if row is not None:
        raise _refuse(
            f"{name} is missing in a row", "a name in every row", column, row, start, where, f"fill in {name}"
        )
    return text


def times(column: pa.Array, name: str, where: str, start: int = 0) -> pa.Array:
    """Times as float64, all finite. Text is read as decimal numbers; integers must fit a double exactly."""
    fill = f"give every window its {name}, or leave the column out"
    row = first(np.asarray(column.is_null()))
    if row is not None:
        wanted = "a number in every row, or none at all"
        raise _refuse(f"{name} is missing in a row", wanted, column, row, start, where, fill)
    if is_text(column.type):
        numbers = _numbers(column)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = column.cast(pa.float64(), safe=False)
    else:
        raise ContractError(
            f"{name} is no number",
            expected="seconds or ordinals, as integers or floats",
            found=str(column.type),
            where=where,
            hint=f"{name} = ({name} - {name}.min()) / numpy.timedelta64(1, 's')  # if it is a date",
        )
    values = numbers.to_numpy(zero_copy_only=False)
    row = first(~np.isfinite(values))
    if row is not None:
        raise _refuse(f"{name} is not finite in a row", "a finite number", column, row, start, where, fill)
    row = first(np.abs(values) >= _EXACT) if pa.types.is_integer(column.type) else None
    if row is not None:
        raise _refuse(
            f"{name} is an integer that no double holds",
            f"less than 2^53 = {_EXACT}",
            column,
            row,
            start,
            where,
            f"{name} = {name} - {name}.min()  # only the order within a participant is used",
        )
    return numbers


def truths(column: pa.Array, name: str, where: str, start: int = 0) -> pa.Array:
    """Truth values: booleans, or the text true and false. None may be missing."""
    lower = pc.utf8_lower(column) if is_text(column.type) else column
    if is_text(column.type):
        known = pc.is_in(lower, pa.array(["true", "false"], lower.type))
    elif pa.types.is_boolean(column.type):
        known = column.is_valid()
    else:
        raise ContractError(
            f"{name} holds no truth values",
            expected="booleans (in CSV: true and false)",
            found=str(column.type),
            where=where,
            hint=f"{name} = {name}.astype(bool)",
        )
    row = first(~np.asarray(known))
    if row is not None:
        advice = f"write true or false into {name}"
        raise _refuse(f"{name} is unclear in a row", "true or false", column, row, start, where, advice)
    return pc.equal(lower, "true") if is_text(column.type) else column


def _numbers(column: pa.Array) -> pa.Array:
    """Text as float64; what is no number comes out as NaN, which the caller refuses with its row."""
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return pa.array([_number(cell) for cell in column.to_pylist()], pa.float64())


def _number(cell: str) -> float:
    try:
        return float(pa.scalar(cell).cast(pa.float64()).as_py())
    except pa.ArrowInvalid:
        return math.nan


def _refuse(what: str, expected: str, column: pa.Array, row: int, start: int, where: str, hint: str) -> ContractError:
    found = "nothing" if column[row].as_py() is None else shown(column[row].as_py())
    return ContractError(
        what, expected=expected, found=f"{found} in row {start + row} (from 0)", where=where, hint=hint
    )
