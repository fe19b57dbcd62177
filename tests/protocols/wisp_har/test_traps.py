"""Small inputs on which other tools went wrong, with the value owed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.oracles.classification import Window
from tests.protocols.wisp_har.scoring import METRICS, evaluate, tables, values


def run(truth: Sequence[int], predicted: Sequence[int | None]) -> list[Window]:
    return [Window("p", t, p) for t, p in zip(truth, predicted, strict=True)]


def test_a_class_that_nobody_did_is_in_the_worst_but_not_in_the_mean() -> None:
    found = values(tables({"r": run([0, 0, 1, 1], [0, 0, 1, 0])}, 3))
    assert found["macro_f1"] == pytest.approx(0.8 / 2 + 2 / 3 / 2, abs=1e-15)
    assert found["worst_class_f1"] == 0
    assert found["accuracy"] == found["balanced_accuracy"] == 0.75


def test_a_class_that_was_only_predicted_has_no_recall_to_average() -> None:
    assert values(tables({"r": run([1, 1], [1, 2])}, 3))["balanced_accuracy"] == 0.5


@pytest.mark.parametrize(("policy", "accuracy", "n_excluded"), [("wrong", 80 / 100, 0), ("excluded", 80 / 90, 10)])
def test_failures_do_not_vanish(policy: str, accuracy: float, n_excluded: int) -> None:
    windows = run([0] * 100, [0] * 80 + [1] * 10 + [None] * 10)
    (row,) = evaluate(tables({"r": windows}, 2), failed=policy)["accuracy"]
    assert row["value"] == accuracy
    assert (row["n_items"], row["n_failed"], row["n_excluded"]) == (100, 10, n_excluded)


def test_a_run_where_everything_failed_is_wrong_or_undefined() -> None:
    windows = run([0, 1], [None, None])
    assert values(tables({"r": windows}, 2)) == dict.fromkeys(METRICS, 0.0)
    assert values(tables({"r": windows}, 2), failed="excluded") == dict.fromkeys(METRICS, None)


def test_no_windows_leave_an_undefined_row_for_each_metric() -> None:
    rows = evaluate(tables({"r": [], "s": run([0], [0])}, 2))
    for metric in METRICS:
        (empty,) = [row for row in rows[metric] if row["run_id"] == "r"]
        assert (empty["stratum"], empty["value"], empty["status"], empty["reason"]) == (
            "all",
            None,
            "undefined",
            "no_items",
        )
        assert (empty["n_items"], empty["n_excluded"], empty["n_failed"]) == (0, 0, 0)


def test_text_labels_that_look_like_numbers_stay_apart() -> None:
    """Run ids are joined as text: `1.10` and `1.1` are two runs."""
    runs = {name: run([0, 1], [0, guess]) for name, guess in (("1.10", 1), ("1.1", 0), ("00042", 0), ("42", 1))}
    rows = evaluate(tables(runs, 2))["accuracy"]
    assert {row["run_id"]: row["value"] for row in rows} == {"1.10": 1.0, "1.1": 0.5, "00042": 0.5, "42": 1.0}
