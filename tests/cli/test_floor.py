"""`evalframe floor ...` from end to end: stdout is data, stderr is talk, exit codes say what happened."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from evalframe.cli.run import run
from tests.protocols.easycom_floor.folders import random_sessions, write_run, write_targets

NAMES = [f"s{i}" for i in range(6)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    sessions = random_sessions(8, NAMES)
    write_targets(folder / "target", sessions)
    write_run(folder / "run", sessions)
    return folder


def evaluate(world: Path, *more: str) -> int:
    folders = ["--target-root", str(world / "target"), "--run", f"m={world / 'run'}"]
    sessions = ["--sessions", *NAMES[:4], "--calibration-sessions", *NAMES[4:]]
    return run(["floor", "evaluate", *folders, *sessions, *more])


def test_evaluate_prints_a_table_and_writes_files(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.json"
    options = ["--matched-recalls", "0.7", "0.8", "--print-event-timelines", "1", "--output", str(output)]
    assert evaluate(world, *options) == 0
    captured = capsys.readouterr()
    assert "response_recall_0.8" in captured.out
    assert captured.out.count("boundary row") == 2
    assert captured.err.count("wrote") == 1
    assert "response_recall_0.7" in output.with_name("out_events.csv").read_text().splitlines()[0]


def test_rows_on_stdout_are_data_and_drawings_beside_them_talk(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--matched-recalls", "0.8", "--print-event-timelines", "1", "--output", str(tmp_path / "out.json")]
    assert evaluate(world, *options, "--format", "csv") == 0
    captured = capsys.readouterr()
    assert captured.out == (tmp_path / "out_events.csv").read_text()
    assert captured.err.count("boundary row") == 2


def test_json_on_stdout_is_the_file(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(world, "--output", str(tmp_path / "out.json"), "--json") == 0
    captured = capsys.readouterr()
    assert captured.out == (tmp_path / "out.json").read_text()
    assert captured.err == ""


@pytest.mark.parametrize(
    ("more", "code", "name"),
    [
        (["--sessions", "s9"], 2, "EF151"),
        (["--calibration-sessions", "s0"], 4, "EF510"),
        (["--calibration-sessions", "../s0"], 2, "EF150"),
        (["--matched-recalls", "1.5"], 2, "EF153"),
        (["--calibration-run", "other=x"], 2, "EF152"),
        (["--set", "no_such=1"], 2, "EF102"),
        (["--midturn-pause-max-seconds", "soon"], 2, "EF101"),
    ],
)
def test_a_refusal_is_four_lines_and_leaves_nothing(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: int, name: str
) -> None:
    assert evaluate(world, "--output", str(tmp_path / "out.json"), "--store", str(tmp_path / "store"), *more) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(name)
    assert len(captured.err.strip().splitlines()) == 4
    assert list(tmp_path.iterdir()) == []


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """What a refusal of exit code 2 or 4 says, and the command of its hint."""
    capsys.readouterr()
    assert run(words) in (2, 4)
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 4
    return lines[0], shlex.split(lines[3].removeprefix("  hint:     "), comments=True)[1:]


@pytest.mark.parametrize(
    "more",
    [
        ["--row-seconds", "0.1", "--set", "row_seconds=0.3"],
        ["--row-seconds", "0"],
        ["--row-seconds", "0.0000015"],
        ["--set", "row_seconds=0.0000015"],
        ["--midturn-pause-max-seconds", "-1", "--set", "n_horizons=2"],
        ["--print-event-timelines", "-1"],
        ["--calibration-run", "m={run}", "--allow-in-sample-test-thresholds"],
    ],
    ids=" ".join,
)
def test_the_hint_of_a_refusal_is_a_command_that_works(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    folders = ["--target-root", str(world / "target"), "--run", f"m={world / 'run'}"]
    sessions = ["--sessions", *NAMES[:2], "--calibration-sessions", *NAMES[4:]]
    more = [word.format(run=world / "run") for word in more]
    told = ["floor", "evaluate", *folders, *sessions, "--output", str(tmp_path / "out.json"), *more]
    _, hint = refused(told, capsys)
    assert run(hint) == 0


def test_a_length_said_twice_alike_is_no_contradiction(world: Path, tmp_path: Path) -> None:
    once = ["--row-seconds", "0.10", "--set", "row_seconds=0.1"]
    assert evaluate(world, *once, "--output", str(tmp_path / "out.json")) == 0
    assert json.loads((tmp_path / "out.json").read_text())["parameters"]["row_seconds"] == "0.1"


def test_a_leak_in_a_fold_is_put_right_in_the_folds(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folds.yaml").write_text("folds: [{evaluate: [s0, s1], calibrate: [s1, s2]}]")
    folders = ["--target-root", str(world / "target"), "--run", f"m={world / 'run'}"]
    more = ["--cross-fit", str(tmp_path / "folds.yaml"), "--output", str(tmp_path / "out.json")]
    assert run(["floor", "evaluate", *folders, "--sessions", "s0", "s1", *more]) == 4
    told = capsys.readouterr().err
    assert told.startswith("EF510")
    assert "(--cross-fit)" in told
    assert "folds.yaml" in told.splitlines()[3]
    assert "--calibration-sessions" not in told


def test_several_runs_that_are_sealed_otherwise_are_told_of_a_prefix(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--run", f"n={world / 'run'}", "--output", str(tmp_path / "out.json"), "--store", str(tmp_path / "store")]
    assert evaluate(world, *more) == 0
    folders = ["--target-root", str(world / "target"), "--run", f"m={world / 'run'}", *more]
    sessions = ["--sessions", *NAMES[:4], "--calibration-sessions", *NAMES[4:]]
    words = ["floor", "evaluate", *folders, *sessions, "--matched-recalls", "0.5", "--force"]
    what, hint = refused(words, capsys)
    assert what.startswith("EF310")
    assert run(hint) == 0
    assert refused([*words, "--run-id", "z"], capsys)[0].startswith("EF101 --run-id names one run")


def test_rasterize_has_no_other_way_to_say_how_long_a_row_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.rttm").write_text("SPEAKER m 1 0.0 1.0 <NA> <NA> me <NA> <NA>\n")
    words = ["floor", "rasterize", str(tmp_path / "m.rttm"), "--wearer", "me", "--output-dir", str(tmp_path / "out")]
    for seconds in ("0", "0.0000015"):
        _, hint = refused([*words, "--row-seconds", seconds], capsys)
        assert run(hint) == 0


def test_a_file_of_another_result_keeps_all_files_as_they_were(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output", str(tmp_path / "out.json")]
    assert evaluate(world, *output) == 0
    (tmp_path / "out_events.csv").unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert evaluate(world, *output, "--matched-recalls", "0.5") == 4
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_from_turns_to_a_frozen_audit(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = tmp_path / "m.rttm"
    turns.write_text("SPEAKER m 1 0 0.5 <NA> <NA> w <NA> <NA>\n")
    assert run(["floor", "rasterize", str(turns), "--wearer", "w", "--output-dir", str(tmp_path / "t"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"][0]["n_rows"] == 3
    store = str(tmp_path / "store")
    assert evaluate(world, "--output", str(tmp_path / "out.json"), "--store", store, "--tag", "model=gru") == 0
    sheet = str(tmp_path / "sheet.csv")
    drawn = ["--run", "m", "--events", "3", "--seed", "1", "--output", sheet]
    assert run(["floor", "audit-sheet", "--store", store, *drawn]) == 0
    assert run(["floor", "freeze", "--sheet", sheet, "--store", store, "--output", str(tmp_path / "f.json")]) == 4
    assert "18 answers are open" in capsys.readouterr().err  # five and a reviewer, three times
    assert run(["sql", "SELECT count(*) AS n FROM floor_events", "--store", store, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["n"] > 0


def test_convert_is_a_command(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--prediction-root", str(world), "--target-root", str(world / "target"), "--sessions", "s0"]
    assert run(["floor", "convert-miniroada", *arguments, "--output-dir", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("EF151")
