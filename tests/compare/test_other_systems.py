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
from evalframe.compare.reselecting import RATES, SOURCE
from evalframe.protocols import protocol
from evalframe.store import Store
from evalframe.verbs.compare import compare
from evalframe.verbs.score import Run, score
from tests.oracles import statistics
from tests.oracles.floor import Session
from tests.protocols.easycom_floor.folders import write_run, write_targets
from tests.protocols.robometer_frozen.scoring import tables
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories


def both_ways(store: Store, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> list[dict[str, Any]]:
    """The rows of a comparison, after the SQL has given the same ones without any help."""
    fast = compare(store, "a", ["b"], **asked).to_pylist()
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "kernel_for", lambda *_: None)
        patch.setattr(sampling, "_quotients", lambda _: {})
        slow = compare(store, "a", ["b"], **asked).to_pylist()
    for one, other in zip(fast, slow, strict=True):
        for name, expected in other.items():
            place = (one["metric"], one["stratum"], one["horizon_s"], name)
            assert one[name] == (pytest.approx(expected, abs=1e-11) if isinstance(expected, float) else expected), place
    return fast


def add_videos(store: Store) -> None:
    """Two runs, `a` and `b`, over the same trajectories; `b` predicts a little other progress."""
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
    for name, rows in (("a", world), ("b", other)):
        made = tables(trace_rows(rows, run_id=name), target_rows(rows))
        dataset = made["progress_targets"]["dataset_id"][0].as_py()
        run = Run(name, "robometer", dataset, made, {"world": name})
        score(run, protocol("robometer-ind"), {"top_k": "3", "tasks": "2", "rows_per_outcome": "6"}, store=store)


def test_robot_videos(videos: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = both_ways(videos, monkeypatch, replicates=40)
    found = {row["metric"]: row for row in rows if row["stratum"] == "all"}
    assert set(found) >= {"progress_mse", "failure_f1", "top_k_final", "failure_roc_auc", "mcnemar_exact"}
    assert {row["cluster"] for row in rows if row["p_value"] is not None and row["cluster"]} == {"trajectory_id"}
    assert found["progress_mse"]["change"] is not None
    assert found["mcnemar_exact"]["n_pairs"] == found["failure_accuracy"]["baseline_denominator"]


def _moved(value: Fraction, noise: random.Random) -> Fraction:
    return min(Fraction(1), max(Fraction(0), value + Fraction(noise.randint(-2, 2), 20)))


def busy_session(rng: np.random.Generator, name: str, rows: int = 240) -> Session:
    """Two people who stop and start every few rows, and forecasts on a grid, so that scores are often equal."""
    tracks = [np.repeat(np.arange(rows) % 2, rng.geometric(0.3, rows))[:rows].tolist() for _ in range(2)]
    return Session(
        name=name,
        target=list(zip(*tracks, strict=True)),
        pred=(rng.integers(0, 21, (rows, 10)) / 20).tolist(),
        valid=np.ones((rows, 10), bool).tolist(),
        segments=[(0, rows)],
    )


def floor_runs(store: Store, folder: Path, calibration: int, quiet: int = 0) -> None:
    """Two forecasters, `a` and `b`, on four sessions, with thresholds from `calibration` other ones.

    quiet: in so many of those the others are never heard, so that there is no event.
    """
    names = [f"S{i}" for i in range(4 + calibration)]
    rng = np.random.default_rng(1)
    sessions = [busy_session(rng, name) for name in names]
    sessions[len(names) - quiet :] = [
        replace(s, target=[(wearer, 0) for wearer, _ in s.target]) for s in sessions[len(names) - quiet :]
    ]
    shifted = [
        replace(s, pred=[[float(np.clip(p + rng.normal(0, 0.2), 0, 1)) for p in row] for row in s.pred])
        for s in sessions
    ]
    floor.evaluate(
        write_targets(folder / "target", sessions),
        runs={"a": write_run(folder / "a", sessions), "b": write_run(folder / "b", shifted)},
        sessions=names[:4],
        calibration_sessions=names[4:],
        matched_recalls=("0.5", "0.8"),
        store=store.path,
    )


def test_floor_events(forecasts: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = both_ways(forecasts, monkeypatch, replicates=30, horizons=[1.0, 2.0])
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
    asked = compare(forecasts, "a", ["b"], replicates=30, recalls=[0.5], metrics=["yield_recall"], horizons=[2.0])
    assert [row["recall"] for row in asked.to_pylist()] == [0.5]


@pytest.mark.parametrize(
    ("metric", "recall", "called"),
    [
        ("yield_recall", 0.8, "1 values"),
        ("continue_false_stop_rate_at_recall", 0.5, "1 values"),
        ("continue_false_stop_rate_at_recall", 0.8, "1 primary values"),
    ],
)
def test_a_value_is_called_primary_where_the_family_holds_it(
    forecasts: Store, metric: str, recall: float, called: str
) -> None:
    found = compare(forecasts, "a", ["b"], replicates=30, recalls=[recall], metrics=[metric], horizons=[2.0])
    (said,) = found.summary()
    assert f" of {called}; " in said
    assert len(found.outcome.family["members"]) == ("primary" in called)


@pytest.fixture(
    scope="module",
    params=[(5, 0, "session"), (5, 2, "session"), (1, 0, "candidate")],
    ids=["sessions", "quiet_sessions", "candidates"],
)
def calibrated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, str]:
    """A store whose thresholds come from so many sessions, of which so many are without events, and what is resampled
    to choose them anew."""
    folder = tmp_path_factory.mktemp("floor")
    store = Store.open(folder / "store", create=True, durable=False)
    floor_runs(store, folder, *request.param[:2])
    return store, request.param[2]


@pytest.mark.parametrize("metric", sorted(RATES))
def test_thresholds_chosen_anew_in_every_replicate(calibrated: tuple[Store, str], metric: str) -> None:
    store, unit = calibrated
    replicates = 25
    found = compare(store, "a", ["b"], replicates=replicates, seed=6, horizons=[1.0], recalls=[0.5], metrics=[metric])
    (row,) = found.to_pylist()
    events = [e for e in store.read(SOURCE).to_pylist() if e["horizon_s"] == 1.0 and e["kind"] == RATES[metric].kind]
    units = sorted({e["cluster_id"] for e in events if e["role"] == "calibration"})
    if unit == "session":
        units = [f"S{i}" for i in range(4, 9)]  # also those in which nothing happens
    clusters = [f"S{i}" for i in range(4)]
    assert (row["cluster"], row["n_clusters"]) == ("session", 4)
    assert (row["calibration_unit"], row["n_calibration_units"]) == (unit, len(units))
    assert ("calibration_events_resampled" in row["flags"]) is (unit == "candidate")
    tests = np.random.default_rng(6).integers(0, 4, size=(replicates, 4))
    calibrations = np.random.default_rng([6, 2]).integers(0, len(units), size=(replicates, len(units)))
    changes = []
    for test, chosen in zip(tests, calibrations, strict=True):
        rates = [
            _rate(
                metric,
                [e for u in chosen for e in events if _is(e, run, "calibration", units[u])],
                [e for c in test for e in events if _is(e, run, "evaluation", clusters[c])],
            )
            for run in ("a", "b")
        ]
        changes.append(np.nan if None in rates else rates[1] - rates[0])
    undefined = int(np.isnan(changes).sum())
    if undefined > 0.05 * replicates:
        assert (row["ci_low_reselected"], "unstable_when_reselected" in row["flags"]) == (None, True)
        return
    bounds = np.nanpercentile(changes, [2.5, 97.5])
    assert (row["ci_low_reselected"], row["ci_high_reselected"]) == pytest.approx(tuple(bounds), abs=1e-12)


def _is(event: dict[str, Any], run: str, role: str, cluster: str) -> bool:
    return (event["run_id"], event["role"], event["cluster_id"], event["state"]) == (run, role, cluster, "scored")


def _rate(metric: str, chosen_from: list[dict[str, Any]], held: list[dict[str, Any]]) -> float | None:
    """The share of `held` events that reach the threshold for recall 0.5 of `chosen_from`, rows counted as drawn."""
    threshold = statistics.threshold([e["score"] for e in chosen_from if e["outcome"]], Fraction(1, 2))
    counted = [
        e["score"] for e in held if e["outcome"] == RATES[metric].outcome and (not RATES[metric].short or _short(e))
    ]
    if threshold is None or not counted:
        return None
    return sum(score >= threshold for score in counted) / len(counted)


def _short(event: dict[str, Any]) -> bool:
    return (
        event["competing_row"] is not None and event["competing_row"] - event["boundary_row"] <= 10
    )  # 2 s of 0.2 s rows


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
    # One session calibrates: its candidates are resampled, and the interval that chooses anew is another one.
    assert (rate["calibration_unit"], "calibration_events_resampled" in rate["flags"]) == ("candidate", True)
    assert (rate["ci_low_reselected"], rate["ci_high_reselected"]) != (rate["ci_low"], rate["ci_high"])
    flagged = [metric for metric, row in rows.items() if "recall_lost" in row["flags"]]
    slack = compare(store, "baseline", ["candidate"], replicates=20, horizons=[2.0], metrics=flagged, recall_slack=0.5)
    assert {row["metric"] for row in slack.to_pylist()} == set(flagged)
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
