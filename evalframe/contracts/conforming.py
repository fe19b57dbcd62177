"""Tables -> the contract's column order and types, by casts that lose nothing.

Arrow metadata, `not null` and dictionary types do not survive Polars or DuckDB, so every boundary passes through here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from evalframe.contracts.model import Column, Contract
from evalframe.errors import ContractError


def conform(contract: Contract, data: Any) -> pa.Table:
    """`data` with exactly the contract's columns, order and types.

    data: pa.Table, RecordBatch, RecordBatchReader, pl.DataFrame or anything that streams Arrow. Allowed casts:
    dictionaries decoded, text and list encodings, integers to other widths and floats to float64 (each value checked),
    timestamps with a zone to UTC microseconds, decimals to the wider scale, all-null columns to any type. Anything else
    raises ContractError: a missing or undeclared column, another type, a null in a required column.
    A cell that `read_table` could not read makes its column text, and so another type.
    """
    table = as_table(data)
    check_names(contract, table.column_names)
    arrays = [_conformed(contract, column, table.column(column.name)) for column in contract.columns]
    return pa.Table.from_arrays(arrays, schema=contract.arrow_schema())


def from_rows(contract: Contract, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows given as dictionaries as a table of `contract`. A key that a row lacks is null. Raises as `conform` does."""
    return conform(contract, pa.Table.from_pylist(list(rows), schema=contract.arrow_schema()))


def as_table(data: Any) -> pa.Table:
    """Anything tabular as a pa.Table, without copying where it is Arrow already."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if hasattr(data, "to_arrow"):  # Polars: its own conversion avoids view types, which Arrow half supports
        return data.to_arrow()
    return pa.table(data)


def check_names(contract: Contract, names: list[str]) -> None:
    """Refuse a table whose column names are not the contract's, each once, in any order."""
    missing = [n for n in contract.names if n not in names]
    undeclared = sorted({n for n in names if n not in contract.names})
    repeated = sorted({n for n in names if names.count(n) > 1})
    for problem, found in (("lacks", missing), ("has undeclared", undeclared), ("repeats", repeated)):
        if found:
            raise ContractError(
                f"table {contract.name} {problem} column{'s' if len(found) > 1 else ''} {', '.join(found)}",
                expected=", ".join(contract.names),
                found=", ".join(names) or "no columns",
                hint=f"evalframe explain {contract.name}",
            )


def _conformed(contract: Contract, column: Column, data: pa.ChunkedArray) -> pa.ChunkedArray:
    if not castable(data.type, column.arrow_type):
        raise _refused(contract, column, f"type {column.physical}", str(data.type))
    try:
        cast = cast_losslessly(data, column.arrow_type)
    except pa.ArrowInvalid as error:
        raise _refused(contract, column, f"values that {column.physical} can hold", str(error)) from error
    if column.required and cast.null_count:
        first = cast.is_null().index(True).as_py()
        raise _refused(contract, column, "no null", f"{cast.null_count} null, the first in row {first} (from 0)")
    return cast


def _refused(contract: Contract, column: Column, expected: str, found: str) -> ContractError:
    return ContractError(
        f"column {column.name} of table {contract.name} breaks its contract",
        expected=expected,
        found=found,
        hint=f"evalframe explain {contract.name}",
    )


def castable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of `source` mean the same as `target`, as far as types can tell: never text as a number."""
    if pa.types.is_null(source) or source == target:
        return True
    if pa.types.is_dictionary(source):
        return castable(source.value_type, target)
    if pa.types.is_map(target):
        pair = source.value_type if pa.types.is_list(source) or pa.types.is_large_list(source) else source
        inner = [pair.field(i).type for i in range(pair.num_fields)] if pa.types.is_struct(pair) else []
        inner = [source.key_type, source.item_type] if pa.types.is_map(source) else inner
        return len(inner) == 2 and all(castable(i, target.key_type) for i in inner)
    if pa.types.is_list(target):
        lists = pa.types.is_list(source) or pa.types.is_large_list(source) or pa.types.is_fixed_size_list(source)
        return lists and castable(source.value_type, target.value_type)
    if pa.types.is_large_string(target):
        return bool(pa.types.is_string(source) or pa.types.is_string_view(source))
    if pa.types.is_integer(target):
        return bool(pa.types.is_integer(source))
    if pa.types.is_floating(target):
        return bool(pa.types.is_floating(source) or pa.types.is_integer(source))
    if pa.types.is_timestamp(target):
        return bool(pa.types.is_timestamp(source) and source.tz is not None)
    return bool(pa.types.is_decimal(target) and pa.types.is_decimal(source))


def cast_losslessly(data: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """`data` as `target`; pa.ArrowInvalid where a value does not fit. Only for types that `castable` accepts."""
    if data.type == target:
        return data
    return pa.chunked_array([_cast(chunk, target) for chunk in data.chunks], type=target)


def _cast(chunk: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(chunk.type):
        values = chunk.dictionary.cast(target)  # before decoding: Arrow cannot gather string views
        return pa.DictionaryArray.from_arrays(chunk.indices, values).dictionary_decode()
    if pa.types.is_map(target) and not pa.types.is_map(chunk.type) and not pa.types.is_null(chunk.type):
        return _as_map(chunk, target)
    if pa.types.is_decimal(target) and pa.types.is_decimal(chunk.type) and too_long(chunk, target).true_count:
        raise pa.ArrowInvalid(f"a decimal with more than {target.precision - target.scale} digits before the point")
    return chunk.cast(target, safe=True)


def too_long(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Which decimals have more digits before the point than `target` holds: Arrow's cast wraps them silently."""
    import pyarrow.compute as pc

    digits = target.precision - target.scale
    if values.type.precision - values.type.scale <= digits:
        return pa.array(np.zeros(len(values), dtype=bool))
    limit = pa.scalar(Decimal(10) ** digits, type=values.type)
    return pc.fill_null(pc.or_(pc.greater_equal(values, limit), pc.less_equal(values, pc.negate(limit))), False)


def _as_map(chunk: pa.Array, target: pa.DataType) -> pa.Array:
    """A list of (key, value), which is how Polars and JSON spell a map. A key that is null raises pa.ArrowInvalid."""
    import pyarrow.compute as pc

    keys, values = chunk.flatten().flatten()
    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = np.append(chunk.is_null().to_numpy(zero_copy_only=False), False) if chunk.null_count else None
    return pa.MapArray.from_arrays(
        pa.array(offsets, mask=mask),
        keys.cast(target.key_type),
        values.cast(target.item_type),
    )
