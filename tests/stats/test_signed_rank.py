"""Paired groups: ranks with split zeros, rounded differences, wins and losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalframe.stats.signed_rank import WinTieLoss, average_ranks, rounded_differences, signed_rank, win_tie_loss
from tests.oracles import statistics as oracle


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_up_to_twenty_pairs_every_sign_pattern_is_counted(differences: list[int]) -> None:
    result = signed_rank(np.array(differences, dtype=float))
    assert result.method == "wilcoxon_exact"
    assert result.p_value == float(oracle.signed_rank_p([float(d) for d in differences]))
    assert result.rank_plus + result.rank_minus == len(differences) * (len(differences) + 1) / 2


def test_scipy_agrees_on_exact_p_without_ties() -> None:
    differences = np.array([0.9, -0.1, 1.7, 2.3, -0.4, 3.1, 0.2, 4.5, -1.1, 0.6])
    peer = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences).p_value == pytest.approx(peer, abs=1e-15)


def test_twenty_pairs_of_one_sign_reach_the_least_p() -> None:
    result = signed_rank(np.arange(1.0, 21.0))
    assert result.p_value == result.min_p == 2 / 2**20


def test_beyond_twenty_pairs_scipy_approximates_with_ties_and_zeros() -> None:
    differences = np.array([0.0, 0.0, 1.0, 1.0, -1.0, 2.0, 3.0] * 4)
    result = signed_rank(differences)
    peer = stats.wilcoxon(differences, zero_method="zsplit", method="asymptotic", correction=False).pvalue
    assert (result.method, result.p_value, result.zeros) == ("wilcoxon_approx", peer, 8)


@pytest.mark.parametrize("pairs", [3, 30])
def test_nothing_but_ties_is_no_evidence(pairs: int) -> None:
    assert signed_rank(np.zeros(pairs)).p_value == 1.0


def test_no_pairs_have_no_p() -> None:
    assert signed_rank(np.zeros(0)).p_value is None


def test_demsars_fourteen_data_sets_need_the_split_zeros() -> None:
    # Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006), table 2: R+ 93, R- 12.
    plain = [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000, 0.940, 0.619, 0.972, 0.957]
    tuned = [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000, 0.962, 0.666, 0.981, 0.978]
    result = signed_rank(rounded_differences(np.array(plain), np.array(tuned)))
    assert (result.rank_plus, result.rank_minus, result.zeros) == (93.0, 12.0, 2)


def test_differences_equal_but_for_round_off_are_tied() -> None:
    first = np.array([0.3, 0.7, 0.1])
    second = np.array([0.1 + 0.2, 0.8, 0.2])
    assert rounded_differences(first, second).tolist() == [0.0, 0.1, 0.1]
    assert average_ranks(np.abs(rounded_differences(first, second))).tolist() == [1.0, 2.5, 2.5]


@pytest.mark.parametrize(("better", "expected"), [("higher", WinTieLoss(2, 1, 1)), ("lower", WinTieLoss(1, 1, 2))])
def test_a_win_is_in_the_better_direction(better, expected: WinTieLoss) -> None:  # type: ignore[no-untyped-def]
    assert win_tie_loss(np.array([0.1, 0.2, 0.0, -0.5]), better) == expected


def test_an_undefined_value_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="finite"):
        rounded_differences(np.array([0.1, np.nan]), np.array([0.1, 0.2]))
