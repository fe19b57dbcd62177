"""The README's tour is what `evalframe demo` prints, and what the README teaches works as written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evalframe.cli.run import run
from tests.cli.conftest import Tour

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def marked(name: str) -> str:
    """The fenced block of the README under the comment `name`."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w*\n(.*?)\n```", README, re.S)
    assert found, name
    return found[1]


def test_the_tour_is_what_the_demo_prints(tour: Tour, capsys: pytest.CaptureFixture[str]) -> None:
    first = tour.printed
    assert first.strip() == marked("output: evalframe demo").strip()
    sealed = {p: p.read_bytes() for p in Path("evalframe-demo").rglob("*") if p.is_file()}
    assert run(["demo"]) == 0
    assert capsys.readouterr().out == first.replace("(written)", "(unchanged)")
    assert {p: p.read_bytes() for p in Path("evalframe-demo").rglob("*") if p.is_file()} == sealed


@pytest.mark.usefixtures("tour")
def test_a_metric_is_added_as_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/error_rate.sql").write_text(marked("file: mine/error_rate.sql") + "\n")
    Path("mine/error_rate.yaml").write_text(marked("file: mine/error_rate.yaml") + "\n")
    capsys.readouterr()
    commands = [line.removeprefix("evalframe ").split() for line in marked("commands: own metric").splitlines()]
    assert len(commands) == 4
    for command in commands:
        assert run(command) == 0, command
    capsys.readouterr()
    assert run([*commands[-1], "--json"]) == 0
    row = next(r for r in json.loads(capsys.readouterr().out)["rows"] if r["metric"] == "error_rate")
    scored = {name: json.loads(Path(f"{name}.json").read_text())["metrics"] for name in ("cnn", "gru-wide")}
    for side, name in (("baseline", "cnn"), ("candidate", "gru-wide")):
        # The oracle of this metric: what is not accurate is an error.
        assert row[side] == pytest.approx(1 - scored[name]["accuracy"], abs=1e-15)
        assert row[side] == scored[name]["error_rate"]
    assert row["ci_low"] < row["change"] < row["ci_high"]
    asked = ["sql", "SELECT run_id, value FROM error_rate", "--store", "own", "--relations", "mine", "--json"]
    assert run(asked) == 0
    assert {one["run_id"]: one["value"] for one in json.loads(capsys.readouterr().out)} == {
        name: found["error_rate"] for name, found in scored.items()
    }
    assert run(["rescore", "--store", "own", "--relations", "mine", "--json"]) == 0
    assert {one["outcome"] for one in json.loads(capsys.readouterr().out)["rescored"]} == {"unchanged"}


def test_a_case_that_does_not_hold_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/error_rate.sql").write_text(marked("file: mine/error_rate.sql") + "\n")
    Path("mine/error_rate.yaml").write_text(
        marked("file: mine/error_rate.yaml").replace("numerator: 2", "numerator: 1")
    )
    assert run(["explain", "error_rate", "--relations", "mine"]) == 2
    assert "numerator" in capsys.readouterr().err
