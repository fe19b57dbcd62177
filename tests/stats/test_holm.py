"""Holm over the members that can be tested."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.stats.holm import holm
from tests.oracles import statistics as oracle


@given(st.lists(st.integers(0, 1000), max_size=7))
def test_the_steps_are_the_closed_test(thousandths: list[int]) -> None:
    p_values = [t / 1000 for t in thousandths]
    assert holm(p_values).adjusted == pytest.approx(oracle.holm_by_closed_testing(p_values), abs=1e-15)


def test_an_untestable_member_keeps_its_place_and_does_not_count() -> None:
    family = holm([0.01, None, 0.03])
    assert family.adjusted == pytest.approx((0.02, None, 0.03))
    assert family.m == 2


def test_a_family_of_untestable_members() -> None:
    assert holm([None, None]).adjusted == (None, None)
    assert holm([]).m == 0


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.5])
def test_what_is_no_p_value_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="p-value"):
        holm([0.01, bad])


def test_published_family(real_data) -> None:  # type: ignore[no-untyped-def]
    case = json.loads((real_data("paired_statistics") / "cases.json").read_text())["multitest"]
    adjusted = holm(case["p"]).adjusted
    by_p = [adjusted[i] for i in sorted(range(len(case["p"])), key=lambda i: case["p"][i])]
    assert by_p == pytest.approx(case["holm_sorted"], abs=1e-12)
