"""Which engine is opened, and within which limits: the option, else the environment, else DuckDB as it is."""

from __future__ import annotations

import sys

import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.engines.choosing import VARIABLE, Choice, open_engine, using
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.limits import limit_bytes, memory_share
from evalframe.errors import ExitCode, ExtraMissing, UsageError

COMPUTING = ("compare", "rescore", "wisp score", "wisp evaluate", "floor evaluate", "kev score", "robometer evaluate")


def test_duckdb_is_what_is_opened_unless_something_else_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with open_engine() as engine:
        assert type(engine) is DuckDB


def test_the_environment_is_asked_and_the_option_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "spark")
    with pytest.raises(UsageError, match="no engine 'spark'") as caught:
        open_engine()
    assert (caught.value.where, caught.value.hint) == (VARIABLE, f"unset {VARIABLE}")
    with evalframe.engine("duckdb"), open_engine() as engine:
        assert type(engine) is DuckDB


@pytest.mark.parametrize(
    ("choice", "what", "where"),
    [
        (Choice("daft"), "no engine 'daft'", "--engine"),
        (Choice("duckdb", ray_address="host:6379"), "engine ray alone", "--ray-address"),
        (Choice(memory_limit="lots"), "not an amount", "--memory-limit"),
        (Choice(threads=0), "without a thread", "--threads"),
    ],
)
def test_a_choice_that_there_is_not_is_refused_with_a_hint(choice: Choice, what: str, where: str) -> None:
    with pytest.raises(UsageError, match=what) as caught, using(choice):
        pass
    assert caught.value.where == where
    assert caught.value.hint


def test_without_the_extra_four_lines_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with evalframe.engine("ray"), pytest.raises(ExtraMissing) as caught:
        open_engine()
    assert str(caught.value).splitlines() == [
        "EF105 the engine ray needs Ray (--engine ray)",
        "  expected: the extra `ray`",
        "  found:    no ray",
        "  hint:     pip install 'evalframe[ray]'",
    ]


def test_limits_hold_for_every_engine_that_is_opened_inside() -> None:
    settings = "SELECT current_setting('memory_limit') AS m, current_setting('threads') AS t"
    with evalframe.engine(memory_limit="64MiB", threads=1):
        with DuckDB() as engine:
            assert engine.query(settings).to_pylist() == [{"m": "64.0 MiB", "t": 1}]
        with DuckDB(memory_limit="32MiB") as engine:
            assert engine.query(settings).to_pylist() == [{"m": "32.0 MiB", "t": 1}]
    with DuckDB() as engine:
        assert engine.query(settings)["m"].to_pylist() != ["64.0 MiB"]


def test_a_share_of_a_limit_is_a_limit() -> None:
    for limit in (memory_share("1GiB", 4), memory_share("1.5 GB", 3), memory_share(None, 2)):
        with DuckDB(memory_limit=limit, threads=1) as engine:
            assert engine.query("SELECT 1 AS one").to_pylist() == [{"one": 1}]
    assert memory_share("1GiB", 4) == f"{2**28}B"
    assert [limit_bytes(limit) for limit in ("12B", "1.5KB", "2 MiB")] == [12, 1500, 2**21]


@pytest.mark.parametrize("command", COMPUTING)
def test_commands_that_compute_say_so(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command.split(), "--help"]) == ExitCode.OK
    shown = capsys.readouterr().out
    for option in ("--engine", "--ray-address", "--memory-limit", "--threads"):
        assert option in shown


def test_the_option_reaches_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "--store", "s", "--baseline", "a", "--candidate", "b", "--engine", "spark"]) == 2
    assert "there is no engine 'spark' (--engine)" in capsys.readouterr().err
