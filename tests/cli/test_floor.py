"""`evalframe floor ...` from end to end: stdout is data, stderr is talk, exit codes say what happened."""

from __future__ import annotations

import json
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
