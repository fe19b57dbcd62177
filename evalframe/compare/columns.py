"""Columns of Arrow tables as NumPy arrays, and NumPy arrays as columns.

What holds few rows is looked through in Python: loading Arrow's functions takes longer than all of a small comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_FEW = 10_000


def places(column: pa.ChunkedArray, values: Sequence[Any] | pa.ChunkedArray) -> NDArray[np.int64]:
    """Per row the position of its value among the distinct `values` (None: a null), -1 where it is none of them."""
    if max(len(column), len(values)) <= _FEW:
        known = values.to_pylist() if isinstance(values, pa.ChunkedArray) else values
        place = {value: position for position, value in enumerate(known)}
        return np.array([place.get(value, -1) for value in column.to_pylist()], dtype=np.int64)
    import pyarrow.compute as pc

    known = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values, column.type)
    return integers(pc.fill_null(pc.index_in(column, value_set=known), -1))


def rows(table: pa.Table, inside: NDArray[np.bool_]) -> pa.Table:
    """The rows of `table` that are `inside`, in their order."""
    if inside.all():
        return table
    if len(table) > _FEW:
        return table.filter(pa.array(inside))
    # Where the mask turns, a stretch of rows begins or ends.
    turns = np.flatnonzero(np.diff(np.r_[False, inside, False])).tolist()
    stretches = [table.slice(start, end - start) for start, end in zip(turns[::2], turns[1::2], strict=True)]
    return pa.concat_tables([table.slice(0, 0), *stretches])


def codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    """Per row the number of its value, in the order in which values appear, and how many there are. Nulls are equal."""
    if len(column) <= _FEW:
        seen: dict[Any, int] = {}
        # NaN is one value here, and unequal to itself in Python.
        values = (value if value == value else math.nan for value in column.to_pylist())
        return np.array([seen.setdefault(value, len(seen)) for value in values], dtype=np.int64), len(seen)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return integers(encoded.indices), len(encoded.dictionary)


def distinct(column: pa.ChunkedArray) -> set[Any]:
    """The values of a column, each once."""
    return set((column if len(column) <= _FEW else column.unique()).to_pylist())


def numbers(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """int64 or float64 values as Arrow, null where `missing`.

    Not `pa.array`, which loads numpy.ma to look for masks, and that takes longer than a small comparison's resampling.
    """
    valid = None if missing is None or not missing.any() else np.packbits(~missing, bitorder="little")
    buffers = [None if valid is None else pa.py_buffer(valid), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def integers(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Whole numbers without nulls as int64."""
    return np.asarray(column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False), np.int64)


def floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers as float64, null as NaN."""
    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return np.asarray((column if plain else column.cast(pa.float64())).to_numpy(), dtype=np.float64)
