"""A store on a file system that is not this machine's: every operation, writers that race or die, and trouble."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from evalframe.errors import EvalframeError, StoreConflict
from evalframe.store import Store, faults, remote
from evalframe.store.journal import TRUSTED_SECONDS
from tests.store.anywhere import Anywhere, Commands, whole_runs
from tests.store.objects import BUCKET, URI, Objects, reach
from tests.store.things import predictions, write_results, write_run


class TestAmongObjects(Anywhere, Commands):
    """Where nothing can be renamed and no folder be made: that raises."""

    @pytest.fixture
    def uri(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
        reach(monkeypatch, tmp_path / "cache", memory=Objects())
        return URI


class TestWhereAFileBeginsEmpty(Anywhere):
    """Azure shows a file without content from when it is opened until it is closed."""

    @pytest.fixture
    def uri(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
        reach(monkeypatch, tmp_path / "cache", memory=Objects(begins_empty=True))
        return URI


class TestAmongFolders(Anywhere):
    """A file system of pyarrow that has folders."""

    @pytest.fixture
    def uri(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
        (tmp_path / f"mounted/{BUCKET}").mkdir(parents=True)
        reach(monkeypatch, tmp_path / "cache", memory=SubTreeFileSystem(str(tmp_path / "mounted"), LocalFileSystem()))
        return URI


@pytest.fixture
def store(objects: Objects) -> Store:
    return Store.open(URI, create=True)


# ---- writers that race ----------------------------------------------------------------------------------------------


def at_once(*works: tuple[str, list[int | None], str]) -> list[object]:
    """Write runs (id, predictions, input) from a thread each; the outcomes, errors among them."""
    outcomes: list[object] = [None] * len(works)
    ready = threading.Barrier(len(works))

    def work(place: int, run_id: str, classes: list[int | None], given: str) -> None:
        own = Store.open(URI)
        ready.wait()
        try:
            outcomes[place] = write_run(own, run_id, classes, inputs={"sha256": given})
        except EvalframeError as refused:
            outcomes[place] = refused

    threads = [threading.Thread(target=work, args=(place, *each)) for place, each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_of_many_writers_of_one_content_one_writes(store: Store) -> None:
    outcomes = at_once(*[("a", [0, 1], "same")] * 6)
    assert sorted(map(str, outcomes)) == ["unchanged"] * 5 + ["written"]
    assert whole_runs(store) == {"a": 2}
    assert store.verify().to_pylist() == []
    assert store.gc() == []


def test_of_many_contents_under_one_id_exactly_one_stands(store: Store) -> None:
    outcomes = at_once(*[("a", [number], str(number)) for number in range(6)])
    assert outcomes.count("written") == 1
    assert [type(each) for each in outcomes if each != "written"] == [StoreConflict] * 5
    winner = outcomes.index("written")
    assert store.run("a").inputs == {"sha256": str(winner)}
    assert store.read("class_predictions").equals(predictions("a", [winner]))
    assert store.verify().to_pylist() == []
    assert store.gc() == []


def test_writers_of_different_runs_do_not_wait_for_one_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("waited"))
    assert at_once(*[(f"run{number}", [number], "same") for number in range(6)]) == ["written"] * 6


def meanwhile(objects: Objects, doing: str, part: str, work: object) -> None:
    """Do `work` once, right before a request for a key with `part` in it."""

    def before(what: str, key: str) -> None:
        if what == doing and part in key:
            objects.before = lambda *_: None
            work()  # type: ignore[operator]

    objects.before = before


def test_a_writer_that_stood_still_for_too_long_takes_a_differing_seal_back(
    store: Store, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another() -> None:
        monkeypatch.setattr(remote, "LEASE_SECONDS", 0.0)  # it did not see the first one's claim move
        assert write_run(Store.open(URI), "a", [7], inputs={"sha256": "theirs"}) == "written"

    meanwhile(objects, "put", ".seals/runs/", another)
    with pytest.raises(StoreConflict, match="at the same time"):
        write_run(store, "a", [1, 2, 3], inputs={"sha256": "ours"})
    assert store.read("class_predictions").equals(predictions("a", [7]))
    assert store.verify().to_pylist() == []
    assert store.gc() == []


def test_the_same_content_sealed_twice_by_one_that_stood_still_counts_once(
    store: Store, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another() -> None:
        monkeypatch.setattr(remote, "LEASE_SECONDS", 0.0)
        assert write_run(Store.open(URI), "a") == "written"

    meanwhile(objects, "put", ".seals/runs/", another)
    assert write_run(store, "a") == "written"
    assert whole_runs(store) == {"a": 3}
    assert [finding["kind"] for finding in store.verify().to_pylist()] == ["duplicate_seal"]
    assert write_run(store, "a") == "unchanged"


def test_a_dead_writers_claim_is_respected_only_for_a_while(
    store: Store, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store._files
    with place.exclusive("a lock"):
        (claim,) = place.names(".writers")
        with place.exclusive("a lock", wait=False) as held:
            assert held is False
        with place.exclusive("another lock", wait=False) as held:
            assert held is None
    place.write(f".writers/{claim}", b"a claim")
    monkeypatch.setattr(remote, "LEASE_SECONDS", 0.05)
    with place.exclusive("a lock") as held:
        assert held is None
    assert store.gc() == []
    objects.kept[f"{BUCKET}/results/.writers/{claim}"] = (b"a claim", time.time() - TRUSTED_SECONDS - 1)
    assert store.gc() == [f".writers/{claim}"]


# ---- writers that die -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begins_empty", [False, True])
def test_wherever_a_writer_dies_readers_see_whole_runs_and_gc_removes_the_rest(
    store: Store, objects: Objects, begins_empty: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_run(store, "old")
    moments: list[tuple[str, Objects]] = []
    objects.begins_empty = begins_empty
    objects.before = lambda doing, key: moments.append((f"{doing} {key}", objects.copy()))
    monkeypatch.setattr(faults, "reach", lambda point: moments.append((point, objects.copy())))
    write_run(store, "new", [1, 2, 3, 4])
    write_results(store, "new")
    store.compact()
    monkeypatch.undo()
    different = [moment for last, moment in pairwise([("", Objects()), *moments]) if moment[1].kept != last[1].kept]
    monkeypatch.setattr("evalframe.store.journal.TRUSTED_SECONDS", 0.0)
    monkeypatch.setattr("evalframe.store.collecting.BEGINNING_SECONDS", 0.0)
    for point, left in different:
        reach(monkeypatch, tmp_path / "cache", memory=left)
        after = Store.open(URI)
        seen = whole_runs(after)
        assert seen in ({"old": 3}, {"old": 3, "new": 4}), point
        assert after.verify().to_pylist() == [], point
        after.gc()
        assert not [path for path in after._files.walk() if path.startswith(".writers/")], point
        assert whole_runs(after) == seen, point
        assert write_run(after, "new", [1, 2, 3, 4]) == ("unchanged" if "new" in seen else "written"), point
        assert after.verify().to_pylist() == [], point
    assert {point for point, _ in moments if " " not in point} == {
        "writer.begun", "part.created", "part.write", "part.closed", "seal.before_write", "seal.written",
        "seal.before_rename", "seal.after_rename", "writer.before_release", "compaction.before_rename",
        "compaction.after_rename",
    }  # fmt: skip
