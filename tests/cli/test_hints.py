"""Hints name the store that was asked, and say what helps."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

from evalframe.cli.run import run
from evalframe.errors import ExitCode
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories
from tests.sources.foreign import record, written

Output = pytest.CaptureFixture[str]


def _refused(words: list[str], capsys: Output, code: int = ExitCode.USAGE) -> list[str]:
    """The four lines of a refusal."""
    capsys.readouterr()
    assert run(words) == code
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 4
    return lines


def _hint(words: list[str], capsys: Output, code: int = ExitCode.USAGE) -> str:
    return _refused(words, capsys, code)[3].removeprefix("  hint:     ")


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--baseline", "a", "--candidate", "a"],
        ["compare", "--baseline", "a", "--candidate", "nobody"],
        ["compare", "--baseline", "method=z", "--candidate", "b"],
        ["compare", "--baseline", "a", "--candidate", "fold=0", "--pair-on", "fold"],
        ["sql", "SELECT"],
        ["sql", "DROP VIEW runs"],
        ["sql", "SELECT 1", "--format", "parquet"],
        ["runs", "--diff", "a"],
        ["export", "--to", "results.xlsx"],
        ["explain", "accuracy", "--steps"],
        ["import", "{tmp}/record.json", "{tmp}/log.txt"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_a_hint_names_the_store_that_was_asked(words: list[str], store: Path, tmp_path: Path, capsys: Output) -> None:
    written(tmp_path / "record.json", record())
    words = [word.format(tmp=tmp_path) for word in words]
    hint = _hint([*words, "--store", str(store)], capsys)
    assert "DIR" not in hint
    if "--store" in hint:
        assert f"--store {store}" in hint


def test_a_hint_can_be_pasted_where_the_store_has_a_space(store: Path, capsys: Output) -> None:
    moved = store.rename(store.with_name("my results"))
    hint = _hint(["compare", "--store", str(moved), "--baseline", "a", "--candidate", "nobody"], capsys)
    assert shlex.split(hint) == ["evalframe", "runs", "--store", str(moved)]
    assert run(shlex.split(hint)[1:]) == ExitCode.OK


def test_a_store_of_recorded_values_alone_is_shown_and_not_scored_again(tmp_path: Path, capsys: Output) -> None:
    store = ["--store", str(tmp_path / "store")]
    assert run(["import", str(written(tmp_path / "record.json", record())), *store]) == ExitCode.OK
    assert run(["import", str(written(tmp_path / "other.json", record())), *store, "--run-id", "b"]) == ExitCode.OK
    known = "bench/org/model/1700000001"
    for words, code in (
        (["leaderboard"], ExitCode.USAGE),
        (["compare", "--baseline", known, "--candidate", "b"], ExitCode.NOT_COMPARABLE),
        (["audit", "engines", "--run", known], ExitCode.NOT_COMPARABLE),
    ):
        hint = shlex.split(_hint([*words, *store], capsys, code))
        assert hint[:2] == ["evalframe", "sql"]
        assert run(hint[1:]) == ExitCode.OK
        assert known in capsys.readouterr().out


def test_a_store_without_runs_is_told_how_one_is_made(tmp_path: Path, capsys: Output) -> None:
    from evalframe.store import Store

    Store.open(tmp_path / "store", create=True)
    assert "wisp score" in _hint(["leaderboard", "--store", str(tmp_path / "store")], capsys)


@pytest.mark.parametrize("at_fault", ["traces", "targets"])
@pytest.mark.parametrize("damage", ["unreadable", "lacking"])
def test_the_file_at_fault_is_the_one_that_is_explained(
    at_fault: str, damage: str, tmp_path: Path, capsys: Output
) -> None:
    world = trajectories(3)
    files = {name: tmp_path / f"{name}.parquet" for name in ("traces", "targets")}
    trace_rows(world).write_parquet(files["traces"])
    target_rows(world).write_parquet(files["targets"])
    if damage == "lacking":
        pl.read_parquet(files[at_fault]).drop("frame_index").write_parquet(files[at_fault])
    else:
        files[at_fault].write_bytes(b"no parquet")
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    code = ExitCode.CONTRACT if damage == "lacking" else ExitCode.USAGE
    told = ["robometer", "score", *words, "--protocol", "robometer-ind", "--output", str(tmp_path / "out")]
    assert _hint(told, capsys, code) == f"evalframe explain progress_{at_fault}"


def test_a_field_that_is_not_there_is_named_once(tmp_path: Path, capsys: Output) -> None:
    table = tmp_path / "p.csv"
    table.write_text("y_pred,participant\n1,p\n")
    told = ["wisp", "score", "--predictions", str(table), "--output", str(tmp_path / "o.json")]
    assert _refused(told, capsys)[0].startswith("EF115 there is no y_true (")
    assert "EF115 there is no label to read y_true from (" in _refused([*told, "--key", "y_true=label"], capsys)[0]
