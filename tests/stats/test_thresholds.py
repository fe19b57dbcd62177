"""Thresholds chosen anew are those of the resampled scores."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.stats import thresholds
from evalframe.stats.thresholds import ScoredUnits
from tests.oracles import statistics as oracle

ITEMS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.5, 0.9])), min_size=0, max_size=15)
WEIGHTS = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=5)


@given(items=ITEMS, weights=WEIGHTS, recall=st.sampled_from(["0.7", "0.8", "1", "0.333"]))
def test_weights_are_resampled_scores(items: list[tuple[int, float]], weights: list[list[int]], recall: str) -> None:
    unit, score = np.array([u for u, _ in items], dtype=np.int64), np.array([s for _, s in items])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "_BLOCK_CELLS", 1)
        units = ScoredUnits.of(unit, score, 4)
        found = units.threshold(np.array(weights), Fraction(recall))
    reached = units.triggered(np.array(weights), found)
    totals = units.total(np.array(weights))
    for threshold, n_reached, total, each in zip(found, reached, totals, weights, strict=True):
        scores = [s for u, s in items for _ in range(each[u])]
        expected = oracle.threshold(scores, Fraction(recall))
        assert total == len(scores)
        if expected is None:
            assert np.isnan(threshold)
            assert n_reached == 0
        else:
            assert threshold == expected
            assert n_reached == sum(s >= expected for s in scores)


def test_recall_at_ties() -> None:
    positives = ScoredUnits.of(np.zeros(5, dtype=np.int64), np.array([0.9, 0.9, 0.9, 0.2, 0.2]), 1)
    threshold = positives.threshold(np.array([[1]]), Fraction("0.8"))
    negatives = ScoredUnits.of(np.zeros(1, dtype=np.int64), np.array([0.2]), 1)
    assert threshold.tolist() == [0.2]
    assert positives.triggered(np.array([[1]]), threshold).tolist() == [5.0]
    assert negatives.triggered(np.array([[1]]), threshold).tolist() == [1.0]


def test_a_threshold_above_every_score_triggers_nothing() -> None:
    units = ScoredUnits.of(np.array([0, 1]), np.array([0.3, 0.4]), 2)
    assert units.triggered(np.array([[1, 1]]), np.array([0.5])).tolist() == [0.0]
