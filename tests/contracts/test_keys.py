"""Duplicates and orphans against the plainest possible definition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.contracts import keys

TEXT = st.sampled_from([None, "", "a", "b", "1", "01", "é"])
INTEGER = st.sampled_from([None, 0, 1, -1, 2**31, -(2**63), 2**63 - 1, 2**62, 12345678901])
SMALL = st.integers(-2, 2)
FLOAT = st.sampled_from([None, 0.2, 0.4, 1.0])
BOOL = st.sampled_from([None, True, False])
ROWS = st.lists(st.tuples(TEXT, INTEGER, SMALL, FLOAT, BOOL), max_size=30)
TYPES = [pa.large_string(), pa.int64(), pa.int16(), pa.float64(), pa.bool_()]


def columns(rows: list[tuple[Any, ...]], chunk: int = 7) -> list[pa.ChunkedArray]:
    parts = [rows[i : i + chunk] for i in range(0, len(rows), chunk)]
    return [pa.chunked_array([[r[i] for r in part] for part in parts], type=t) for i, t in enumerate(TYPES)]


@given(ROWS, st.sets(st.integers(0, 4), min_size=1))
def test_duplicates_are_all_rows_whose_key_stands_more_than_once(rows: list[tuple[Any, ...]], chosen: set[int]) -> None:
    picked = [columns(rows)[i] for i in sorted(chosen)]
    own = [tuple(r[i] for i in sorted(chosen)) for r in rows]
    shared = Counter(own)
    expected = [i for i, key in enumerate(own) if shared[key] > 1]
    assert sorted(keys.duplicates(picked)) == expected
    found = [own[i] for i in keys.duplicates(picked)]
    assert all(found.index(k) + shared[k] > i for i, k in enumerate(found)), "rows of one key stand together"


@given(ROWS, ROWS, st.sets(st.integers(0, 4), min_size=1))
def test_orphans_are_all_rows_that_the_other_table_lacks(
    rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]], chosen: set[int]
) -> None:
    here, there = ([columns(r)[i] for i in sorted(chosen)] for r in (rows, others))
    known = {tuple(r[i] for i in sorted(chosen)) for r in others}
    expected = [i for i, r in enumerate(rows) if tuple(r[i] for i in sorted(chosen)) not in known]
    assert list(keys.orphans(here, there)) == expected


def test_wide_keys_do_not_wrap() -> None:
    """The product of the ranges is far beyond 64 bits; only the two equal rows may be found."""
    wide = pa.chunked_array([[0, 2**61, 2**60, 2**61]])
    text = pa.chunked_array([["a", "b", "c", "b"]], type=pa.large_string())
    assert list(keys.duplicates([wide, wide, wide, text])) == [1, 3]
    assert list(keys.orphans([wide, wide], [wide.slice(0, 1), wide.slice(0, 1)])) == [1, 2, 3]


@pytest.mark.parametrize("step", [1, 1_000_003], ids=["dense", "sparse"])
def test_one_duplicate_among_many_is_found_in_any_order(step: int) -> None:
    values = np.arange(20_000) * step
    values[13_000] = values[17]
    order = np.random.default_rng(0).permutation(len(values))
    assert list(keys.duplicates([pa.chunked_array([values])])) == [17, 13_000]
    found = keys.duplicates([pa.chunked_array([values[order]])])
    assert sorted(order[found]) == [17, 13_000]
