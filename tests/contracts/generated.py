"""Hypothesis strategies for rows of any contract: by and large valid, or with anything its types can hold."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unicodedata import normalize

import pyarrow as pa
from hypothesis import strategies as st

from evalframe.contracts import Column, Contract, physical

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda s: normalize("NFC", s))
AWKWARD = st.sampled_from(
    ["", "001", "1.10", "NULL", "null", "true", '"', 'a"b', "a,b", "a\nb", "\r\n", " a ", "=1", "é"]
)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(lambda t: t.replace(tzinfo=UTC))
DECIMALS = st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-15))
BITS = {"int16": 16, "int32": 32, "int64": 64}


def scalars(column: Column, kind: str, *, valid: bool) -> st.SearchStrategy[Any]:
    """Values of one physical type; within the column's rules if `valid`."""
    if kind == "utf8":
        if column.allowed is not None and valid:
            return st.sampled_from(column.allowed)
        return TEXT | AWKWARD if valid else st.sampled_from(["e\u0301", "a", "b", *(column.allowed or ())])
    if kind == "bool":
        return st.booleans()
    if kind in BITS:
        low, high = -(2 ** (BITS[kind] - 1)), 2 ** (BITS[kind] - 1) - 1
        if not valid:
            return st.integers(-2, 4)
        least = low if column.minimum is None else int(column.minimum)
        return st.integers(least, high if column.maximum is None else int(column.maximum))
    if kind == "float64":
        if not valid:
            return st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0, 2.0, float("nan"), float("inf"), float("-inf")])
        return st.floats(column.minimum, column.maximum, allow_nan=False, allow_infinity=False)
    if kind == "timestamp[us, UTC]":
        return TIMES
    if kind == physical.MAP:
        contents = TEXT | AWKWARD if valid else st.none() | st.sampled_from(["a", "e\u0301"])
        return st.dictionaries(TEXT, contents, max_size=3).map(lambda d: list(d.items()))
    return DECIMALS.map(abs) if valid and column.minimum is not None else DECIMALS


def values(column: Column, *, valid: bool) -> st.SearchStrategy[Any]:
    """Values of a column, nulls where it may have them."""
    inner = physical.element(column.physical)
    if inner is None:
        plain = scalars(column, column.physical, valid=valid)
    else:
        elements = scalars(column, inner, valid=valid)
        if not valid or not column.element_required:
            elements = st.none() | elements
        fewest, most = (column.min_items or 0, column.max_items or 4) if valid else (0, 5)
        plain = st.lists(elements, min_size=fewest, max_size=most)
    return plain if valid and column.required else st.none() | plain


def rows(contract: Contract, *, valid: bool, max_size: int = 8) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of a table; if `valid`, ones that break no rule but perhaps a foreign key."""
    row = st.fixed_dictionaries({c.name: values(c, valid=valid) for c in contract.columns})
    if not valid:
        return st.lists(row, max_size=max_size)
    return st.lists(row.map(lambda r: present(contract, r)), max_size=max_size).map(lambda r: distinct(contract, r))


def present(contract: Contract, row: dict[str, Any]) -> dict[str, Any]:
    """The row with each dependent column given exactly where it must be."""
    from evalframe.contracts.examples import example

    for column in contract.columns:
        if column.present_when is not None:
            other, wanted = column.present_when
            shown = next(v for v in example(contract)[column.name].to_pylist() if v is not None)
            given = shown if row[column.name] is None else row[column.name]
            row = {**row, column.name: given if row[other] in wanted else None}
    return row


def distinct(contract: Contract, table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without those that repeat a key of an earlier one."""
    kept: list[dict[str, Any]] = []
    seen: set[Any] = set()
    for row in table:
        marks = [(contract.key, tuple(row[c] for c in contract.key))]
        marks += [(u, tuple(row[c] for c in u)) for u in contract.uniques if all(row[c] is not None for c in u)]
        if not seen.intersection(marks):
            seen.update(marks)
            kept.append(row)
    return kept


def table_of(contract: Contract, given: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the contract's types, whether or not its rules hold."""
    schema = pa.schema([f.with_nullable(True) for f in contract.arrow_schema()])
    return pa.Table.from_pylist(given, schema=schema)
