"""`--json`: one word for every command that prints a result, and never beside another format."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest

from evalframe.cli.app import COMMANDS, GROUPS
from evalframe.cli.run import run
from evalframe.errors import ExitCode
from evalframe.publish.page import Figure
from evalframe.verbs.demo import Step
from evalframe.verbs.report import Report
from evalframe.verbs.results import Rows

Output = pytest.CaptureFixture[str]

EVERY = {**COMMANDS, **{f"{group} {name}": place for group, (_, own) in GROUPS.items() for name, place in own.items()}}
SCRIPTS = {"completion"}
"""What is printed is a program for a shell, no result."""


def _options(command: str) -> set[str]:
    module, _, function = EVERY[command].partition(":")
    return set(inspect.signature(getattr(import_module(f"evalframe.cli.{module}"), function)).parameters)


PRINTED = {command for command in EVERY if {"json", "format"} <= _options(command)}


def _needed(command: str) -> list[str]:
    """Words that give a command all it cannot do without."""
    module, _, function = EVERY[command].partition(":")
    wanted = inspect.signature(getattr(import_module(f"evalframe.cli.{module}"), function)).parameters.values()
    words: dict[bool, list[str]] = {True: [], False: []}
    for one in (one for one in wanted if one.default is one.empty):
        word = {"split": "test_ind", "protocol": "robometer-ind"}.get(one.name, "1")
        named = one.kind is one.KEYWORD_ONLY
        words[named] += [*([f"--{one.name.replace('_', '-')}"] if named else []), word]
    return words[False] + words[True]


NO_TABLE = {"completion", "demo", "explain", "report", "store gc", "store withdraw"}
"""Commands that print text, several tables, or nothing but what they wrote."""


def test_every_command_that_prints_a_table_takes_a_format() -> None:
    assert {command for command in EVERY if "format" not in _options(command)} == NO_TABLE


def test_every_command_with_a_result_takes_json() -> None:
    assert {command for command in EVERY if "json" not in _options(command)} == SCRIPTS


def test_json_of_sql_is_its_format_json(store: Path, capsys: Output) -> None:
    asked = ["sql", "SELECT run_id FROM runs ORDER BY run_id", "--store", str(store)]
    assert run([*asked, "--format", "json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == [{"run_id": "a"}, {"run_id": "b"}]
    for same in (["--json"], ["--json", "--format", "json"]):
        assert run([*asked, *same]) == 0
        assert capsys.readouterr().out == printed


def test_json_of_sql_is_what_the_file_holds_and_how_it_fails(store: Path, tmp_path: Path, capsys: Output) -> None:
    target = tmp_path / "answer"
    assert run(["sql", "SELECT 1 AS one", "--store", str(store), "--output", str(target), "--json"]) == 0
    assert json.loads(target.read_text()) == [{"one": 1}]
    capsys.readouterr()
    assert run(["sql", "SELECT * FROM nothing", "--store", str(store), "--json"]) == ExitCode.USAGE
    assert json.loads(capsys.readouterr().out)["error"]["found"] == "nothing"


@pytest.mark.parametrize("format", ["csv", "table"])
@pytest.mark.parametrize("command", sorted(PRINTED - {"import"}))  # its --format is that of the files it reads
def test_json_beside_another_format_is_refused_before_anything_is_done(
    command: str, format: str, capsys: Output
) -> None:
    arguments = [*command.split(), *_needed(command), "--json", "--format", format]
    assert run(arguments) == ExitCode.USAGE
    assert json.loads(capsys.readouterr().out)["error"]["found"] == f"--json --format {format}"


def test_the_tour_says_what_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    rows = Rows(pa.table({"n": [1]}))
    steps = [Step("Scored.", "evalframe wisp score", rows), Step("Refused.", "evalframe compare", rows, 3)]
    monkeypatch.setattr("evalframe.verbs.demo.demo", lambda folder: steps)
    assert run(["demo", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["store"] == str(tmp_path / "store")
    assert told["steps"] == [
        {"title": "Scored.", "command": "evalframe wisp score", "exit_code": 0, "rows": [{"n": 1}]},
        {"title": "Refused.", "command": "evalframe compare", "exit_code": 3, "rows": [{"n": 1}]},
    ]


def test_the_page_says_which_charts_it_has(store: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    made = Report("", (Figure("Accuracy of a", {}, ""), Figure("Accuracy of b", {}, "")))
    monkeypatch.setattr("evalframe.verbs.report.report", lambda *given, **named: made)
    assert run(["report", "--store", str(store), "--output", "page.html", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["output"], told["charts"]) == ("page.html", ["Accuracy of a", "Accuracy of b"])
