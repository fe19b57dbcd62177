"""Few rows and many are looked through in two ways that say the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalframe.compare import columns

TEXT = pa.chunked_array([["b", None, "a"], [], ["b", "c"]], pa.large_string())
REAL = pa.chunked_array([[0.5, math.nan, None, math.nan, -0.5]], pa.float64())
TRUTH = pa.chunked_array([[True, None, False, False, True]])
INSIDE = [[True, False, True, True, False], [False] * 5, [True] * 5, [False, False, False, False, True]]


def both(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> Any:
    """What `ask` says of few rows, after it said the same of many."""
    few = ask()
    with monkeypatch.context() as patch:
        patch.setattr(columns, "_FEW", 0)
        many = ask()
    assert repr(few) == repr(many)
    return few


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        (TEXT, ["a", "b"], [1, -1, 0, 1, -1]),
        (TEXT, ["c", None], [-1, 1, -1, -1, 0]),
        (TEXT, pa.chunked_array([["x"], ["b"]], pa.large_string()), [1, -1, -1, 1, -1]),
        (REAL, [-0.5, 0.5], [1, -1, -1, -1, 0]),
        (TRUTH, [False, True], [1, -1, 0, 0, 1]),
        (TEXT.slice(0, 0), ["a"], []),
    ],
)
def test_places(monkeypatch: pytest.MonkeyPatch, column: pa.ChunkedArray, values: Any, expected: list[int]) -> None:
    assert both(monkeypatch, lambda: columns.places(column, values)).tolist() == expected


@pytest.mark.parametrize(
    ("column", "expected", "count"),
    [(TEXT, [0, 1, 2, 0, 3], 4), (REAL, [0, 1, 2, 1, 3], 4), (TRUTH, [0, 1, 2, 2, 0], 3), (TEXT.slice(0, 0), [], 0)],
)
def test_codes(monkeypatch: pytest.MonkeyPatch, column: pa.ChunkedArray, expected: list[int], count: int) -> None:
    found, distinct = both(monkeypatch, lambda: columns.codes(column))
    assert (found.tolist(), distinct) == (expected, count)


@pytest.mark.parametrize("inside", INSIDE)
def test_rows(monkeypatch: pytest.MonkeyPatch, inside: list[bool]) -> None:
    table = pa.table({"text": TEXT, "real": REAL})
    found = both(monkeypatch, lambda: columns.rows(table, np.array(inside)).to_pylist())
    assert [row["text"] for row in found] == [t for t, kept in zip(TEXT.to_pylist(), inside, strict=True) if kept]


def test_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    assert both(monkeypatch, lambda: sorted(map(str, columns.distinct(TEXT)))) == ["None", "a", "b", "c"]


@pytest.mark.parametrize("kind", [pa.int16(), pa.int64(), pa.float64()])
def test_floats(kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array([3, None, -4], pa.int64()).cast(kind)])
    assert repr(columns.floats(column).tolist()) == "[3.0, nan, -4.0]"
