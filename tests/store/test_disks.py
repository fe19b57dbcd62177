"""Disks that are full, read-only or gone: a typed error, no seal, and reading goes on."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

import pytest

from evalframe.errors import StoreError
from evalframe.store import Store
from tests.store.things import write_results, write_run
from tests.store.worker import finish, start

LIMITED = (
    "__import__('signal').signal(__import__('signal').SIGXFSZ, __import__('signal').SIG_IGN) and None,"
    "__import__('resource').setrlimit({limit}, ({size}, {size}))"
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True, durable=False)
    write_run(store, "a")
    write_results(store, "a")
    return store


def test_a_limit_on_file_sizes(store: Store) -> None:
    limited = LIMITED.format(limit=resource.RLIMIT_FSIZE, size=4096)
    *_, refused = finish(start(store.path, limited, "write_run(store, 'big', [i % 7 for i in range(300_000)])"))
    assert isinstance(refused, dict)
    assert refused["code"] == "EF301"
    assert "File too large" in refused["found"]
    assert store.run_ids() == ["a"]
    assert len(store.verify()) == 0
    assert store.gc() == []


def test_a_folder_that_may_not_be_written(store: Store, tmp_path: Path) -> None:
    for folder in (store.path, *(path for path in store.path.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    steps = [
        # Load everything first: permissions do not bind root, and another user may not see the interpreter's files.
        f"[write_run(other := Store.open({str(tmp_path / 'other')!r}, create=True), 'x'), other.compact(), other.gc()]",
        "__import__('os').geteuid() or __import__('os').setuid(65534)",
        "store.run_ids()",
        "store.read('metric_values').num_rows",
        "len(store.verify())",
        "store.gc(dry_run=True)",
        "write_run(store, 'b')",
        "store.withdraw('a', 'why')",
        "store.compact()",
        "store.gc()",
    ]
    *reads, run, grave, compaction, collection = finish(start(store.path, *steps))[2:]
    assert reads == [["a"], 1, 0, []]
    for refused in (run, grave, compaction, collection):
        assert isinstance(refused, dict)
        assert refused["code"] == "EF301"
        assert refused["hint"].startswith("choose a store that can be written")


def test_a_store_that_goes_away_while_it_is_open(store: Store) -> None:
    shutil.move(store.path, store.path.with_name("moved"))
    for use in (store.run_ids, store.runs, store.views, lambda: write_run(store, "b")):
        with pytest.raises(StoreError, match="the store is gone"):
            use()
    assert not store.path.exists()
    assert Store.open(store.path.with_name("moved")).run_ids() == ["a"]
