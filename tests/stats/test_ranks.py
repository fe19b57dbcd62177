"""Rank metrics under weights are the metrics of the resampled rows."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from evalframe.stats import ranks
from tests.oracles import statistics as oracle

Item = tuple[int, float, bool]  # cluster, score, marked
ITEMS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=20
)
WEIGHTS = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=5)
UNRANKED = st.lists(st.integers(0, 2), min_size=4, max_size=4)


def _part(pair: tuple[float, float] | None, position: int) -> float | None:
    return None if pair is None else pair[position]


def area_under_risk_coverage(groups: ranks.ScoreGroups, weights: NDArray[np.int64]) -> NDArray[np.float64]:
    return ranks.selective(groups, weights, [], [])[0]


def most_confident(groups: ranks.ScoreGroups, weights: NDArray[np.int64], fraction: Fraction) -> NDArray[np.float64]:
    return ranks.selective(groups, weights, [fraction], [])[1:]


def coverage_at_error(groups: ranks.ScoreGroups, weights: NDArray[np.int64], budget: Fraction) -> NDArray[np.float64]:
    return ranks.selective(groups, weights, [], [budget])[1]


KERNELS: dict[str, tuple[Callable[..., NDArray[np.float64]], Callable[..., float | None]]] = {
    "average_precision": (ranks.average_precision, lambda items, _: oracle.average_precision(items)),
    "roc_auc": (ranks.roc_auc, lambda items, _: oracle.roc_auc(items)),
    "aurc": (area_under_risk_coverage, oracle.area_under_risk_coverage),
    "selected coverage": (
        lambda groups, weights: ranks.coverage(most_confident(groups, weights, Fraction(4, 5))),
        lambda items, unranked: _part(oracle.most_confident(items, unranked, Fraction(4, 5)), 0),
    ),
    "selected accuracy": (
        lambda groups, weights: ranks.unmarked_share(most_confident(groups, weights, Fraction(1, 2))),
        lambda items, unranked: _part(oracle.most_confident(items, unranked, Fraction(1, 2)), 1),
    ),
    "top 4": (
        lambda groups, weights: ranks.marked_in_top(groups, weights, 4),
        lambda items, _: oracle.marked_in_top(items, 4),
    ),
    "coverage": (
        lambda groups, weights: coverage_at_error(groups, weights, Fraction(1, 4)),
        lambda items, unranked: oracle.coverage_at_error(items, unranked, Fraction(1, 4)),
    ),
}


def groups_of(items: list[Item], units: int, unranked: list[int] | None = None) -> ranks.ScoreGroups:
    unit, score, marked = (np.array(column) for column in zip(*items, strict=True))
    return ranks.score_groups(
        unit,
        score.astype(float),
        marked.astype(np.int64),
        np.ones(len(items), dtype=np.int64),
        units,
        None if unranked is None else np.array(unranked),
    )


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize(("dense", "few"), [(10**9, 0), (0, 10**9), (0, 0)], ids=["products", "at once", "rows"])
@given(items=ITEMS, weights=WEIGHTS, unranked=UNRANKED)
def test_weights_are_resampled_rows(
    kernel: str, dense: int, few: int, items: list[Item], weights: list[list[int]], unranked: list[int]
) -> None:
    fast, slow = KERNELS[kernel]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "_DENSE_ADVANTAGE", dense)
        patch.setattr(ranks, "_FEW_REPLICATES", few)
        patch.setattr(ranks, "_BLOCK_STOPS", 3)
        patch.setattr(ranks, "_BLOCK_REPLICATES", 2)
        found = fast(groups_of(items, 4, unranked), np.array(weights))
    for value, each in zip(found, weights, strict=True):
        rows = [(score, marked) for cluster, score, marked in items for _ in range(each[cluster])]
        expected = slow(rows, sum(u * w for u, w in zip(unranked, each, strict=True)))
        assert np.isnan(value) if expected is None else value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("clusters", [20, 5_000])
@pytest.mark.parametrize("distinct", [7, 10_000])
def test_sklearn_agrees_on_resampled_rows(clusters: int, distinct: int) -> None:
    rng = np.random.default_rng(clusters + distinct)
    n = 20_000
    positive = rng.random(n) < 0.2
    score = np.floor((rng.random(n) + 0.3 * positive) * distinct) / distinct
    cluster = rng.integers(0, clusters, n)
    draws = rng.integers(0, clusters, (3, clusters))
    weights = np.stack([np.bincount(d, minlength=clusters) for d in draws])
    one = np.ones(n, dtype=np.int64)
    groups = ranks.score_groups(cluster, score, positive.astype(np.int64), one, clusters)
    precision, area = ranks.average_precision(groups, weights), ranks.roc_auc(groups, weights)
    for b in range(3):
        rows = np.repeat(np.arange(n), weights[b][cluster])
        assert precision[b] == pytest.approx(average_precision_score(positive[rows], score[rows]), abs=1e-12)
        assert area[b] == pytest.approx(roc_auc_score(positive[rows], score[rows]), abs=1e-12)


def test_aurc_by_hand() -> None:
    items = [(0, 0.99, False), (0, 0.9, False), (0, 0.8, True)]
    assert area_under_risk_coverage(groups_of(items, 1), np.array([[1]]))[0] == pytest.approx(1 / 9)


@pytest.mark.parametrize("wrong", [(False, True), (True, False)])
def test_ties_do_not_depend_on_row_order(wrong: tuple[bool, bool]) -> None:
    items = [(0, 0.5, wrong[0]), (0, 0.5, wrong[1])]
    assert area_under_risk_coverage(groups_of(items, 1), np.array([[1]]))[0] == 0.5


@pytest.mark.parametrize(
    ("confidence", "wrong", "budget", "expected"),
    [
        ([0.99] * 100, [False] * 90 + [True] * 10, Fraction(1, 20), 0.0),
        ([0.99, 0.99, 0.9, 0.8], [False, True, False, False], Fraction(1, 4), 1.0),
    ],
)
def test_golden_coverage_takes_whole_groups(
    confidence: list[float], wrong: list[bool], budget: Fraction, expected: float
) -> None:
    groups = groups_of([(0, c, w) for c, w in zip(confidence, wrong, strict=True)], 1)
    assert coverage_at_error(groups, np.array([[1]]), budget)[0] == expected


def test_no_positives_have_no_average_precision() -> None:
    groups = groups_of([(0, 0.3, False), (0, 0.4, False)], 1)
    assert np.isnan(ranks.average_precision(groups, np.array([[1]]))[0])
    assert np.isnan(ranks.roc_auc(groups, np.array([[1]]))[0])


def test_a_score_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="no rank"):
        groups_of([(0, float("nan"), True)], 1)


def test_no_ranked_item_at_all() -> None:
    none = np.zeros(0, dtype=np.int64)
    groups = ranks.score_groups(none, np.zeros(0), none, none, 2, np.array([1, 0]))
    weights = np.array([[1, 1], [0, 2]])
    assert np.isnan(ranks.average_precision(groups, weights)).all()
    assert np.array_equal(coverage_at_error(groups, weights, Fraction(1, 20)), [0.0, np.nan], equal_nan=True)


def test_large_counts_stay_exact() -> None:
    unit, group_size = np.array([0, 0]), np.array([2**24 + 1, 1])
    groups = ranks.score_groups(unit, np.array([0.9, 0.1]), np.array([1, 1]), group_size, 1)
    expected = (Fraction(1, 2**24 + 1) + Fraction(2, 2**24 + 2)) / 2
    assert ranks.average_precision(groups, np.array([[1]]))[0] == pytest.approx(float(expected), rel=1e-14)
