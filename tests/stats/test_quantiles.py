"""Quantiles say how they interpolate."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.stats.quantiles import Interpolation, quantile
from tests.oracles import statistics as oracle


@pytest.mark.parametrize(
    ("interpolation", "expected"),
    [("linear", 2.5), ("lower", 2.0), ("higher", 3.0), ("nearest", 3.0), ("midpoint", 2.5)],
)
def test_the_median_of_four_depends_on_the_name(interpolation: Interpolation, expected: float) -> None:
    assert quantile(np.array([4.0, 1.0, 3.0, 2.0]), 0.5, interpolation) == expected


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), st.sampled_from([0, 25, 500, 975, 1000]))
def test_linear_is_the_interpolation_between_neighbours(values: list[int], thousandths: int) -> None:
    expected = oracle.linear_quantile([float(v) for v in values], Fraction(thousandths, 1000))
    assert quantile(np.array(values, dtype=float), thousandths / 1000, "linear") == pytest.approx(
        float(expected), abs=1e-9
    )


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40),
    st.floats(0.0, 1.0),
    st.sampled_from(["linear", "lower", "higher", "nearest", "midpoint"]),
)
def test_numpy_gives_the_same_bits(values: list[float], q: float, interpolation: Interpolation) -> None:
    array = np.array(values)
    assert quantile(array, q, interpolation) == np.quantile(array, q, method=interpolation)


def test_no_values_have_no_quantile() -> None:
    assert quantile(np.array([]), 0.5, "linear") is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_undefined_value_is_refused_not_sorted_last(bad: float) -> None:
    with pytest.raises(ValueError, match="undefined"):
        quantile(np.array([1.0, bad]), 0.5, "linear")


def test_a_quantile_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        quantile(np.array([1.0]), 2.5, "linear")
