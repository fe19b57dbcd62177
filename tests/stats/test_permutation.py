"""The swap test counts patterns, ties and undefined draws as it says."""

import json
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evalframe.stats.draws import swap_method, swap_patterns
from evalframe.stats.permutation import swap_test
from tests.oracles import statistics as oracle


def _mean(rows: list[float]) -> float | None:
    return sum(rows) / len(rows) if rows else None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 3)), min_size=1, max_size=6))
def test_all_patterns_agree_with_swapping_whole_rows(clusters: list[tuple[int, int, int]]) -> None:
    first = {f"c{i}": [a / 10] * n for i, (a, _, n) in enumerate(clusters)}
    second = {f"c{i}": [b / 10] * n for i, (_, b, n) in enumerate(clusters)}
    size = np.array([n for _, _, n in clusters])
    difference = np.array([(b - a) / 10 * n for a, b, n in clusters])
    patterns = np.concatenate(list(swap_patterns(len(clusters), 1000, 0)))
    changes = (1 - 2 * patterns) @ difference / size.sum()
    observed = float(difference.sum() / size.sum())
    result = swap_test(observed, changes, len(clusters), "swap_exact")
    assert result.p_value == oracle.exact_swap_p(first, second, _mean)
    assert result.min_p == float(min(Fraction(1), Fraction(2, 2 ** len(clusters))))


def test_none_of_a_thousand_draws_is_as_extreme() -> None:
    result = swap_test(1.0, np.zeros(1000), 50, "swap_mc")
    assert result.p_value == 1 / 1001
    assert result.min_p == 1 / 1001


def test_an_undefined_draw_counts_as_extreme() -> None:
    assert swap_test(1.0, np.array([0.0, np.nan, 0.0]), 50, "swap_mc").p_value == 2 / 4


def test_a_tie_within_round_off_counts() -> None:
    assert swap_test(0.3, np.array([0.1 + 0.2, -0.3 + 1e-13, 0.3 - 1e-11]), 50, "swap_mc").extreme == 2


def test_an_undefined_change_has_no_p() -> None:
    assert swap_test(None, np.zeros(4), 2, "swap_exact").p_value is None


def test_the_published_exact_permutation_of_seven_pairs(real_data) -> None:  # type: ignore[no-untyped-def]
    case = json.loads((real_data("paired_statistics") / "cases.json").read_text())["paired_permutation"]
    difference = np.array(case["b"]) - np.array(case["a"])
    patterns = np.concatenate(list(swap_patterns(7, 10_000, 0)))
    assert swap_method(7, 10_000) == "swap_exact"
    result = swap_test(float(difference.mean()), (1 - 2 * patterns) @ difference / 7, 7, "swap_exact")
    assert (result.extreme, result.draws, result.p_value) == (4, 128, 4 / 128)
    assert round(4 / 128, 3) == case["exact_two_sided_p"]
