"""A store of many runs answers every command for all of them, from its compaction and beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.cli.run import run
from evalframe.store import Store
from tests.benchmarks import load

RUNS, ROWS = 40, 24


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load.build(tmp_path_factory.mktemp("load"), RUNS, ROWS, processes=1)


@pytest.mark.parametrize("compacted", [False, True])
def test_every_command_answers_for_all_runs(store: Path, compacted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if compacted:
        assert Store.open(store).compact() == 2 * RUNS
        assert Store.open(store).compact() == 0
    said = {}
    for name, command in load.commands(store).items():
        assert run(command[len(load.EVALFRAME) :]) == 0, name
        said[name] = capsys.readouterr().out
    load.check(said, RUNS, ROWS)


def test_a_query_of_some_runs_sees_no_other(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["sql", "SELECT DISTINCT run_id FROM metric_values ORDER BY 1", "--store", str(store), "--format", "csv"]
    assert run([*asked, "--run", "r00003", "r00001"]) == 0
    assert capsys.readouterr().out.split() == ["run_id", "r00001", "r00003"]
    assert run([*asked, "--run", "r99999"]) == 2
    assert "'r99999' is not in the store" in capsys.readouterr().err


def test_a_run_sealed_after_the_compaction_counts(store: Path, tmp_path: Path) -> None:
    known = Store.open(store)
    known.compact()
    before = known.read("metric_values").num_rows
    load._write(load.small_store(tmp_path), store, [RUNS], ROWS)
    assert known.read("metric_values").num_rows == before + ROWS
    assert known.run_ids()[-1] == f"r{RUNS:05d}"
