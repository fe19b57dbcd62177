"""Who may calibrate whom: the leak guard, folds, and what enters the fingerprint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalframe.errors import CalibrationLeak, CalibrationMissing, ExitCode, FileUnreadable, FoldsRefused, UsageError
from evalframe.protocols.easycom_floor.calibration import (
    Fold,
    calibrated,
    cross_fitted,
    in_sample,
    official_sessions,
    read_folds,
)

OFFICIAL = ("Session_1", "Session_2", "Session_3")


def test_a_training_session_may_calibrate() -> None:
    chosen = calibrated(["Session_3", "Session_1"], ["Session_12", "Session_12"], OFFICIAL)
    assert (chosen.evaluated, chosen.sessions, chosen.taint) == (("Session_3", "Session_1"), ("Session_12",), None)
    assert chosen.parameters() == {"calibration_mode": "calibrated", "calibration_sessions": '["Session_12"]'}


@pytest.mark.parametrize(
    ("sessions", "calibration", "error"),
    [
        (["Session_3"], [], CalibrationMissing),
        (["a", "b"], ["b", "c"], CalibrationLeak),  # evaluated
        (["a", "b"], ["Session_2"], CalibrationLeak),  # official, though nobody evaluates it here
    ],
)
def test_the_guard(sessions: list[str], calibration: list[str], error: type[UsageError]) -> None:
    with pytest.raises(error) as raised:
        calibrated(sessions, calibration, OFFICIAL)
    assert raised.value.exit_code == ExitCode.CONTRACT


def test_in_sample_thresholds_taint() -> None:
    chosen = in_sample(["Session_1", "b"])
    assert chosen.taint == "in_sample_thresholds"
    assert chosen.sessions == chosen.evaluated == ("Session_1", "b")
    assert chosen.parameters()["calibration_mode"] == "in_sample"


FOLDS = (Fold("1", ("a",), ("b", "c")), Fold("2", ("b", "c"), ("a",)))


def test_folds_may_calibrate_on_what_another_fold_evaluates() -> None:
    chosen = cross_fitted(FOLDS, ["a", "b", "c"], OFFICIAL)
    assert (chosen.mode, chosen.evaluated, chosen.sessions) == ("cross_fitted", ("a", "b", "c"), ("a", "b", "c"))


def test_the_order_of_folds_and_names_is_no_part_of_the_identity() -> None:
    turned = (Fold("1", ("c", "b"), ("a",)), Fold("2", ("a",), ("c", "b")))
    one, other = (cross_fitted(folds, ["a", "b", "c"], ()).parameters() for folds in (FOLDS, turned))
    assert one == other
    assert json.loads(one["calibration_sessions"]) == [
        {"calibrate": ["a"], "evaluate": ["b", "c"]},
        {"calibrate": ["b", "c"], "evaluate": ["a"]},
    ]


@pytest.mark.parametrize(
    ("folds", "sessions", "error"),
    [
        (FOLDS, ["a", "b"], FoldsRefused),  # c is not asked for
        (FOLDS, ["a", "b", "c", "d"], FoldsRefused),  # d is in no fold
        ((*FOLDS, Fold("3", ("a",), ("d",))), ["a", "b", "c"], FoldsRefused),  # a twice
        ((Fold("1", ("a",), ("a", "b")),), ["a"], CalibrationLeak),
        ((Fold("1", ("a",), ("Session_1",)),), ["a"], CalibrationLeak),
        ((Fold("1", ("a",), ()),), ["a"], CalibrationMissing),
    ],
)
def test_folds_that_are_refused(folds: tuple[Fold, ...], sessions: list[str], error: type[UsageError]) -> None:
    with pytest.raises(error):
        cross_fitted(folds, sessions, OFFICIAL)


def test_folds_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "folds.yaml"
    path.write_text("folds:\n  - {evaluate: [a], calibrate: [b, c]}\n  - {evaluate: [b, c], calibrate: [a]}\n")
    assert read_folds(path) == FOLDS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "folds: []",
        "folds: [{evaluate: [a]}]",
        "folds: [{evaluate: a, calibrate: [b]}]",
        "folds: [{evaluate: [1], calibrate: [b]}]",
        "folds: [{evaluate: [a, a], calibrate: [b]}]",
        "folds: [{evaluate: [a], calibrate: [b]}]\nmore: 1",
        "- 1",
    ],
)
def test_a_file_that_says_no_folds(tmp_path: Path, text: str) -> None:
    (tmp_path / "folds.yaml").write_text(text)
    with pytest.raises(FoldsRefused):
        read_folds(tmp_path / "folds.yaml")


@pytest.mark.parametrize("raw", [b"folds: [", b"\xff\xfe"])
def test_a_file_that_is_no_yaml(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "folds.yaml").write_bytes(raw)
    with pytest.raises(FileUnreadable):
        read_folds(tmp_path / "folds.yaml")
    with pytest.raises(FileUnreadable):
        read_folds(tmp_path / "absent.yaml")


def test_official_sessions() -> None:
    assert official_sessions('["Session_1"]') == ("Session_1",)
    for text in ("Session_1", "{}", "[1]"):
        with pytest.raises(UsageError):
            official_sessions(text)
