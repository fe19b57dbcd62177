"""What is broken in the arrays and maps is named, or counted where it is no number; nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.errors import (
    ArchiveRefused,
    CalibrationLeak,
    ContractError,
    EvalframeError,
    FoldsRefused,
    ForecastRefused,
    IntervalsRefused,
    SessionMissing,
    SessionNameRefused,
    TargetRefused,
)
from evalframe.floor import evaluate
from evalframe.verbs.floor import Evaluated
from tests.oracles import floor as oracle
from tests.protocols.easycom_floor.folders import rows_of, write_run, write_targets


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two sessions of 40 rows with forecasts valid throughout, to be damaged."""
    rng = np.random.default_rng(3)
    target = [(int(b), int(o)) for b, o in rng.integers(0, 2, (40, 2))]
    pred = rng.random((40, 10)).tolist()
    sessions = [oracle.Session(name, target, pred, np.ones((40, 10), bool).tolist(), [(0, 40)]) for name in ("a", "b")]
    write_targets(tmp_path / "target", sessions)
    write_run(tmp_path / "run", sessions)
    return tmp_path


def evaluate_small(small: Path, **options: Any) -> Evaluated:
    return evaluate(small / "target", runs={"m": small / "run"}, sessions=["a"], calibration_sessions=["b"], **options)


def damage(path: Path, index: Any, value: float) -> None:
    array = np.load(path)
    array[index] = value
    np.save(path, array)


def test_a_forecast_that_is_no_number_is_invalid_and_counted(small: Path) -> None:
    before = evaluate_small(small).table.to_pylist()
    damage(small / "run/pred/a.npy", (slice(5, 20), 1, slice(None)), np.nan)
    done = evaluate_small(small)
    after = done.table.to_pylist()
    assert sum(r["n_response_invalid"] + r["n_yield_invalid"] for r in before) == 0
    assert sum(r["n_response_invalid"] + r["n_yield_invalid"] for r in after) > 0
    assert [r["n_response_candidates"] for r in before] == [r["n_response_candidates"] for r in after]
    assert json.loads(done.to_json())["runs"]["m"]["n_valid_not_finite"] == 150


def test_a_valid_forecast_out_of_range_is_named(small: Path) -> None:
    damage(small / "run/pred/a.npy", (7, 1, 3), 1.7)
    with pytest.raises(ForecastRefused, match="session a row 7 step 4") as raised:
        evaluate_small(small)
    assert raised.value.exit_code == 4
    assert "1.7" in raised.value.found


def test_an_invalid_forecast_may_hold_anything(small: Path) -> None:
    damage(small / "run/pred/a.npy", (7, 1, 3), 1.7)
    damage(small / "run/valid/a.npy", (7, 3), False)
    evaluate_small(small)


@pytest.mark.parametrize("value", [0.5, 2.0, -1.0, np.nan])
def test_a_target_that_is_neither_0_nor_1_is_named(small: Path, value: float) -> None:
    damage(small / "target/a.npy", (11, 2), value)
    with pytest.raises(TargetRefused, match="session a row 11 column others"):
        evaluate_small(small)


@pytest.mark.parametrize(
    ("path", "array", "error"),
    [
        ("target/a.npy", np.zeros((40, 2)), TargetRefused),
        ("target/a.npy", np.zeros((0, 3)), TargetRefused),
        ("target/a.npy", np.zeros((40, 3), "U3"), ArchiveRefused),
        ("run/pred/a.npy", np.zeros((39, 3, 10)), ForecastRefused),
        ("run/pred/a.npy", np.zeros((40, 10, 3)), ForecastRefused),
        ("run/pred/a.npy", np.zeros((40, 3, 10), int), ArchiveRefused),
        ("run/valid/a.npy", np.zeros((41, 10), bool), ForecastRefused),
        ("run/valid/a.npy", np.zeros((40, 10), np.uint8), ArchiveRefused),
    ],
)
def test_arrays_that_do_not_fit(small: Path, path: str, array: np.ndarray, error: type[EvalframeError]) -> None:
    np.save(small / path, array)
    with pytest.raises(error):
        evaluate_small(small)


@pytest.mark.parametrize("path", ["run/pred/a.npy", "run/valid/a.npy", "target/b.npy"])
def test_a_missing_file_is_a_missing_session(small: Path, path: str) -> None:
    (small / path).unlink()
    with pytest.raises(SessionMissing):
        evaluate_small(small)


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["a,0,20", "a,19,5", "b,0,40"], IntervalsRefused),  # overlap
        (["a,0,41", "b,0,40"], IntervalsRefused),  # out of range
        (["a,0,0", "b,0,40"], ContractError),  # empty
        (["a,0,40"], IntervalsRefused),  # b has no line
        (["a,0,10", "a,0,20", "b,0,40"], ContractError),  # one start twice
        (["a,-1,10", "b,0,40"], ContractError),
        (["a,0,1.5", "b,0,40"], ContractError),
        (["../a,0,10", "a,0,40", "b,0,40"], SessionNameRefused),
    ],
)
def test_segment_maps_that_are_refused(small: Path, lines: list[str], error: type[EvalframeError]) -> None:
    (small / "s.csv").write_text("\n".join(["session,first_row,n_rows", *lines, ""]))
    with pytest.raises(error):
        evaluate_small(small, segments=small / "s.csv")


def test_two_spellings_of_a_session_are_one_session(small: Path) -> None:
    """A composed letter here and a decomposed one there: in arrays, maps, annotation, folds and the guard alike."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    for path in ("target/a.npy", "run/pred/a.npy", "run/valid/a.npy"):
        (small / path).rename((small / path).with_name(f"{decomposed}.npy"))
    (small / "s.csv").write_text(f"session,first_row,n_rows\n{decomposed},0,40\nb,0,40\n")
    (small / "a.csv").write_text(f"session,first_row,last_row,stratum\n{decomposed},0,39,addressed\n")
    maps = {"segments": small / "s.csv", "addressee": small / "a.csv"}
    runs = {"m": small / "run"}
    done = evaluate(small / "target", runs=runs, sessions=[composed], calibration_sessions=["b"], **maps)
    strata = json.loads(done.to_json())["strata"]
    assert {row["stratum"] for row in strata if row["n_response_candidates"]} == {"addressed"}

    def cross_fitted(evaluated: str, calibrating: str) -> None:
        (small / "f.yaml").write_text(f"folds: [{{evaluate: [{evaluated}], calibrate: [{calibrating}]}}]")
        evaluate(small / "target", runs=runs, sessions=[composed], cross_fit=small / "f.yaml")

    cross_fitted(decomposed, "b")
    with pytest.raises(CalibrationLeak):
        cross_fitted(composed, decomposed)
    with pytest.raises(FoldsRefused):
        cross_fitted(composed, f"b, {composed}, {decomposed}")
    official = {"official_test_sessions": json.dumps([decomposed])}
    with pytest.raises(CalibrationLeak):
        evaluate(small / "target", runs=runs, sessions=["b"], calibration_sessions=[composed], settings=official)


def test_lines_of_other_sessions_are_not_looked_at(small: Path) -> None:
    (small / "s.csv").write_text("session,first_row,n_rows\nz,0,99999\na,0,40\nb,0,40\n")
    evaluate_small(small, segments=small / "s.csv")


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["a,0,10,addressed", "a,10,12,third_party"], IntervalsRefused),
        (["a,5,4,addressed"], IntervalsRefused),
        (["a,0,40,addressed"], IntervalsRefused),
        (["a,0,10,everyone"], ContractError),
    ],
)
def test_annotation_that_is_refused(small: Path, lines: list[str], error: type[EvalframeError]) -> None:
    (small / "s.csv").write_text("\n".join(["session,first_row,last_row,stratum", *lines, ""]))
    with pytest.raises(error):
        evaluate_small(small, addressee=small / "s.csv")


def test_without_calibration_positives_rates_are_undefined_and_cells_empty(small: Path, tmp_path: Path) -> None:
    """A calibration session in which nobody ever answers has no threshold to give."""
    quiet = oracle.Session(
        "b", [(0, t % 2) for t in range(40)], np.zeros((40, 10)).tolist(), np.ones((40, 10), bool).tolist(), [(0, 40)]
    )
    write_targets(small / "target", [quiet])
    write_run(small / "run", [quiet])
    done = evaluate_small(small, output=tmp_path / "o.json", store=tmp_path / "store")
    for row in rows_of(tmp_path / "o_events.csv"):
        for cell in ("threshold_at_recall_0.8", "recall_0.8"):
            assert row[f"response_{cell}"] == row[f"yield_{cell}"] == ""
        assert row["no_response_trigger_count_at_recall_0.8"] == row["no_response_trigger_rate_at_recall_0.8"] == ""
        assert row["response_ap"] != ""
    reasons = {
        (row["status"], row["reason"]) for row in done.scored[0].to_pylist() if row["metric"] == "response_recall"
    }
    assert reasons == {("undefined", "no_calibration_positives")}
    told = [(one["threshold"], one["n_positives"], one["reason"]) for one in done.body()["thresholds"]]
    assert set(told) == {(None, 0, "no_calibration_positives")}


def test_timelines_show_marks_scores_and_validity(small: Path) -> None:
    shown = evaluate_small(small, print_event_timelines=2).timelines
    assert len(shown) == 4
    assert shown[0].startswith("m  a  response  boundary row")
    for mark in (" B ", " D", " R ", "C/excluded", " yes  "):
        assert mark in "\n".join(shown), mark
    damage(small / "run/valid/a.npy", (slice(None), 0), False)
    damaged = evaluate_small(small, print_event_timelines=1).timelines
    assert "     no  invalid" in damaged[0]
