"""The lattice of conventions: the definition is among them, each step does what it is called, equal ones are one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalframe
from evalframe.audit.conventions import DROPS, Convention, Counts, class_conventions, class_scores, spelled, value
from evalframe.audit.recorded import Recorded
from evalframe.audit.replaying import Replay
from tests.audit.releases import scores

METRICS = ("macro_f1", "accuracy", "balanced_accuracy", "worst_class_f1")
GUESSES = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), min_size=1, max_size=30)


def counted(pairs: list[tuple[int, int]], classes: int = 5) -> Counts:
    truth, guess = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    return Counts.of(truth, guess, classes)


@given(GUESSES)
def test_the_convention_of_no_step_is_the_definition(pairs: list[tuple[int, int]]) -> None:
    truth, guess = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    wanted = scores(truth, guess, 5)
    for metric in METRICS:
        first = class_conventions(metric)[0]
        assert first.steps == 0
        assert value(metric, counted(pairs), first.treatments) == pytest.approx(wanted[metric], abs=1e-15)


def test_the_definition_of_no_step_is_what_sql_computes(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    truth, guess = rng.integers(0, 4, 50), rng.integers(0, 6, 50)
    path = tmp_path / "p.npz"
    np.savez(path, y_true=truth, y_pred=guess, participant=truth, classes=np.array(list("abcdefg")))
    scored = evalframe.wisp.score(path)
    counts = Counts.of(truth, guess, 7)
    for metric in METRICS:
        replayed = value(metric, counts, class_conventions(metric)[0].treatments)
        assert replayed == pytest.approx(scored.value(metric), abs=1e-15)


# Truth a a b b c, guesses a b b b d, vocabulary a..e: a and b in both, c in the truth only, d guessed only, e absent.
FOUR_CELLS = counted([(0, 0), (0, 1), (1, 1), (1, 1), (2, 3)])
F1 = {"a": 2 / 3, "b": 4 / 5}


@pytest.mark.parametrize(
    ("metric", "name", "wanted"),
    [
        ("macro_f1", "classes: vocabulary", (F1["a"] + F1["b"]) / 5),
        ("macro_f1", "classes: truth", (F1["a"] + F1["b"]) / 3),
        ("macro_f1", "classes: predicted", (F1["a"] + F1["b"]) / 3),
        ("macro_f1", "0/0 is left out", (F1["a"] + F1["b"]) / 2),
        ("balanced_accuracy", "classes: vocabulary", (1 / 2 + 1) / 5),
        ("balanced_accuracy", "classes: observed", (1 / 2 + 1) / 4),
        ("worst_class_f1", "0/0 is left out", F1["a"]),
    ],
)
def test_each_step_treats_classes_as_it_says(metric: str, name: str, wanted: float) -> None:
    found = [each for each in class_conventions(metric) if each.names == (name,)]
    assert len(found) == 1
    assert value(metric, FOUR_CELLS, found[0].treatments) == pytest.approx(wanted, abs=1e-15)


def test_a_zero_division_of_one_needs_a_class_that_divides_by_zero() -> None:
    two = next(c for c in class_conventions("macro_f1") if c.names == ("classes: vocabulary", "0/0 is 1"))
    assert value("macro_f1", FOUR_CELLS, two.treatments) == pytest.approx((F1["a"] + F1["b"] + 1) / 5, abs=1e-15)


@pytest.mark.parametrize("metric", METRICS)
def test_no_two_conventions_of_a_metric_are_the_same_definition(metric: str) -> None:
    treatments = [each.treatments for each in class_conventions(metric)]
    assert len(set(treatments)) == len(treatments)


def test_a_minimum_does_not_tell_one_from_left_out() -> None:
    merged = [each for each in class_conventions("worst_class_f1") if "0/0 is 1" in " ".join(each.names)]
    assert [each.names for each in merged] == [("0/0 is 1 = classes: observed",)]
    assert np.isnan(class_scores("worst_class_f1", FOUR_CELLS, merged[0].treatments)[4])


def test_accuracy_knows_no_classes() -> None:
    assert [each.steps for each in class_conventions("accuracy")] == [0]
    assert value("accuracy", FOUR_CELLS, ("zero", "out", "out")) == 3 / 5


def test_windows_are_left_out_at_the_ends() -> None:
    assert {name: list(range(5))[rows] for name, rows in DROPS.items()} == {
        "": [0, 1, 2, 3, 4],
        "without the first window": [1, 2, 3, 4],
        "without the last window": [0, 1, 2, 3],
    }


DEFINITION = ("zero", "zero", "out")
WRITTEN = {
    "all digits": (Convention(DEFINITION), "0.7333333333333334", True),
    "four digits are not all": (Convention(DEFINITION), "0.7333", False),
    "four digits rounded": (Convention(DEFINITION, digits="rounded"), "0.7333", True),
    "rounded up": (Convention(DEFINITION, digits="rounded"), "0.7334", False),
    "all digits are not rounded": (Convention(DEFINITION, digits="rounded"), "0.7333333333333333", False),
    "per cent": (Convention(DEFINITION, percent=True), "73.33333333333333", True),
    "per cent rounded": (Convention(DEFINITION, percent=True, digits="rounded"), "73.33", True),
    "float32 whole": (Convention(DEFINITION, width="float32"), "0.7333333492279053", True),
    "float32 as it prints": (Convention(DEFINITION, width="float32"), "0.73333335", True),
    "float32 is not float64": (Convention(DEFINITION), "0.7333333492279053", False),
    "float16": (Convention(DEFINITION, width="float16"), "0.7333984375", True),
}


@pytest.mark.parametrize(("convention", "text", "gives"), WRITTEN.values(), ids=list(WRITTEN))
def test_a_number_is_matched_at_the_precision_it_was_written_with(
    convention: Convention, text: str, gives: bool
) -> None:
    trap = {"": Counts.of(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), 3)}
    replay = Replay(lambda _: trap, {}, 1e-12)
    assert replay.gives(convention, "m", "macro_f1", Recorded.of(text)) is gives


def test_truncated_is_told_from_rounded() -> None:
    counts = {"": Counts.of(np.array([0] * 3), np.array([0, 0, 1]), 2)}  # accuracy 2/3
    replay = Replay(lambda _: counts, {}, 1e-12)
    cut, rounded = (Convention(("zero", "out", "out"), digits=digits) for digits in ("truncated", "rounded"))
    assert replay.gives(cut, "m", "accuracy", Recorded.of("0.6666"))
    assert not replay.gives(rounded, "m", "accuracy", Recorded.of("0.6666"))
    assert replay.gives(rounded, "m", "accuracy", Recorded.of("0.6667"))
    assert not replay.gives(cut, "m", "accuracy", Recorded.of("0.6667"))


def test_fewer_bits_are_spelled_whole_and_as_they_print() -> None:
    assert spelled(1 / 3, Convention(DEFINITION, width="float32")) == (0.3333333432674408, 0.33333334)
    assert spelled(1 / 3, Convention(DEFINITION, width="float16")) == (0.333251953125,)


@pytest.mark.parametrize(
    ("text", "decimals", "significant"),
    [("0.7333", 4, 4), ("0.50", 2, 2), ("0.007", 3, 1), ("73.3", 1, 3), ("7.25e-1", 3, 3), ("0", 0, 0), ("1", 0, 1)],
)
def test_digits_are_counted_as_they_are_written(text: str, decimals: int, significant: int) -> None:
    recorded = Recorded.of(text)
    assert (recorded.decimals, recorded.significant) == (decimals, significant)
