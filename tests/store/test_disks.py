"""Disks that are full, read-only or gone: a typed error, no seal, and reading goes on."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest

from evalframe.errors import EvalframeError, StoreError
from evalframe.store import Store
from evalframe.verbs import demo_data
from evalframe.verbs.sql import ask
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
    ours = Path(tempfile.gettempdir())
    for folder in (tmp_path, *(path for path in tmp_path.parents if path.is_relative_to(ours) and path != ours)):
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


def test_a_store_that_moves_away_while_it_is_read(store: Store) -> None:
    """Every answer is whole, or an error of ours that says that the store is not there."""
    for number in range(40):
        write_run(store, f"run{number}")
    away, answers = store.path.with_name("away"), Counter[str]()
    reading = {
        "ids": (lambda: len(store.run_ids()), 41),
        "rows": (lambda: store.read("class_predictions").num_rows, 123),
        "runs": (lambda: len(store.runs()), 41),
        "sql": (lambda: ask(store, "SELECT count(*) AS n FROM class_predictions")["n"].to_pylist(), [123]),
        "verify": (lambda: len(store.verify()), 0),
    }
    world = random.Random(1)
    for use, whole in [pair for pair in reading.values() for _ in range(12)]:
        mover = threading.Timer(world.random() * 0.03, os.rename, (store.path, away))
        mover.start()
        try:
            while True:
                assert use() == whole  # type: ignore[operator]
                answers["whole"] += 1
        except EvalframeError:
            answers["refused"] += 1
        mover.join()
        os.rename(away, store.path)
    assert answers["refused"] == 60
    assert answers["whole"]
    assert len(store.verify()) == 0


def full_real_disk() -> None:
    """A command on a file system of its own that is too small, at ten sizes: refused, nothing left, then healed."""
    if os.geteuid():
        raise SystemExit("mounting a small file system needs root")
    with tempfile.TemporaryDirectory() as scratch:
        source, mount = Path(scratch) / "p.npz", Path(scratch) / "small"
        source.write_bytes(demo_data.windows(skill=0.5, seed=1))
        mount.mkdir()
        outcomes: Counter[int] = Counter()
        for kib in range(8, 88, 8):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(mount)], check=True)
            try:
                outcomes[_on_a_small_disk(source, mount)] += 1
            finally:
                subprocess.run(["umount", str(mount)], check=True)
        print("exit codes over sizes:", dict(outcomes))
        assert outcomes[0]
        assert outcomes[2]


def _on_a_small_disk(source: Path, mount: Path) -> int:
    """The exit code, after everything was looked at and the disk was made larger."""
    store, output = mount / "store", mount / "o.json"
    words = ["wisp", "score", "--predictions", str(source), "--output", str(output), "--store", str(store)]
    command = [sys.executable, "-B", "-m", "evalframe", *words]
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode in (0, 2), first.stderr
    assert first.returncode == 0 or len(first.stderr.strip().splitlines()) == 4, first.stderr
    if (store / ".seals").is_dir():
        opened = Store.open(store)
        assert opened.verify().to_pylist() == []
        assert opened.gc() == []
    assert not output.exists() or first.returncode == 0
    assert [path.name for path in mount.iterdir() if path.name.startswith(".")] == []
    subprocess.run(["mount", "-o", "remount,size=8m", str(mount)], check=True)
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert Store.open(store).verify().to_pylist() == []
    return first.returncode


def test_a_store_that_goes_away_while_it_is_open(store: Store) -> None:
    shutil.move(store.path, store.path.with_name("moved"))
    for use in (store.run_ids, store.runs, store.views, lambda: write_run(store, "b")):
        with pytest.raises(StoreError, match="the store is gone"):
            use()
    assert not store.path.exists()
    assert Store.open(store.path.with_name("moved")).run_ids() == ["a"]
