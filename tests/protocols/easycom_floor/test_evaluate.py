"""From folders to files: every cell of every file is the oracle's, in each mode; nothing refused is half-written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.errors import (
    CalibrationLeak,
    CalibrationMissing,
    EvalframeError,
    RunNamesDiffer,
    SessionMissing,
    SessionNameRefused,
    StoreConflict,
    UsageError,
)
from evalframe.floor import evaluate
from evalframe.store import Store
from evalframe.verbs.floor import Evaluated
from tests.oracles import floor as oracle
from tests.protocols.easycom_floor.folders import (
    random_sessions,
    rows_of,
    write_addressee,
    write_run,
    write_segments,
    write_targets,
)

TEST = [f"t{i}" for i in range(12)]
TRAIN = [f"c{i}" for i in range(8)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data set with a segment map and annotation, and two models' forecasts of it."""
    folder = tmp_path_factory.mktemp("world")
    sessions = random_sessions(1, [*TEST, *TRAIN], annotated=True)
    write_targets(folder / "target", sessions)
    write_run(folder / "one", sessions)
    write_run(folder / "two", [other(s) for s in sessions])
    write_segments(folder / "segments.csv", sessions)
    write_addressee(folder / "addressee.csv", sessions)
    return folder


def other(session: oracle.Session) -> oracle.Session:
    """The same labels with the other model's forecasts."""
    rng = np.random.default_rng(len(session.target))
    pred = rng.integers(0, 8, (len(session.target), 10)) / 7
    return oracle.Session(
        session.name, session.target, pred.tolist(), session.valid, session.segments, session.addressee
    )


def oracles() -> dict[str, list[oracle.Session]]:
    one = random_sessions(1, [*TEST, *TRAIN], annotated=True)
    return {"one": one, "two": [other(s) for s in one]}


def run(world: Path, **options: Any) -> Evaluated:
    given: dict[str, Any] = {
        "runs": {"one": world / "one", "two": world / "two"},
        "sessions": TEST,
        "calibration_sessions": TRAIN,
        "segments": world / "segments.csv",
        "addressee": world / "addressee.csv",
        **options,
    }
    return evaluate(world / "target", **given)


def close(cell: str, wanted: Fraction | float | int | None) -> bool:
    return cell == "" if wanted is None else math.isclose(float(cell), wanted, rel_tol=1e-12, abs_tol=1e-15)


def expected(
    sessions: list[oracle.Session], timing: str, horizon: int, stratum: str | None, thresholds: Mapping[str, Any]
) -> dict[str, Any]:
    """One row of events.csv by the oracle. thresholds: by (kind, recall), those of each session."""
    found: dict[str, Any] = {}
    for kind, words in (("response", ("response", "no_response")), ("yield", ("yield", "continue"))):
        events = [
            e
            for s in sessions
            if s.name in TEST
            for e in oracle.events(s, timing, [horizon])
            if e.kind == kind and stratum in (None, e.stratum)
        ]
        for label in ("0.7", "0.8", "0.9"):
            rates = oracle.rates(events, thresholds[kind, label], 10)
            found |= {
                f"n_{kind}_candidates": rates.n_candidates,
                f"n_{words[0]}": rates.n_positive,
                f"n_{words[1]}": rates.n_negative,
                f"n_{kind}_censored": rates.n_censored,
                f"n_{kind}_invalid": rates.n_invalid,
                f"n_{kind}_empty_window": rates.n_empty,
                f"n_{kind}_truncated": rates.n_truncated,
                f"{kind}_ap": oracle.event_ap(events),
                f"{kind}_recall_{label}": rates.recall(),
            }
            if kind == "response":
                found |= {
                    "n_short_resume": rates.n_short_resume,
                    f"no_response_trigger_rate_at_recall_{label}": rates.false_rate(),
                    f"no_response_trigger_count_at_recall_{label}": rates.negatives_triggered,
                    f"short_resume_trigger_rate_at_recall_{label}": rates.short_resume_rate(),
                    f"short_resume_trigger_count_at_recall_{label}": rates.short_resume_triggered,
                }
            else:
                found |= {
                    f"continue_false_stop_rate_at_recall_{label}": rates.false_rate(),
                    f"continue_false_stop_count_at_recall_{label}": rates.negatives_triggered,
                }
    return found


def thresholds(
    sessions: list[oracle.Session], timing: str, horizon: int, folds: list[tuple[list[str], list[str]]]
) -> dict[tuple[str, str], dict[str, float | None]]:
    by_name = {s.name: s for s in sessions}
    return {
        (kind, label): {
            name: oracle.threshold(
                [e for c in calibrating for e in oracle.events(by_name[c], timing, [horizon])],
                kind,
                horizon,
                Fraction(label),
            )
            for evaluated, calibrating in folds
            for name in evaluated
        }
        for kind in ("response", "yield")
        for label in ("0.7", "0.8", "0.9")
    }


@pytest.mark.parametrize("timing", ["pre-boundary", "post-boundary"])
def test_every_cell(world: Path, timing: str, tmp_path: Path) -> None:
    run(world, decision_timing=timing, output=tmp_path / "out.json")
    rows = rows_of(tmp_path / "out_events.csv")
    strata = rows_of(tmp_path / "out_strata.csv")
    assert [(r["run"], r["horizon_s"]) for r in rows] == [(n, str(k / 5)) for n in ("one", "two") for k in range(1, 11)]
    for name, sessions in oracles().items():
        for horizon in range(1, 11):
            chosen = thresholds(sessions, timing, horizon, [(TEST, TRAIN)])
            (row,) = (r for r in rows if r["run"] == name and float(r["horizon_s"]) == horizon / 5)
            assert row["decision_timing"] == timing
            assert row["tainted"] == "false"
            for column, wanted in expected(sessions, timing, horizon, None, chosen).items():
                assert close(row[column], wanted), (column, row[column], wanted)
            for kind, label in chosen:
                assert close(row[f"{kind}_threshold_at_recall_{label}"], chosen[kind, label]["t0"])
            for row in strata:
                if row["run"] == name and float(row["horizon_s"]) == horizon / 5:
                    for column, wanted in expected(sessions, timing, horizon, row["stratum"], chosen).items():
                        assert close(row[column], wanted), (column, row[column], wanted)
                    evaluated = [s for s in sessions if s.name in TEST]
                    entry, stop = (
                        Fraction(sum(oracle.exposed_rows(s, w, horizon, row["stratum"]) for s in evaluated), 300)
                        for w in (0, 1)
                    )
                    assert close(row["exposure_minutes"], entry + stop)
                    count = row["no_response_trigger_count_at_recall_0.8"]
                    wanted = None if not count or not entry else Fraction(int(count)) / entry
                    assert close(row["false_entries_per_minute_at_recall_0.8"], wanted)
                    count = row["continue_false_stop_count_at_recall_0.8"]
                    wanted = None if not count or not stop else Fraction(int(count)) / stop
                    assert close(row["false_stops_per_minute_at_recall_0.8"], wanted)
    assert {r["stratum"] for r in strata} == {"third_party", "addressed", "group_or_unknown", "unannotated"}


def test_the_columns_of_every_file(world: Path, tmp_path: Path) -> None:
    run(world, runs={"one": world / "one"}, matched_recalls=["0.80"], output=tmp_path / "a.b")
    heads = {p.name: p.read_text().splitlines()[0].split(",") for p in tmp_path.glob("*.csv")}
    assert set(heads) == {"a.b_events.csv", "a.b_framewise.csv", "a.b_secondary.csv", "a.b_strata.csv"}
    events = (
        "run,decision_timing,horizon_s,n_response_candidates,n_response,n_no_response,n_response_censored,"
        "n_response_invalid,n_response_empty_window,n_response_truncated,n_short_resume,n_yield_candidates,n_yield,"
        "n_continue,n_yield_censored,n_yield_invalid,n_yield_empty_window,n_yield_truncated,response_ap,yield_ap,"
        "tainted,response_threshold_at_recall_0.80,response_recall_0.80,no_response_trigger_rate_at_recall_0.80,"
        "no_response_trigger_count_at_recall_0.80,short_resume_trigger_rate_at_recall_0.80,"
        "short_resume_trigger_count_at_recall_0.80,yield_threshold_at_recall_0.80,yield_recall_0.80,"
        "continue_false_stop_rate_at_recall_0.80,continue_false_stop_count_at_recall_0.80"
    )
    assert ",".join(heads["a.b_events.csv"]) == events
    assert heads["a.b_framewise.csv"] == ["run", "step", "horizon_s", "n_rows", "n_positive", "ap"]
    assert set(events.split(",")) < set(heads["a.b_strata.csv"])
    assert {"stratum", "exposure_minutes", "false_entries_per_minute_at_recall_0.80"} < set(heads["a.b_strata.csv"])
    assert "response_ap_full_horizon" in heads["a.b_secondary.csv"]


def test_frames_and_full_horizon_figures(world: Path, tmp_path: Path) -> None:
    run(world, runs={"one": world / "one"}, output=tmp_path / "out.json")
    sessions = [s for s in oracles()["one"] if s.name in TEST]
    for row in rows_of(tmp_path / "out_framewise.csv"):
        pairs = [pair for s in sessions for pair in oracle.framewise(s, int(row["step"]))]
        assert (int(row["n_rows"]), int(row["n_positive"])) == (len(pairs), sum(y for _, y in pairs))
        assert close(row["ap"], oracle.average_precision(pairs))
    for row in rows_of(tmp_path / "out_secondary.csv"):
        horizon = round(float(row["horizon_s"]) * 5)
        events = oracle.full_horizon(e for s in sessions for e in oracle.events(s, oracle.PRE, [horizon]))
        assert int(row["n_response_candidates"]) == sum(e.kind == "response" for e in events)
        assert close(row["response_ap_full_horizon"], oracle.event_ap(e for e in events if e.kind == "response"))


def test_the_json(world: Path, tmp_path: Path) -> None:
    done = run(world, calibration_provenance="out of fold", output=tmp_path / "out.json")
    body = json.loads((tmp_path / "out.json").read_text())
    assert body["command"] == "floor evaluate"
    assert body["protocol"]["name"] == "easycom-floor-pre-boundary"
    assert body["protocol"]["fingerprint"] == done.scored[0].identity.fingerprint
    assert {reading["name"] for reading in body["readings"]} == {"wearer_read_at", "exposure_path"}
    assert (body["sessions"], body["tainted"]) == (TEST, False)
    calibration = body["calibration"]
    assert (calibration["sessions"], calibration["mode"]) == (sorted(TRAIN), "calibrated")
    assert calibration["provenance"] == "out of fold"
    assert calibration["runs"]["one"]["dir"] == str(world / "one")
    assert set(calibration["runs"]["one"]["files"]) == {f"{p}/{s}.npy" for p in ("pred", "valid") for s in TRAIN}
    assert len(body["rows"]) == 20
    assert len(body["thresholds"]) == 2 * 2 * 10 * 3
    assert set(body["thresholds"][0]) == {"run", "kind", "horizon_s", "recall", "threshold", "n_positives"}
    outside = sum(len(s.target) - sum(n for _, n in s.segments) for s in oracles()["one"])
    assert sum(body["rows_outside_segments"].values()) == outside > 0


def test_calibration_forecasts_of_their_own_folder(world: Path, tmp_path: Path) -> None:
    """Thresholds come from the other model's forecasts, scores do not."""
    done = run(
        world, runs={"one": world / "one"}, calibration_runs={"one": world / "two"}, output=tmp_path / "out.json"
    )
    sessions = oracles()
    for horizon in (1, 5, 10):
        chosen = thresholds(sessions["two"], oracle.PRE, horizon, [(TEST, TRAIN)])
        row = rows_of(tmp_path / "out_events.csv")[horizon - 1]
        for column, wanted in expected(sessions["one"], oracle.PRE, horizon, None, chosen).items():
            assert close(row[column], wanted), column
    assert json.loads(done.to_json())["calibration"]["runs"]["one"]["dir"] == str(world / "two")


def test_cross_fitting(world: Path, tmp_path: Path) -> None:
    folds = [(TEST[:5], TEST[5:8] + TRAIN[:1]), (TEST[5:], TEST[:4])]
    text = json.dumps({"folds": [{"evaluate": a, "calibrate": b} for a, b in folds]})
    (tmp_path / "folds.yaml").write_text(text)
    run(
        world,
        runs={"one": world / "one"},
        calibration_sessions=(),
        cross_fit=tmp_path / "folds.yaml",
        output=tmp_path / "out.json",
    )
    sessions = oracles()["one"]
    for horizon, row in enumerate(rows_of(tmp_path / "out_events.csv"), 1):
        chosen = thresholds(sessions, oracle.PRE, horizon, folds)
        for column, wanted in expected(sessions, oracle.PRE, horizon, None, chosen).items():
            assert close(row[column], wanted), column
        assert row["response_threshold_at_recall_0.8"] == row["yield_threshold_at_recall_0.8"] == ""
    body = json.loads((tmp_path / "out.json").read_text())
    assert {row["fold"] for row in body["thresholds"]} == {"1", "2"}
    assert body["calibration"]["mode"] == "cross_fitted"


def test_in_sample_thresholds_taint_every_row(world: Path, tmp_path: Path) -> None:
    done = run(
        world,
        runs={"one": world / "one"},
        calibration_sessions=(),
        allow_in_sample_test_thresholds=True,
        output=tmp_path / "out.json",
        store=tmp_path / "store",
    )
    assert all(row["tainted"] == "true" for row in rows_of(tmp_path / "out_events.csv"))
    assert json.loads((tmp_path / "out.json").read_text())["tainted"] is True
    stored = Store.open(tmp_path / "store").read("metric_values")
    assert set(stored["tainted"].to_pylist()) == {True}
    assert set(stored["taint_reason"].to_pylist()) == {"in_sample_thresholds"}
    assert "TAINTED" in repr(done)
    rows = rows_of(tmp_path / "out_events.csv")
    assert all(float(r["response_recall_0.8"]) >= 0.8 for r in rows if r["response_recall_0.8"])


def test_a_store_holds_both_timings_of_a_run(world: Path, tmp_path: Path) -> None:
    only = {"runs": {"one": world / "one"}, "store": tmp_path / "store", "run_prefix": "x"}
    outcomes = [
        run(world, decision_timing=timing, **only).scored[0].outcome
        for timing in ("pre-boundary", "post-boundary", "pre-boundary")
    ]
    assert outcomes == ["written", "written", "unchanged"]
    store = Store.open(tmp_path / "store")
    assert store.run_ids() == ["x/one"]
    assert {seal.protocol for seal in store.results("x/one")} == {
        "easycom-floor-pre-boundary/1",
        "easycom-floor-post-boundary/1",
    }
    events = store.read("floor_events", runs=["x/one"])
    assert set(events["role"].to_pylist()) == {"evaluation", "calibration"}
    assert len(store.read("operating_points", runs=["x/one"])) == 2 * 2 * 10 * 3
    with pytest.raises(StoreConflict):
        run(world, sessions=TEST[:-1], **only)


def test_both_models_answer_the_same_question(world: Path) -> None:
    one, two = run(world).scored
    assert one.data_digest == two.data_digest
    assert one.identity.fingerprint == two.identity.fingerprint


def test_another_segment_map_is_another_evaluation_set(world: Path) -> None:
    mapped, whole = (run(world, runs={"one": world / "one"}, segments=s) for s in (world / "segments.csv", None))
    assert mapped.scored[0].data_digest != whole.scored[0].data_digest


def test_session_order_is_no_part_of_the_question(world: Path) -> None:
    one, other = (run(world, runs={"one": world / "one"}, sessions=names) for names in (TEST, TEST[::-1]))
    assert one.table.equals(other.table)
    assert one.scored[0].data_digest == other.scored[0].data_digest
    assert one.scored[0].identity.fingerprint == other.scored[0].identity.fingerprint


REFUSED: dict[str, tuple[dict[str, Any], type[EvalframeError]]] = {
    "no calibration": ({"calibration_sessions": ()}, CalibrationMissing),
    "an evaluated session calibrates": ({"calibration_sessions": [*TRAIN, "t3"]}, CalibrationLeak),
    "an official session calibrates": ({"settings": {"official_test_sessions": '["c1"]'}}, CalibrationLeak),
    "a session that is not there": ({"sessions": [*TEST, "t99"]}, SessionMissing),
    "a session that climbs out": ({"sessions": ["../target/t0"]}, SessionNameRefused),
    "a hidden session": ({"sessions": [".."]}, SessionNameRefused),
    "a calibration session with a slash": ({"calibration_sessions": ["a/b"]}, SessionNameRefused),
    "no session": ({"sessions": []}, UsageError),
    "no run": ({"runs": {}}, UsageError),
    "a false label": ({"settings": {"calibration_mode": "calibrated"}}, UsageError),
    "an unknown timing": ({"decision_timing": "later"}, UsageError),
    "a run id for two runs": ({"run_id": "x"}, UsageError),
    "in sample and calibrated": ({"allow_in_sample_test_thresholds": True}, UsageError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_questions_that_are_refused(world: Path, tmp_path: Path, case: str) -> None:
    options, error = REFUSED[case]
    with pytest.raises(error) as raised:
        run(world, output=tmp_path / "out.json", store=tmp_path / "store", **options)
    assert len(str(raised.value).splitlines()) == 4
    assert list(tmp_path.iterdir()) == []


def test_calibration_runs_must_have_the_same_names(world: Path) -> None:
    with pytest.raises(RunNamesDiffer) as raised:
        run(world, calibration_runs={"one": world / "one", "tow": world / "two"})
    assert "tow" in raised.value.found
