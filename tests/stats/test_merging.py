"""Merging states under weights is merging the rows of the clusters that were drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.stats.merging import Merge, Merger, StateRows
from tests.oracles import statistics as oracle

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-9, 9)), min_size=1, max_size=25)
WEIGHTS = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=4)


@pytest.mark.parametrize("how", ["sum", "min", "max"])
@pytest.mark.parametrize("spread", [1, 1000])  # far apart keys take the way for sparse rows
@given(rows=ROWS, weights=WEIGHTS)
def test_every_replicate_equals_the_merge_of_its_rows(
    how: Merge, spread: int, rows: list[tuple[int, int, int]], weights: list[list[int]]
) -> None:
    unit, key, value = (np.array(column) for column in zip(*rows, strict=True))
    merger = Merger(StateRows(unit, key * spread, units=5, keys=3 * spread + 1))
    merged = merger.merge(value.astype(float), how, np.array(weights))
    present = merger.present(np.array(weights))
    for replicate, each in enumerate(weights):
        expected = oracle.merged(
            [(str(u), k * spread, float(v)) for u, k, v in rows], {str(i): w for i, w in enumerate(each)}, how
        )
        assert set(np.flatnonzero(present[replicate]).tolist()) == set(expected)
        assert {k: merged[replicate, k] for k in expected} == expected
        absent = sorted(set(range(3 * spread + 1)) - set(expected))
        assert np.array_equal(merged[replicate, absent], np.full(len(absent), 0.0 if how == "sum" else np.nan), True)


def test_no_rows_merge_to_nothing() -> None:
    none = np.zeros(0, dtype=np.int64)
    merger = Merger(StateRows(none, none, units=2, keys=1))
    assert merger.merge(np.zeros(0), "sum", np.ones((3, 2), dtype=np.int64)).tolist() == [[0.0]] * 3
    assert not merger.present(np.ones((3, 2), dtype=np.int64)).any()
