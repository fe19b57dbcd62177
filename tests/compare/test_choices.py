"""Comparisons of choice questions: populations, rank metrics, metrics that one side does not have."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.compare import sampling
from evalframe.errors import ExitCode, UsageError
from evalframe.protocols import protocol
from evalframe.sources.choice import rows_run
from evalframe.store import Store
from evalframe.verbs import kev
from evalframe.verbs.compare import Comparison, compare
from evalframe.verbs.score import Run, score
from tests.oracles import statistics as oracle

METRICS = (
    "accuracy",
    "nll",
    "ece",
    "confidence_bias",
    "accuracy_at_0_9",
    "coverage_at_error_0.01",
    "coverage_at_error_0.05",
    "aurc",
    "selective_coverage_0.5",
    "selective_coverage_0.8",
    "selective_accuracy_0.5",
    "selective_accuracy_0.8",
)


def questions(count: int, groups: int, *, skill: float, seed: int) -> list[dict[str, Any]]:
    """Rows of one run; labels, groups and tasks are the same for every seed. Confidences repeat: there are ties."""
    world, model = np.random.default_rng(5), np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label = int(world.integers(0, 3))
        group, task = int(world.integers(0, groups)), int(world.integers(0, 2))
        sharp = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5][int(model.integers(0, 6))]
        right = model.random() < skill * sharp + 0.2
        best = label if right else (label + int(model.integers(1, 3))) % 3
        p = [(1.0 - sharp) / 2] * 3
        p[best] = sharp
        rows.append(
            {
                "id": f"q{number:03d}",
                "group": f"g{group:02d}",
                "question": "decision",
                "source": "unknowable" if number % 17 == 0 else "exam",
                "task": f"t{task}",
                "type": "choice",
                "variant": "clean" if number % 5 else "reworded",
                "keys": ["a", "b", "c"],
                "label": None if number % 17 == 0 else label,
                "p": p,
            }
        )
    return rows


def add(store: Store, run_id: str, rows: Sequence[dict[str, Any]], label: str = "kev-choice/2") -> None:
    run = rows_run(rows, run_id)
    score(Run(run_id, "kev", run.dataset_id, run.tables, run.inputs), protocol(label), store=store)


def rows_of(found: Comparison, stratum: str = "headline") -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in found.to_pylist() if row["stratum"] == stratum}


def test_headline_and_whole_are_compared_by_default(answers: Store) -> None:
    found = compare(answers, "a", ["b"], replicates=40)
    assert found.exit_code == ExitCode.OK
    assert {row["stratum"] for row in found.to_pylist()} == {"headline", "all"}
    assert found.outcome.family["m"] == 3
    assert {member["metric"] for member in found.outcome.family["members"]} == {"accuracy", "nll", "ece"}
    assert {member["stratum"] for member in found.outcome.family["members"]} == {"headline"}
    row = rows_of(found)["accuracy"]
    assert (row["cluster"], row["unit"], row["method"]) == ("group", "proportion", "swap_mc")


def test_every_way_of_evaluating_gives_what_the_sql_gives(answers: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"replicates": 24, "strata": ["task=t1", "all"], "metrics": METRICS}
    fast = compare(answers, "a", ["b"], **asked).to_pylist()
    monkeypatch.setattr(sampling, "kernel_for", lambda *_: None)
    monkeypatch.setattr(sampling, "_quotients", lambda _: {})
    slow = compare(answers, "a", ["b"], **asked).to_pylist()
    assert len(fast) == len(slow) >= 2 * len(METRICS)
    for one, other in zip(fast, slow, strict=True):
        for name, expected in other.items():
            place = (one["metric"], one["stratum"], name)
            if isinstance(expected, float):
                assert one[name] == pytest.approx(expected, abs=1e-11), place
            else:
                assert one[name] == expected, place


def test_rank_metrics_are_those_of_resampled_rows(answers: Store) -> None:
    replicates = 30
    found = rows_of(compare(answers, "a", ["b"], replicates=replicates, metrics=["aurc", "coverage_at_error_0.05"]))
    sides = [_labelled(questions(160, 24, skill=s, seed=i)) for s, i in ((0.6, 1), (0.8, 2))]
    for metric in ("aurc", "coverage_at_error_0.05"):
        changes = []
        for ids in oracle.drawn_clusters(list(sides[0]), replicates, seed=0):
            values = [_value(metric, oracle.resampled_rows(side, ids)) for side in sides]
            changes.append(values[1] - values[0])
        bounds = np.percentile(changes, [2.5, 97.5])
        assert (found[metric]["ci_low"], found[metric]["ci_high"]) == pytest.approx(tuple(bounds), abs=1e-12)


def _labelled(rows: Sequence[dict[str, Any]]) -> dict[str, list[tuple[float, bool]]]:
    found: dict[str, list[tuple[float, bool]]] = {}
    for row in rows:
        if row["variant"] == "clean" and row["label"] is not None:
            best = max(row["p"])
            found.setdefault(row["group"], []).append((best, row["p"].index(best) != row["label"]))
    return found


def _value(metric: str, items: Sequence[tuple[float, bool]]) -> float:
    value = (
        oracle.area_under_risk_coverage(items)
        if metric == "aurc"
        else oracle.coverage_at_error(items, 0, Fraction(1, 20))
    )
    assert value is not None
    return value


def test_a_metric_that_one_side_has_no_rows_for_is_undefined(store: Store) -> None:
    sure = questions(60, 6, skill=0.8, seed=1)
    unsure = [{**row, "p": [0.4, 0.3, 0.3]} for row in sure]
    add(store, "a", sure)
    add(store, "b", unsure)
    row = rows_of(compare(store, "a", ["b"], replicates=20, metrics=["accuracy_at_0_9"]))["accuracy_at_0_9"]
    assert (row["status"], row["reason"]) == ("undefined", "no_rows_above_cutoff")
    assert (row["candidate"], row["change"], row["p_value"]) == (None, None, None)
    assert row["baseline"] is not None
    assert "denominator_differs" in row["flags"]


def test_the_two_policies_are_two_questions(store: Store) -> None:
    rows = questions(60, 6, skill=0.8, seed=1)
    add(store, "a", rows)
    add(store, "b", rows, label="kev-choice/1")
    found = compare(store, "a", ["b"], replicates=20)
    assert (found.verdict, found.reasons) == ("not_comparable", ["fingerprint_differs"])
    assert {d.field: d.kind for d in found.outcome.protocol_diff}["protocol.version"] == "score_affecting"
    assert found.exit_code == ExitCode.NOT_COMPARABLE


def test_a_stratum_that_nobody_has_is_refused(answers: Store) -> None:
    found = compare(answers, "a", ["b"], replicates=20, metrics=["accuracy"], strata=["task=t9"])
    (row,) = (r for r in found.to_pylist() if r["metric"] == "accuracy")
    assert (row["status"], row["reason"], found.verdict) == ("refused", "unsupported_stratum", "not_comparable")


def test_clusters_by_another_column(answers: Store) -> None:
    by = {
        column: rows_of(compare(answers, "a", ["b"], replicates=50, metrics=["accuracy"], cluster=column))["accuracy"]
        for column in ("group", "item_id", "id", "task")
    }
    assert {column: row["cluster"] for column, row in by.items()} == {column: column for column in by}
    n_answers, n_groups = by["group"]["baseline_denominator"], by["group"]["n_clusters"]
    assert {column: row["n_clusters"] for column, row in by.items()} == {
        "group": n_groups, "item_id": n_answers, "id": n_answers, "task": 2
    }  # fmt: skip
    assert n_groups < n_answers
    assert {row["change"] for row in by.values()} == {by["task"]["change"]}


@pytest.mark.parametrize(("column", "told"), [("p", "lists"), ("keys", "no column"), ("pair_id", "empty in every row")])
def test_a_column_that_cannot_make_clusters_is_refused(answers: Store, column: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as refusal:
        compare(answers, "a", ["b"], replicates=20, metrics=["accuracy"], cluster=column)
    assert refusal.value.where == "--cluster"


def test_a_metric_that_no_side_has_is_absent_and_fails_its_gate(store: Store, tmp_path: Path) -> None:
    for name, right in (("a", 7), ("b", 8)):
        lines = [f"q{i},{0.5 + i / 40},{'true' if i < right else 'false'}" for i in range(10)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,confidence,correct", *lines]) + "\n")
        kev.score(outcomes=tmp_path / f"{name}.csv", store=store.path, run_id=name)
    found = compare(store, "a", ["b"], replicates=20, metrics=["nll"], fail_if_worse=["nll:5"])
    row = rows_of(found)["nll"]
    assert (row["status"], row["reason"], row["change"]) == ("refused", "metric_absent", None)
    assert not found.gates[0].passed
    assert found.exit_code == ExitCode.NOT_COMPARABLE
    gated = compare(store, "a", ["b"], replicates=20, metrics=["accuracy"], fail_if_worse=["nll:5"])
    assert (gated.verdict, gated.exit_code) == ("comparable", ExitCode.GATE_FAILED)
