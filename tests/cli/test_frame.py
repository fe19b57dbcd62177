"""The frame of the command line: exit codes, the four lines of an error, JSON on failure, quick help."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

from evalframe.cli import main
from evalframe.cli.app import COMMANDS, GROUPS, tree
from evalframe.cli.run import run
from evalframe.errors import ContractError, ExitCode, NotPortable, printable

ALL = [[name] for name in COMMANDS] + [[group, name] for group, (_, members) in GROUPS.items() for name in members]


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_every_command_has_help_with_one_real_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Example: evalframe {' '.join(command)} " in shown


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["store", "verfy"], ["sql"], ["runs", "--store"], ["runs", "--what"]]
)
def test_a_wrong_command_line_is_four_lines_and_exit_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 4
    assert "Traceback" not in captured.err
    assert "hint:     evalframe" in captured.err


def test_with_json_a_failure_is_one_object_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--store", "/nowhere/at/all", "--json"]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert set(json.loads(captured.out)["error"]) == {"code", "what", "expected", "found", "where", "hint"}
    assert captured.err == ""


def test_debug_shows_the_traceback_and_is_no_option_of_any_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--debug", "--store", "/nowhere/at/all"]) == ExitCode.USAGE
    assert "Traceback" in capsys.readouterr().err


def test_an_error_is_four_lines_whatever_the_ids_in_it() -> None:
    error = ContractError("bad\nid", expected="a\x1b[2J", found="\u202eb" * 5000, hint="h", where="w\r")
    assert len(str(error).splitlines()) == 4
    assert all(c.isprintable() for line in str(error).splitlines() for c in line)
    assert printable("ok") == "ok"


def test_a_pipe_that_closes_is_not_an_error() -> None:
    code = "import sys; from evalframe.cli import main; main(['--help'])"
    child = subprocess.run(f'{sys.executable} -c "{code}" | true', shell=True, capture_output=True, text=True)
    assert child.stderr == ""
    piped = subprocess.run(
        ["bash", "-c", f'{sys.executable} -c "{code}" | true; exit ${{PIPESTATUS[0]}}'], capture_output=True
    )
    assert piped.returncode == ExitCode.OK


@pytest.mark.parametrize("stream", [">&-", ">/dev/full", "2>&-"])
@pytest.mark.parametrize("given", [[], ["--json"]], ids=str)
def test_a_stream_that_takes_nothing_is_no_traceback(stream: str, given: list[str]) -> None:
    code = f"from evalframe.cli import main; main({['runs', '--store', '/nowhere/at/all', *given]})"
    child = subprocess.run(f'{sys.executable} -c "{code}" {stream}', shell=True, capture_output=True, text=True)
    assert child.returncode == ExitCode.USAGE
    assert "Traceback" not in child.stderr


def test_the_list_of_commands_loads_nothing_heavy() -> None:
    code = "import sys; from evalframe.cli.run import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    for heavy in ("'duckdb'", "'pyarrow'", "'polars'", "'numpy'", "'torch'", "'scipy'"):
        assert heavy not in loaded
    assert tree([]).name == ("evalframe",)


def test_an_error_survives_the_way_between_processes() -> None:
    error = NotPortable("w", expected="e", found="f", hint="h", reason="syntax", where="there")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is NotPortable
    assert (str(again), again.to_json(), again.reason) == (str(error), error.to_json(), "syntax")


def test_ctrl_c_ends_with_130_and_says_that_nothing_is_half_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(place: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evalframe.verbs.opened.open_store", interrupted)
    assert run(["runs", "--store", "results"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "interrupted; nothing half-written\n"


def test_ctrl_c_before_a_command_began_ends_with_130_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("evalframe.cli.run.run", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["runs"])
    assert left.value.code == ExitCode.INTERRUPTED
