"""Three rows that keep a contract: for `evalframe explain`, for documentation, for tests."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from evalframe.contracts import physical
from evalframe.contracts.model import Column, Contract

ROWS = 3


def example(contract: Contract) -> pa.Table:
    """Three rows that `validate` accepts; the last one shows which columns may be null.

    A column's own examples are used where the contract gives any. Columns of one name hold the same values in every
    table, so the examples of all tables refer to one another.
    """
    columns = {c.name: [_value(c, row) for row in range(ROWS)] for c in contract.columns}
    for column in contract.columns:
        if column.present_when is not None:
            other, values = column.present_when
            wanted = [value in values for value in columns[other]]
            columns[column.name] = [_given(column, row) if wanted[row] else None for row in range(ROWS)]
    return pa.Table.from_pydict(columns, schema=contract.arrow_schema())


def _value(column: Column, row: int) -> Any:
    return _given(column, row) if column.required or row < ROWS - 1 else None


def _given(column: Column, row: int) -> Any:
    if column.examples:
        return column.examples[row % len(column.examples)]
    inner = physical.element(column.physical)
    if inner is None:
        return _scalar(column, column.physical, row)
    length = max(column.min_items or 0, min(2, column.max_items or 2))
    return [_scalar(column, inner, (row + i) % ROWS) for i in range(length)]


def _scalar(column: Column, kind: str, row: int) -> Any:
    if column.allowed is not None:
        return column.allowed[row % len(column.allowed)]
    if kind == "utf8":
        return f"{column.name.removesuffix('_id').replace('_', '-')}-{row + 1}"
    if kind == "bool":
        return row % 2 == 0
    if kind == physical.MAP:
        return [("model", f"model-{row + 1}")]
    if kind == "timestamp[us, UTC]":
        return datetime(2026, 1, 1, 0, 30, row, tzinfo=UTC)
    return _number(column, kind, row)


def _number(column: Column, kind: str, row: int) -> int | float | Decimal:
    low = 0 if column.minimum is None else column.minimum
    if kind.startswith("int"):
        return int(low if column.maximum is not None and low + row > column.maximum else low + row)
    width = 2.0 if column.maximum is None else column.maximum - low
    number = low + width * (row + 1) / (ROWS + 1)
    return Decimal(str(number)) if kind.startswith("decimal") else number
