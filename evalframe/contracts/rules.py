"""The rules of one column, each vectorised over one chunk: which rows break it.

In a list column the rules of values hold for every element, and a row is counted once however many elements offend.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from unicodedata import is_normalized

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts.model import Column

Rows = NDArray[np.int64]

RULES = {
    "missing_column": "every declared column is there",
    "undeclared_column": "no other column is there",
    "repeated_column": "no column is there twice",
    "wrong_type": "values are of the declared type; text is never read as a number, nor a number as text",
    "null": "no null in a required column, in a map, or in a list that requires its elements",
    "not_finite": "numbers are neither NaN nor infinite",
    "out_of_range": "numbers lie between minimum and maximum, both included",
    "not_in_set": "values belong to the closed set",
    "wrong_length": "lists are of an allowed length",
    "not_nfc": "text is valid UTF-8 in Unicode normal form NFC, so that equal text is equal bytes",
    "presence": "a value is there exactly when another column says so",
    "duplicate_key": "no two rows share a key",
    "orphan": "a row that refers to another table finds its row there",
}


def expectation(column: Column, rule: str) -> str:
    """What `rule` asks of this very column, for a message."""
    if rule == "out_of_range":
        return _between(column.minimum, column.maximum)
    if rule == "wrong_length":
        return f"{_between(column.min_items, column.max_items)} elements"
    if rule == "not_in_set" and column.allowed is not None:
        return "one of " + ", ".join(str(v) for v in column.allowed)
    if rule == "presence" and column.present_when is not None:
        other, values = column.present_when
        return f"a value exactly where {other} is {' or '.join(str(v) for v in values)}"
    return RULES[rule]


def _between(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"at least {low}" if high is None else f"at most {high}"
    return str(low) if low == high else f"{low} to {high}"


def offences(column: Column, chunk: pa.Array) -> Iterator[tuple[str, Rows]]:
    """Each broken rule of `column` with the offending positions in `chunk`, which is of the column's type."""
    null = chunk.is_null() if column.required and chunk.null_count else None
    if null is not None:
        yield "null", _where(null)
    if pa.types.is_map(chunk.type):
        chunk = chunk.cast(pa.list_(pa.struct({"key": chunk.type.key_type, "value": chunk.type.item_type})))
    if not pa.types.is_list(chunk.type):
        for rule, mask in _value_offences(column, chunk):
            yield rule, _where(mask)
        return
    lengths = pc.list_value_length(chunk)
    if column.min_items is not None or column.max_items is not None:
        yield "wrong_length", _where(_outside(lengths, column.min_items, column.max_items))
    parents = np.repeat(np.arange(len(chunk)), pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False))
    elements = chunk.flatten()
    for part in elements.flatten() if pa.types.is_struct(elements.type) else [elements]:
        if column.element_required and part.null_count:
            yield "null", np.unique(parents[_where(part.is_null())])
        for rule, mask in _value_offences(column, part):
            yield rule, np.unique(parents[_where(mask)])


def _value_offences(column: Column, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    if pa.types.is_floating(values.type):
        finite = pc.is_finite(values)
        outside = _outside(values, column.minimum, column.maximum)
        if column.finite:
            yield "not_finite", pc.invert(finite)
            outside = pc.and_(outside, finite)  # NaN and infinities are told once
        yield "out_of_range", outside
    elif column.minimum is not None or column.maximum is not None:
        yield "out_of_range", _outside(values, column.minimum, column.maximum)
    if column.allowed is not None:
        known = pc.is_in(values, value_set=pa.array(column.allowed, type=values.type))
        yield "not_in_set", pc.and_(pc.invert(known), values.is_valid())
    if pa.types.is_large_string(values.type):
        yield "not_nfc", _not_normalised(values)


def _outside(values: pa.Array, low: float | None, high: float | None) -> pa.Array:
    mask = pa.array(np.zeros(len(values), dtype=bool))
    if low is not None:
        mask = pc.or_(mask, pc.less(values, _bound(low, values.type)))
    if high is not None:
        mask = pc.or_(mask, pc.greater(values, _bound(high, values.type)))
    return mask


def _bound(limit: float, kind: pa.DataType) -> pa.Scalar:
    value: Any = Decimal(str(limit)) if pa.types.is_decimal(kind) else limit
    return pa.scalar(value, type=kind if pa.types.is_decimal(kind) else None)


def _not_normalised(values: pa.Array) -> pa.Array:
    """ASCII is normalised already, and that is nearly all text: only the rest is looked at twice."""
    ascii_only = pc.fill_null(pc.string_is_ascii(values), True)
    mask = np.zeros(len(values), dtype=bool)
    rest = _where(pc.invert(ascii_only))
    if len(rest):
        # Files may hold bytes that are no UTF-8 in a column that says it is text: decode them here, where it is told.
        mask[rest] = [not _is_normalised(v) for v in values.take(pa.array(rest)).cast(pa.large_binary()).to_pylist()]
    return pa.array(mask)


def _is_normalised(value: bytes) -> bool:
    try:
        return is_normalized("NFC", value.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _where(mask: pa.Array) -> Rows:
    return np.flatnonzero(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))
