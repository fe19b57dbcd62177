"""A writer killed at any boundary leaves nothing that is read, nothing that harms, and nothing that `gc` does not find.

The process is killed by SIGKILL at each named point; then every reader sees what was sealed before (or, past the
rename, the new seal whole), a rerun heals, and what is left over is garbage.
"""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from evalframe.errors import StoreError
from evalframe.store import Store, faults
from tests.store.things import predictions, write_results, write_run
from tests.store.worker import killed_at

SEALED = {"seal.after_rename", "writer.before_release"}
WRITING = [point for point in faults.POINTS if point.startswith(("writer.", "part.", "seal."))]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True, durable=False)
    write_run(store, "before")
    return store


def files(store: Store) -> set[str]:
    """Paths of all files but the locks, which stay."""
    there = (path.relative_to(store.path) for path in store.path.rglob("*") if path.is_file())
    return {str(path) for path in there if "lock" not in path.name}


@pytest.mark.parametrize("point", WRITING)
def test_a_killed_writer_leaves_only_garbage(store: Store, point: str) -> None:
    assert killed_at(point, store.path, "write_run(store, 'new')")

    assert store.run_ids() == (["before", "new"] if point in SEALED else ["before"])
    assert set(store.read("class_predictions")["run_id"].to_pylist()) == set(store.run_ids())
    assert len(store.verify()) == 0
    assert store.read("class_predictions", runs=["before"]).equals(predictions("before", [0, 1, 2]))

    assert write_run(store, "new") == ("unchanged" if point in SEALED else "written")
    left = set(store.gc(dry_run=True))
    assert left <= files(store)
    assert set(store.gc()) == left
    assert store.gc() == []
    assert len(store.verify()) == 0
    assert store.read("class_predictions", runs=["new"]).equals(predictions("new", [0, 1, 2]))
    clean = Store.open(store.path.with_name("clean"), create=True, durable=False)
    write_run(clean, "before")
    write_run(clean, "new")
    assert len(files(store)) == len(files(clean))


@pytest.mark.parametrize("step", ["write_results(store, 'before')", "store.withdraw('before', 'why')"])
def test_so_do_other_writers(store: Store, step: str) -> None:
    assert killed_at("seal.before_rename", store.path, step)
    assert store.run_ids() == ["before"]
    assert store.results("before") == ()
    assert len(store.verify()) == 0
    assert store.gc()
    assert write_results(store, "before") == "written"


@pytest.mark.parametrize(
    "point", ["part.created", "part.write@2", "part.closed", "compaction.before_rename", "compaction.after_rename"]
)
def test_a_killed_compaction_changes_no_answer(store: Store, point: str) -> None:
    write_results(store, "before")
    assert killed_at(point, store.path, "store.compact()")
    assert store.read("metric_values").num_rows == 1
    assert len(store.verify()) == 0
    left = store.gc()
    assert bool(left)
    assert store.compact() == (1 if point == "compaction.after_rename" else 2)
    assert len(store.verify()) == 0
    assert store.gc() == []


def test_a_killed_gc_can_be_run_again(store: Store) -> None:
    assert killed_at("seal.before_write", store.path, "write_run(store, 'new')")
    left = set(store.gc(dry_run=True))
    assert len(left) == 3  # two files and their writer's journal
    assert killed_at("gc.before_remove@2", store.path, "store.gc()")
    assert len(store.verify()) == 0
    assert set(store.gc()) < left
    assert store.gc() == []
    assert store.run_ids() == ["before"]


@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EROFS", "EACCES"])
@pytest.mark.parametrize("point", WRITING)
def test_a_failing_disk_is_a_typed_error_and_leaves_nothing(store: Store, point: str, error: str) -> None:
    before = files(store)
    faults.arm(f"{point}={error}")
    try:
        with pytest.raises(StoreError) as failure:
            write_run(store, "new")
    finally:
        faults.arm(None)
    assert failure.value.__cause__ is not None
    assert failure.value.__cause__.errno == getattr(errno, error)  # type: ignore[attr-defined]
    assert store.run_ids() == (["before", "new"] if point in SEALED else ["before"])
    assert len(store.verify()) == 0
    assert store.gc() == []
    if point not in SEALED:
        assert files(store) == before
    assert write_run(store, "new") in ("written", "unchanged")


def test_a_compaction_that_fails_is_no_error_of_a_reader(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalframe.store.store.COMPACT_AT", 1)
    faults.arm("part.write=ENOSPC")
    try:
        assert store.run_ids() == ["before"]
    finally:
        faults.arm(None)
    assert store.gc() == []


def test_a_point_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no such point"):
        faults.arm("seal.before_renaming")
    with pytest.raises(ValueError, match="no such point"):
        faults.arm("part.write=EWHATEVER")
