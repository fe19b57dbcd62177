"""Floor events and robot videos: the fast ways of evaluating are held to the SQL; recall stands beside its rates."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe import floor
from evalframe.compare import sampling
from evalframe.compare.reached import recall_metric
from evalframe.protocols import protocol
from evalframe.store import Store
from evalframe.verbs.compare import compare
from evalframe.verbs.score import Run, score
from tests.protocols.easycom_floor.folders import random_sessions, write_run, write_targets
from tests.protocols.robometer_frozen.scoring import tables
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories


def both_ways(store: Store, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> list[dict[str, Any]]:
    """The rows of a comparison, after the SQL has given the same ones without any help."""
    fast = compare(store, "a", ["b"], **asked).to_pylist()
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "kernel_for", lambda *_: None)
        patch.setattr(sampling, "_quotient", lambda first, _, weights: np.full((len(weights), first.shape[1]), -1.0))
        slow = compare(store, "a", ["b"], **asked).to_pylist()
    for one, other in zip(fast, slow, strict=True):
        for name, expected in other.items():
            place = (one["metric"], one["stratum"], one["horizon_s"], name)
            assert one[name] == (pytest.approx(expected, abs=1e-11) if isinstance(expected, float) else expected), place
    return fast


def test_robot_videos(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    world = trajectories(3, tasks=2, per_outcome=6)
    noise = random.Random(4)
    other = [
        replace(
            one,
            traces={
                task: [p if p.progress is None else replace(p, progress=_moved(p.progress, noise)) for p in points]
                for task, points in one.traces.items()
            },
        )
        for one in world
    ]
    rules = protocol("robometer-ind")
    for name, rows in (("a", world), ("b", other)):
        made = tables(trace_rows(rows, run_id=name), target_rows(rows))
        dataset = made["progress_targets"]["dataset_id"][0].as_py()
        run = Run(name, "robometer", dataset, made, {"world": name})
        score(run, rules, {"top_k": "3", "tasks": "2", "rows_per_outcome": "6"}, store=store)
    rows = both_ways(store, monkeypatch, replicates=40)
    found = {row["metric"]: row for row in rows if row["stratum"] == "all"}
    assert set(found) >= {"progress_mse", "failure_f1", "top_k_final", "failure_roc_auc", "mcnemar_exact"}
    assert {row["cluster"] for row in rows if row["p_value"] is not None and row["cluster"]} == {"trajectory_id"}
    assert found["progress_mse"]["change"] is not None
    assert found["mcnemar_exact"]["n_pairs"] == found["failure_accuracy"]["baseline_denominator"]


def _moved(value: Fraction, noise: random.Random) -> Fraction:
    return min(Fraction(1), max(Fraction(0), value + Fraction(noise.randint(-2, 2), 20)))


def test_floor_events(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"S{i}" for i in range(5)]
    sessions = random_sessions(8, names)
    rng = np.random.default_rng(1)
    shifted = [
        replace(s, pred=[[float(np.clip(p + rng.normal(0, 0.2), 0, 1)) for p in row] for row in s.pred])
        for s in sessions
    ]
    floor.evaluate(
        write_targets(tmp_path / "target", sessions),
        runs={"a": write_run(tmp_path / "a", sessions), "b": write_run(tmp_path / "b", shifted)},
        sessions=names[:4],
        calibration_sessions=names[4:],
        matched_recalls=("0.5", "0.8"),
        store=store.path,
    )
    rows = both_ways(store, monkeypatch, replicates=30, horizons=[1.0, 2.0])
    assert {row["horizon_s"] for row in rows} == {1.0, 2.0}
    assert {row["recall"] for row in rows} == {None, 0.8}
    rates = [row for row in rows if row["metric"].endswith("rate_at_recall")]
    assert len(rates) == 6
    recalls = {(row["metric"], row["horizon_s"]): row for row in rows}
    for row in rates:
        beside = recalls[recall_metric(row["metric"]), row["horizon_s"]]
        assert (row["baseline_recall"], row["candidate_recall"]) == (beside["baseline"], beside["candidate"])
        if row["p_value"] is not None:
            assert row["method"] == "swap_exact, thresholds as selected"
    asked = compare(store, "a", ["b"], replicates=30, recalls=[0.5], metrics=["yield_recall"], horizons=[2.0])
    assert [row["recall"] for row in asked.to_pylist()] == [0.5]


def test_lost_recall_is_flagged(store: Store, real_data: Callable[[str], Path]) -> None:
    folder = real_data("ami_floor")
    floor.evaluate(
        folder / "target",
        runs={name: folder / name for name in ("baseline", "candidate")},
        sessions=["ES2004a", "ES2005a", "ES2010a"],
        calibration_sessions=["ES2011a"],
        store=store.path,
    )
    found = compare(store, "baseline", ["candidate"], replicates=20, horizons=[2.0])
    rows = {row["metric"]: row for row in found.to_pylist()}
    rate = rows["no_response_trigger_rate_at_recall"]
    assert rate["change"] < 0  # fewer false entries,
    assert rate["candidate_recall"] < rate["baseline_recall"] - 0.02  # and fewer true ones
    assert "recall_lost" in rate["flags"]
    slack = compare(store, "baseline", ["candidate"], replicates=20, horizons=[2.0], recall_slack=0.5)
    assert not any("recall_lost" in row["flags"] for row in slack.to_pylist())
    assert found.outcome.family["m"] == 3


@pytest.mark.parametrize(
    ("metric", "recall"),
    [
        ("no_response_trigger_rate_at_recall", "response_recall"),
        ("continue_false_stop_rate_at_recall_full_horizon", "yield_recall_full_horizon"),
        ("response_ap", None),
        ("response_recall", None),
    ],
)
def test_which_recall_stands_beside_a_rate(metric: str, recall: str | None) -> None:
    assert recall_metric(metric) == recall
