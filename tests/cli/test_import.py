"""`evalframe import`: a table for people, one object for programs, four lines where it cannot be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalframe.cli.run import run
from evalframe.errors import ExitCode
from tests.sources.foreign import inspect_log, inspect_sample, record, written

SAMPLES = [inspect_sample(i, 1, "t", {"match": "CI"[i % 2], "judge": "C"}) for i in range(4)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written(tmp_path / "log.json", inspect_log(SAMPLES, {"match": 0.5, "judge": 0.75}))


def test_a_log_is_imported_and_what_differs_is_said(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "store")]
    assert run(["import", str(log), *store, "--scorer", "match", "--run-id", "a", "--tag", "fold=0"]) == 0
    shown = capsys.readouterr().out
    assert "match/accuracy" in shown
    assert "kev-answers/1" in shown
    assert run(["import", str(log), *store, "--scorer", "judge", "--run-id", "b", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["command"] == "import"
    assert body["files"][0]["run_id"] == "b"
    assert (body["files"][0]["accuracy"], body["files"][0]["published"]) == (1.0, 0.75)
    assert body["differing"] == ["log.json: accuracy 1.0 here, judge/accuracy 0.75 published"]
    assert run(["runs", *store]) == 0
    assert "fold=0" in capsys.readouterr().out


def test_records_go_in_and_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(tmp_path / "store")]
    path = written(tmp_path / "record.json", record())
    assert run(["import", str(path), *store, "--format", "every-eval-ever"]) == 0
    assert run(["export", *store, "--to", f"eee:{tmp_path / 'out'}", "--no-compare"]) == 0
    (out,) = (tmp_path / "out" / "data").rglob("*.json")
    capsys.readouterr()
    assert run(["import", str(out), "--store", str(tmp_path / "other"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["run_id"] == "bench/org/model/1700000001"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ([], ExitCode.USAGE),
        (["--scorer", "nobody"], ExitCode.USAGE),
        (["--metric", "acc"], ExitCode.USAGE),
        (["--format", "lm-eval"], ExitCode.CONTRACT),
        (["--format", "every-eval-ever"], ExitCode.CONTRACT),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_four_lines(
    tmp_path: Path, log: Path, more: list[str], code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", str(log), "--store", str(tmp_path / "store"), *more]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 4
    assert "Traceback" not in captured.err


def test_bad_data_have_the_code_of_bad_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "log.json", inspect_log([inspect_sample(1, 1, "t", {"match": "P"})], {}))
    assert run(["import", str(path), "--store", str(tmp_path / "store")]) == ExitCode.CONTRACT
    assert "neither right nor wrong" in capsys.readouterr().err
