"""--fail-if-worse: what passes, what fails, and in which direction."""

from typing import Any

import pytest

from evalframe.compare.gates import Gate
from evalframe.errors import ExitCode, UnknownName, UsageError
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import Item, add_run


def row(**given: Any) -> dict[str, Any]:
    base = {
        "metric": "accuracy",
        "candidate_run": "b",
        "stratum": "all",
        "better": "higher",
        "unit": "proportion",
        "change": -0.01,
        "ci_low": -0.03,
        "ci_high": 0.01,
        "reason": None,
    }
    return {**base, **given}


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("nll", Gate("nll")),
        ("nll:0.5", Gate("nll", 0.5)),
        ("macro_f1:1:ci", Gate("macro_f1", 1.0, by_interval=True)),
        ("macro_f1:ci", Gate("macro_f1", by_interval=True)),
        ("macro_f1::ci", Gate("macro_f1", by_interval=True)),
    ],
)
def test_a_check_is_read(text: str, gate: Gate) -> None:
    assert Gate.parse(text) == gate


@pytest.mark.parametrize("text", ["", ":1", "nll:", "nll:x", "nll:-1", "nll:nan", "nll:inf", "nll:1:p", "nll:1:ci:x"])
def test_what_is_no_check_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="regression check"):
        Gate.parse(text)


@pytest.mark.parametrize(
    ("gate", "given", "passes"),
    [
        (Gate("accuracy"), {}, False),
        (Gate("accuracy", 1.0), {}, True),  # one percentage point is the change itself: not more than it
        (Gate("accuracy", 0.99), {}, False),
        (Gate("accuracy", 1.0), {"change": 0.79 - 0.8}, True),  # -0.010000000000000009
        (Gate("accuracy", 3.0, by_interval=True), {"ci_low": 0.05 - 0.08}, False),  # -0.03, or a hair above it
        (Gate("accuracy"), {"change": 0.0}, True),
        (Gate("accuracy"), {"better": "lower"}, True),
        (Gate("accuracy"), {"better": "lower", "change": 0.01}, False),
        (Gate("accuracy", 2.0), {"unit": "nats", "change": -1.9}, True),
        (Gate("accuracy", 3.0, by_interval=True), {}, False),  # the interval reaches the margin
        (Gate("accuracy", 3.1, by_interval=True), {}, True),
        (Gate("accuracy", 1.0, by_interval=True), {"better": "lower"}, False),
        (Gate("accuracy", 1.1, by_interval=True), {"better": "lower"}, True),
        (Gate("accuracy", 5.0, by_interval=True), {"ci_low": None, "ci_high": None, "reason": "one_cluster"}, False),
        (Gate("accuracy", 5.0), {"change": None, "reason": "metric_absent"}, False),
        (Gate("accuracy", 5.0), {"better": "none"}, False),
        (Gate("nll", 5.0), {}, False),
    ],
)
def test_a_gate_judges_in_the_bad_direction(gate: Gate, given: dict[str, Any], passes: bool) -> None:
    result = gate.verdict([row(**given)])
    assert result.passed is passes
    assert bool(result.failures) is not passes


def test_every_candidate_must_pass(store: Store) -> None:
    rows = [Item(f"{p}/{i}", f"p{p}", i % 3, i % 3) for p in range(4) for i in range(6)]
    add_run(store, "a", rows)
    add_run(store, "same", rows)
    add_run(store, "worse", [rows[0]._replace(predicted=2), *rows[1:]])
    good = compare(store, "a", ["same"], replicates=20, fail_if_worse=["accuracy"])
    bad = compare(store, "a", ["same", "worse"], replicates=20, fail_if_worse=["accuracy"])
    assert (good.exit_code, bad.exit_code) == (ExitCode.OK, ExitCode.GATE_FAILED)
    assert [gate["passed"] for gate in bad.body()["fail_if_worse"]] == [False]
    assert "worse: accuracy" in bad.gates[0].failures[0]
    assert compare(store, "a", ["worse"], replicates=20, fail_if_worse=["accuracy:10"]).exit_code == ExitCode.OK


@pytest.mark.parametrize("by_interval", [False, True])
def test_a_limit_of_nothing_has_no_sign(by_interval: bool) -> None:
    (why,) = Gate("accuracy", by_interval=by_interval).verdict([row()]).failures
    assert why.endswith(" 0")


def test_an_unknown_metric_of_a_check_is_said_to_be_of_the_check(store: Store) -> None:
    rows = [Item(f"{p}/{i}", f"p{p}", i % 3, i % 3) for p in range(2) for i in range(3)]
    for name in ("a", "b"):
        add_run(store, name, rows)
    with pytest.raises(UnknownName) as refused:
        compare(store, "a", ["b"], fail_if_worse=["f2"])
    assert refused.value.where == "--fail-if-worse"
