"""An engine stays within the memory it was given and cleans up after itself."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from evalframe.engines.duckdb import DuckDB
from evalframe.engines.limits import cgroup_limits, default_memory_limit, machine_memory
from evalframe.errors import EngineError, UsageError


def test_a_control_group_limit_counts_and_no_limit_does_not(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "unlimited").write_text("max\n")
    assert machine_memory((tmp_path / "memory.max",)) == 1_048_576
    assert machine_memory((tmp_path / "unlimited", tmp_path / "absent")) == machine_memory(())
    assert 0 < default_memory_limit() < machine_memory()


def test_limits_of_all_groups_around_a_process_count(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/jobs/step\n3:cpu:/elsewhere\n4:memory:/old\n")
    for place, limit in {"": "max", "jobs": "5000000", "jobs/step": "max", "memory/old": "7000000"}.items():
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        name = "memory.limit_in_bytes" if place.startswith("memory") else "memory.max"
        (tmp_path / place / name).write_text(f"{limit}\n")
    assert machine_memory(cgroup_limits(tmp_path, own)) == 5_000_000
    (tmp_path / "jobs/memory.max").write_text("max\n")
    assert machine_memory(cgroup_limits(tmp_path, own)) == 7_000_000
    assert machine_memory(cgroup_limits(tmp_path / "none", tmp_path / "none")) == machine_memory(())


def test_work_beyond_the_limit_spills_into_the_given_folder_and_leaves_nothing(tmp_path: Path) -> None:
    with DuckDB(memory_limit="60MB", threads=2, spill_folder=tmp_path) as db:
        (folder,) = tmp_path.iterdir()
        rows = db.query("SELECT count(*) AS n FROM (SELECT i FROM range(8000000) AS t(i) ORDER BY hash(i))")
        assert rows["n"].to_pylist() == [8_000_000]
        settings = db.query("SELECT current_setting('memory_limit') AS m, current_setting('threads') AS t").to_pylist()
        assert settings == [{"m": "57.2 MiB", "t": 2}]
        assert folder.name.startswith("evalframe-spill-")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_fit_says_how_to_go_on(tmp_path: Path) -> None:
    with DuckDB(memory_limit="20MB", threads=1, spill_folder=tmp_path) as db, pytest.raises(EngineError) as caught:
        db.query("SELECT list(i) AS l FROM range(20000000) AS t(i)")
    assert "--memory-limit" in caught.value.hint


@pytest.mark.parametrize("limit", ["lots", "-1GB", "4", "80%", "4GB; SET x"])
def test_a_limit_that_is_none_is_refused_and_leaves_nothing(tmp_path: Path, limit: str) -> None:
    with pytest.raises(UsageError, match="the memory limit is not an amount"):
        DuckDB(memory_limit=limit, spill_folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_threads_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without a thread"):
        DuckDB(threads=0, spill_folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_cannot_open_says_so_when_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise duckdb.IOException("IO Error: no such device")

    monkeypatch.setattr(duckdb, "connect", refuse)
    with (
        pytest.raises(EngineError, match=r"DuckDB cannot start[\s\S]*no such device"),
        DuckDB(spill_folder=tmp_path) as db,
    ):
        db.query("SELECT 1")
    assert list(tmp_path.iterdir()) == []
