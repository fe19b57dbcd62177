"""McNemar's p-values are quotients of integers."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalframe.stats.mcnemar import mcnemar
from tests.oracles import statistics as oracle


@given(st.integers(0, 60), st.integers(0, 60))
def test_both_p_values_are_the_exact_tails_rounded_once(b: int, c: int) -> None:
    exact, mid_p = oracle.mcnemar_p(b, c)
    result = mcnemar(b, c)
    assert (result.exact, result.mid_p) == (float(exact), float(mid_p))


def test_no_discordant_pair_gives_one() -> None:
    assert (mcnemar(0, 0).exact, mcnemar(0, 0).mid_p) == (1.0, 1.0)


def test_exact_and_mid_p_of_nine_against_one() -> None:
    assert round(mcnemar(9, 1).exact, 5) == 0.02148
    assert round(mcnemar(9, 1).mid_p, 5) == 0.01172
    assert mcnemar(1, 9).exact == mcnemar(9, 1).exact


def test_scipy_agrees_on_large_counts() -> None:
    for b, c in [(410, 300), (5_000, 5_100), (25_000, 24_700), (25_000, 25_000)]:
        peer = stats.binomtest(min(b, c), b + c, 0.5).pvalue
        assert mcnemar(b, c).exact == pytest.approx(peer, rel=1e-9)


def test_a_p_too_small_for_a_double_is_not_zero() -> None:
    assert mcnemar(3_000, 0).exact == 5e-324
    assert Fraction(2, 2**3000) < Fraction(5e-324)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(-1, 2)


def test_published_tables(real_data) -> None:  # type: ignore[no-untyped-def]
    cases = json.loads((real_data("paired_statistics") / "cases.json").read_text())["mcnemar"]
    assert len(cases) == 6
    for case in cases:
        (_, b), (c, _) = case["table"]
        published = case["exact_p"]
        digits = len(repr(published).split("e")[0].replace(".", "").lstrip("0"))
        assert math.isclose(mcnemar(b, c).exact, published, rel_tol=10.0 ** (1 - min(digits, 12))), case
