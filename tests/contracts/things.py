"""A made-up contract that has every type and every rule, and rows that keep it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.contracts.loading import load

THINGS = load(Path(__file__).with_name("things.odcs.yaml"))

GOOD: dict[str, Any] = {
    "box": "001",
    "n": 0,
    "lid": 7,
    "label": "é",
    "kind": "square",
    "width": 0.5,
    "signal": float("nan"),
    "p": [0.25, 0.75],
    "flags": ["new", None],
    "seen": [True],
    "tags": [("colour", "red")],
    "made": datetime(2026, 1, 1, 0, 30, tzinfo=UTC),
    "price": Decimal("1.5"),
    "sold": True,
    "rank": 1,
}


def things(*changes: dict[str, Any]) -> pa.Table:
    """One good row per change, at positions 0, 1, ... of one box, with the change made to it."""
    rows = [{**GOOD, "n": i, "label": f"label-{i}", **change} for i, change in enumerate(changes)]
    schema = pa.schema([f.with_nullable(True) for f in THINGS.arrow_schema()])
    return pa.Table.from_pylist(rows, schema=schema)


def replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    """`table` with one column of another content, and so perhaps of another type."""
    array = pa.array(values) if isinstance(values, list) else values
    return table.set_column(table.column_names.index(name), name, array)
