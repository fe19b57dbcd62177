"""Keys as integers: which rows share one, and which refer to none. Exact for any number of columns, at array speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_ROOM = 1 << 62  # products of code ranges stay below, so codes never wrap


def duplicates(columns: Sequence[pa.ChunkedArray]) -> Ints:
    """Positions of all rows that agree in every column with another row (nulls agree), rows of one key together."""
    codes, size = key_codes(columns)
    if len(codes) < 2 or bool(np.all(codes[1:] > codes[:-1])):  # as stored: sorted, so one look is enough
        return _no_rows()
    if size <= 4 * len(codes):
        shared = np.bincount(codes, minlength=1)[codes] > 1
    else:
        ordered = np.sort(codes)
        again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        shared = np.isin(codes, again) if len(again) else np.zeros(len(codes), dtype=bool)
    rows = np.flatnonzero(shared)
    _, first, key = np.unique(codes[rows], return_index=True, return_inverse=True)
    return rows[np.lexsort((rows, first[key]))]


def orphans(columns: Sequence[pa.ChunkedArray], targets: Sequence[pa.ChunkedArray]) -> Ints:
    """Positions of rows of `columns` without an equal row in `targets`; both of equal types, in the same order."""
    if all(c.equals(t) for c, t in zip(columns, targets, strict=True)):  # predictions beside their labels, mostly
        return _no_rows()
    both = [pa.chunked_array([*c.chunks, *t.chunks], type=c.type) for c, t in zip(columns, targets, strict=True)]
    codes, size = key_codes(both)
    here, there = codes[: len(columns[0])], codes[len(columns[0]) :]
    if size <= 4 * len(codes):
        known = np.zeros(size, dtype=bool)
        known[there] = True
        return np.flatnonzero(~known[here])
    return np.flatnonzero(~np.isin(here, there))


def without_nulls(columns: Sequence[pa.ChunkedArray]) -> Ints | None:
    """Positions of the rows that have no null in any column; None if that is all of them."""
    if not any(c.null_count for c in columns):
        return None
    whole = np.ones(len(columns[0]), dtype=bool)
    for column in columns:
        whole &= np.asarray(column.is_valid())
    return np.flatnonzero(whole)


def key_codes(columns: Sequence[pa.ChunkedArray]) -> tuple[Ints, int]:
    """One integer in [0, size) per row, equal exactly where the rows agree in every column; and size."""
    codes, size = _codes(columns[0])
    for column in columns[1:]:
        further, width = _codes(column)
        if size * width > _ROOM:
            codes, size = _compressed(codes)
        if size * width > _ROOM:
            further, width = _compressed(further)
        codes = codes * width + further
        size *= width
    return codes, size


def _codes(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """Null is 0; integers keep their order, so that a sorted table is seen to be sorted."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int16())
    if pa.types.is_integer(column.type):
        ends: dict[str, Any] = pc.min_max(column).as_py()
        low, high = ends["min"], ends["max"]
        if low is None:
            return np.zeros(len(column), dtype=np.int64), 1
        if high - low < _ROOM and abs(low) < _ROOM:
            filled = pc.fill_null(column.cast(pa.int64()), low - 1)
            return filled.to_numpy() - (low - 1), high - low + 2
    chunks = column.dictionary_encode().chunks  # one dictionary over all chunks
    if not chunks:
        return _no_rows(), 1
    codes = np.concatenate([np.asarray(pc.fill_null(chunk.indices, -1)) for chunk in chunks]).astype(np.int64)
    codes += 1
    return codes, len(chunks[0].dictionary) + 1


def _compressed(codes: Ints) -> tuple[Ints, int]:
    values, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64), max(len(values), 1)


def _no_rows() -> Ints:
    return np.zeros(0, dtype=np.int64)
