"""Values that their column's type cannot hold, found where a whole cast fails."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts.conforming import cast_losslessly, too_long

_EXACT_IN_DOUBLE = 1 << 53


def fitted(data: pa.ChunkedArray, target: pa.DataType) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
    """`data` as `target` with null in place of what does not fit, and the positions of those rows.

    Only for types that `castable` accepts: integers too wide, integers no double holds exactly, times finer than
    microseconds, decimals of more digits, maps with a null key, and lists of them.
    """
    try:
        return cast_losslessly(data, target), np.zeros(0, dtype=np.int64)
    except pa.ArrowInvalid:
        chunks, rows, start = [], [], 0
        for chunk in data.chunks:
            plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
            lost = np.asarray(_lost(plain, target))
            kept = pc.if_else(pa.array(~lost), plain, pa.scalar(None, plain.type))
            chunks.append(cast_losslessly(pa.chunked_array([kept]), target).combine_chunks())
            rows.append(start + np.flatnonzero(lost))
            start += len(chunk)
        return pa.chunked_array(chunks, type=target), np.concatenate(rows)


def _lost(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Per row: whether casting to `target` would change it."""
    if pa.types.is_map(target):
        keys, _ = values.flatten().flatten()
        return _any_element(values, keys.is_null())
    if pa.types.is_list(target):
        return _any_element(values, _lost(values.flatten(), target.value_type))
    if pa.types.is_integer(values.type):
        low, high = -_EXACT_IN_DOUBLE, _EXACT_IN_DOUBLE
        if pa.types.is_integer(target):
            high = 2 ** (target.bit_width - 1) - 1
            low = -high - 1
        wide = values.cast(pa.decimal128(38, 0))  # holds every bound and every unsigned value
        outside = pc.or_(pc.less(wide, _decimal(low)), pc.greater(wide, _decimal(high)))
    elif pa.types.is_decimal(target):
        long = too_long(values, target)
        short = pc.if_else(long, pa.scalar(None, values.type), values)
        outside = pc.or_(long, pc.fill_null(_changed(short, target), False))
    else:
        outside = _changed(values, target)
    return pc.fill_null(outside, False)


def _changed(values: pa.Array, target: pa.DataType) -> pa.Array:
    return pc.not_equal(values.cast(target, safe=False).cast(values.type, safe=False), values)


def _any_element(lists: pa.Array, elements: pa.Array) -> pa.Array:
    """Per list: whether any of its elements is marked."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    mask = np.zeros(len(lists), dtype=bool)
    mask[np.repeat(np.arange(len(lists)), lengths)[np.asarray(elements)]] = True
    return pa.array(mask)


def _decimal(value: int) -> pa.Scalar:
    return pa.scalar(value, type=pa.decimal128(38, 0))
