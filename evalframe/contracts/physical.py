"""The closed set of column types, each with its name in Arrow, Polars, DuckDB and the data contract standard."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    import polars as pl


class _Scalar(NamedTuple):
    logical: str
    arrow: pa.DataType
    duckdb: str
    polars: str


_SCALARS = {
    "utf8": _Scalar("string", pa.large_string(), "VARCHAR", "String"),
    "int16": _Scalar("integer", pa.int16(), "SMALLINT", "Int16"),
    "int32": _Scalar("integer", pa.int32(), "INTEGER", "Int32"),
    "int64": _Scalar("integer", pa.int64(), "BIGINT", "Int64"),
    "float64": _Scalar("number", pa.float64(), "DOUBLE", "Float64"),
    "bool": _Scalar("boolean", pa.bool_(), "BOOLEAN", "Boolean"),
    "timestamp[us, UTC]": _Scalar("timestamp", pa.timestamp("us", "UTC"), "TIMESTAMP WITH TIME ZONE", "Datetime"),
    "decimal128(38,15)": _Scalar("number", pa.decimal128(38, 15), "DECIMAL(38,15)", "Decimal"),
}
_LISTED = ("utf8", "int64", "float64", "bool")
MAP = "map<utf8,utf8>"
_LIST = re.compile(r"list<(.+)>")


def is_physical(name: str) -> bool:
    """Whether `name` is a type that a contract may declare."""
    inner = element(name)
    return name == MAP or (name in _SCALARS if inner is None else inner in _LISTED)


def element(name: str) -> str | None:
    """The type inside `list<...>`, or None for any other type."""
    match = _LIST.fullmatch(name)
    return match[1] if match else None


def logical_type(name: str) -> str:
    """The logicalType of the standard that goes with a physical type; a map is an object there."""
    if name == MAP:
        return "object"
    return "array" if element(name) else _SCALARS[name].logical


def arrow_type(name: str) -> pa.DataType:
    """Text is large_string, so that a column may hold more than 2 GiB of it."""
    if name == MAP:
        return pa.map_(pa.large_string(), pa.large_string())
    inner = element(name)
    return pa.list_(_SCALARS[inner].arrow) if inner else _SCALARS[name].arrow


def duckdb_type(name: str) -> str:
    """The type's name in DDL."""
    if name == MAP:
        return "MAP(VARCHAR, VARCHAR)"
    inner = element(name)
    return f"{_SCALARS[inner].duckdb}[]" if inner else _SCALARS[name].duckdb


def polars_type(name: str) -> pl.DataType:
    """The type in Polars; before Polars 2 a map is a list of (key, value) there."""
    import polars as pl

    if name == MAP:
        pairs: pl.DataType = pl.List(pl.Struct({"key": pl.String(), "value": pl.String()}))
        return pl.Map(pl.String(), pl.String()) if hasattr(pl, "Map") else pairs
    inner = element(name)
    if inner:
        return pl.List(polars_type(inner))
    if name == "timestamp[us, UTC]":
        return pl.Datetime("us", "UTC")
    if name == "decimal128(38,15)":
        return pl.Decimal(38, 15)
    dtype: pl.DataType = getattr(pl, _SCALARS[name].polars)()
    return dtype
