"""Small inputs that other tools get wrong, each with the value that is owed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.protocols.kev_choice.scoring import evaluated, run, values

Row = dict[str, Any]


def asked(number: int, p: list[float] | None, label: int | None, **more: Any) -> Row:
    k = len(p) if p else 2
    failed = {} if p else {"error": "timeout"}
    keys = [f"k{i}" for i in range(k)]
    return {"id": f"q{number}", "type": "choice", "keys": keys, "label": label, "p": p, **failed, **more}


def sure(number: int, confidence: float, correct: bool, **more: Any) -> Row:
    """A question answered with this confidence, which is at least one half."""
    return asked(number, [confidence, 1.0 - confidence], 0 if correct else 1, **more)


def value(
    rows: list[Row], metric: str, policy: str = "kev-choice/2", stratum: str = "all", **settings: str
) -> float | None:
    name = {"accuracy": "choice_accuracy"}.get(metric, metric)
    found: float | None = values([run(rows)], policy, settings, metrics=(name,))["r", metric, stratum]["value"]
    return found


def test_failures_do_not_vanish() -> None:
    rows = [sure(i, 0.75, i < 80) for i in range(90)] + [asked(i, None, 0) for i in range(90, 100)]
    assert value(rows, "accuracy") == 0.8
    assert value(rows, "accuracy", failed="excluded") == 80 / 90
    found = values([run(rows)], metrics=("nll", "choice_accuracy"))
    assert (found["r", "accuracy", "all"]["n_excluded"], found["r", "accuracy", "all"]["n_failed"]) == (0, 10)
    assert (found["r", "nll", "all"]["n_excluded"], found["r", "nll", "all"]["n_failed"]) == (10, 10)


def test_a_failed_question_is_never_accepted_and_stays_in_every_coverage() -> None:
    rows = [sure(0, 0.95, True), sure(1, 0.9, False), asked(2, None, 0), asked(3, None, 0)]
    found = values([run(rows)])
    expected = {
        "coverage_at_0_9": 0.5,
        "coverage_at_error_0.05": 0.25,
        "confident_error_rate": 0.25,
        "selective_coverage_0.8": 0.5,
        "selective_accuracy_0.8": 0.5,
        "aurc": (0 + 1 / 2) / 4,
        "mean_confidence": 0.925,
        "confidence_bias": 0.425,
    }
    assert {name: found["r", name, "all"]["value"] for name in expected} == pytest.approx(expected, abs=1e-15)


def test_every_question_failed() -> None:
    found = values([run([asked(0, None, 0), asked(1, None, 1)])])
    assert found["r", "accuracy", "all"]["value"] == 0.0
    reasons = {name: found["r", name, "all"]["reason"] for name in ("nll", "ece", "mean_confidence", "aurc")}
    assert reasons == {
        "nll": "no_items",
        "ece": "no_items",
        "mean_confidence": "no_items",
        "aurc": "no_rows_above_cutoff",
    }


def test_no_rows_at_all() -> None:
    found = values([run([])])
    assert {key[2] for key in found} == {"all", "clean", "headline", "unknowable"}
    for (_, metric, _), row in found.items():
        if metric in ("pairs", "invariant_pairs", "incomplete_pairs", "control_pairs", "incomplete_control_pairs"):
            assert row["value"] == 0.0
        else:
            assert row["value"] is None
            assert row["reason"] in ("no_items", "no_pairs")
        assert row["n_items"] == 0


def test_a_group_without_a_name_is_a_group() -> None:
    rows = [sure(0, 0.75, True, task="a"), sure(1, 0.75, False, task="b"), sure(2, 0.75, True)]
    found = values([run(rows)], metrics=("choice_accuracy",))
    counts = {stratum: row["n_items"] for (_, _, stratum), row in found.items() if stratum.startswith("task=")}
    assert counts == {"task=a": 1, "task=b": 1, "task=": 1}
    assert sum(counts.values()) == found["r", "accuracy", "clean"]["n_items"]


def test_the_bin_of_certainty() -> None:
    assert value([sure(0, 0.95, True), sure(1, 1.0, False)], "ece") == pytest.approx(0.475, abs=1e-15)


def test_certain_and_wrong() -> None:
    assert value([asked(0, [0.0, 1.0], 0)], "nll") == pytest.approx(-math.log(1e-9), abs=1e-14)
    assert value([asked(0, [0.0, 1.0], 0)], "nll", nll_floor="0.5") == pytest.approx(math.log(2), abs=1e-15)


def test_the_brier_score_is_the_sum_over_classes() -> None:
    rows = [
        asked(i, [float(k == guess) for k in range(3)], label)
        for i, (guess, label) in enumerate([(0, 0), (1, 1), (0, 2)])
    ]
    assert value(rows, "brier") == pytest.approx(2 / 3, abs=1e-15)


def test_the_first_of_two_largest_is_the_answer() -> None:
    assert value([asked(0, [0.25, 0.375, 0.375], 1)], "accuracy") == 1.0
    assert value([asked(0, [0.25, 0.375, 0.375], 2)], "accuracy") == 0.0


@pytest.mark.parametrize("wrong", [(0, 1), (1, 0)])
def test_aurc_under_ties(wrong: tuple[int, int]) -> None:
    assert value([sure(i, 0.5, not w) for i, w in enumerate(wrong)], "aurc") == 0.5


def test_aurc_by_hand() -> None:
    rows = [sure(0, 0.99, True), sure(1, 0.9, True), sure(2, 0.8, False)]
    assert value(rows, "aurc") == pytest.approx(1 / 9, abs=1e-15)


def test_the_scale_of_the_ranked_probability_score() -> None:
    assert value([asked(0, [1.0, 0.0, 0.0], 2, type="score")], "rps") == 1.0


@pytest.mark.parametrize(("policy", "expected"), [("kev-choice/1", 0.94), ("kev-choice/2", 0.0)])
def test_a_hundred_equal_confidences(policy: str, expected: float) -> None:
    """The first 90 are right: row by row 94 can be accepted, together none can."""
    rows = [sure(i, 0.99, i < 90) for i in range(100)]
    assert value(rows, "coverage_at_error_0.05", policy) == expected


def test_the_last_point_within_the_budget_counts() -> None:
    """1 of 20 wrong at the end is within 0.05, although every earlier point after the first error is not."""
    rows = [sure(0, 0.999, False), *(sure(i, 0.99 - i / 1000, True) for i in range(1, 20))]
    assert value(rows, "coverage_at_error_0.05") == 1.0
    assert value(rows, "coverage_at_error_0.01") == 0.0


def test_a_tie_that_only_the_rows_order_breaks() -> None:
    rows = [sure(0, 0.99, True), sure(1, 0.99, False), sure(2, 0.9, True), sure(3, 0.8, True)]
    assert value(rows, "coverage_at_error_0.05", "kev-choice/1") == 0.25
    assert value(rows[1::-1] + rows[2:], "coverage_at_error_0.05", "kev-choice/1") == 0.0
    assert value(rows, "coverage_at_error_0.05") == 0.0


def test_unknowable_and_unlabelled_rows_give_confidence_only() -> None:
    rows = [
        sure(0, 0.75, True),
        sure(1, 0.95, True, source="unknowable"),
        asked(2, [1.0, 0.0], None),
        sure(3, 0.5, False, source="s"),
    ]
    found = values([run(rows)])
    assert found["r", "accuracy", "all"]["value"] == 0.5
    assert found["r", "accuracy", "all"]["n_excluded"] == 2
    assert found["r", "mean_confidence", "all"]["value"] == pytest.approx(0.8, abs=1e-15)
    assert found["r", "coverage_at_0_9", "all"]["value"] == 0.5
    assert found["r", "confidence_bias", "all"]["value"] == pytest.approx(0.125, abs=1e-15)
    assert found["r", "accuracy", "unknowable"]["reason"] == "no_items"
    assert found["r", "mean_confidence", "unknowable"]["value"] == 0.95
    assert found["r", "accuracy", "headline"]["n_items"] == 3


def test_populations() -> None:
    rows = [
        sure(0, 0.75, True, task="t", source="s"),
        sure(1, 0.75, False, task="t", source="unknowable"),
        sure(2, 0.75, False, task="u", source="s", variant="reversed"),
    ]
    found = values([run(rows)], metrics=("choice_accuracy",))
    assert {stratum: (row["n_items"], row["value"]) for (_, _, stratum), row in found.items()} == {
        "all": (3, 0.5),
        "clean": (2, 1.0),
        "headline": (1, 1.0),
        "unknowable": (1, None),
        "task=t": (2, 1.0),
        "type=choice": (2, 1.0),
        "source=s": (1, 1.0),
        "source=unknowable": (1, None),
        "variant=clean": (2, 1.0),
        "variant=reversed": (1, 0.0),
    }


def test_pairs_compare_options_by_key() -> None:
    """The same key at another index is the same answer."""
    common = {"type": "choice", "pair_id": "p"}
    rows = [
        {**common, "id": "a", "sibling": "a", "keys": ["yes", "no"], "label": 0, "p": [1.0, 0.0]},
        {**common, "id": "b", "sibling": "b", "keys": ["no", "yes"], "label": 1, "p": [0.0, 1.0]},
    ]
    found = values([run(rows)])
    assert found["r", "invariant_pairs", "all"]["value"] == 1.0
    assert found["r", "invariance_rate", "all"]["value"] == 1.0
    assert found["r", "invariant_both_correct_rate", "all"]["value"] == 1.0
    assert found["r", "flip_rate", "all"]["reason"] == "no_pairs"


def test_clusters_are_groups_or_single_rows() -> None:
    rows = [sure(0, 0.75, True, group="g"), sure(1, 0.75, True, group="g"), sure(2, 0.75, True)]
    sums = evaluated([run(rows)], ["choice_sums"], pooled=False)["choice_sums"].to_pylist()
    assert {row["cluster_id"]: row["n"] for row in sums if row["stratum"] == "all"} == {"g": 2, "q2": 1}


def test_a_family_counts_once_however_large() -> None:
    rows = [sure(i, 0.75, True, family="large") for i in range(50)] + [sure(50, 0.75, False, task="small")]
    assert value(rows, "family_balanced_accuracy") == 0.5
    assert value(rows, "accuracy") == 50 / 51
