"""Several processes on one store: none corrupts another, exactly one seals an id, readers see whole runs only."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.compute as pc
import pytest

from evalframe.store import Store, locks
from evalframe.store.journal import Journal
from tests.store.things import predictions, write_results, write_run
from tests.store.worker import finish, start

WAIT = "__import__('time').sleep(max(0, {begin} - __import__('time').time()))"


def together(folder: Path | str, *works: list[str]) -> list[list[object]]:
    """What the steps of each process returned, all processes begun at one moment."""
    begin = time.time() + 1.5
    processes = [start(folder, WAIT.format(begin=begin), *steps) for steps in works]
    return [finish(process)[1:] for process in processes]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True, durable=False)


def test_the_same_run_is_written_once(store: Store) -> None:
    steps = [f"write_run(store, 'run{number}')" for number in range(6)]
    outcomes = together(store.path, *[steps] * 4)
    for attempts in zip(*outcomes, strict=True):
        assert sorted(map(str, attempts)) == ["unchanged", "unchanged", "unchanged", "written"]
    assert sorted(store.run_ids()) == [f"run{number}" for number in range(6)]
    assert len(store.verify()) == 0
    assert store.gc() == []
    assert store.read("class_predictions").num_rows == 18


def test_of_two_contents_under_one_id_one_stands_and_the_other_is_refused(store: Store) -> None:
    works = [[f"write_run(store, 'run', [{number}], inputs={{'sha256': '{number}'}})"] for number in range(4)]
    outcomes = [answer for (answer,) in together(store.path, *works)]
    refused = [answer for answer in outcomes if isinstance(answer, dict)]
    assert outcomes.count("written") == 1
    assert [answer["code"] for answer in refused] == ["EF310"] * 3
    winner = outcomes.index("written")
    assert store.run("run").inputs == {"sha256": str(winner)}
    assert store.read("class_predictions").equals(predictions("run", [winner]))
    assert len(store.verify()) == 0
    assert store.gc() == []


def test_readers_collectors_and_compactions_stand_eight_processes(store: Store) -> None:
    def writer(name: int) -> list[str]:
        run = f"write_run(store, '{name}-{{0}}', list(range(50)))"
        result = f"write_results(store, '{name}-{{0}}')"
        steps = [step.format(number) for number in range(8) for step in (run, result)]
        return [*steps, f"store.withdraw('{name}-0', 'a reason')"]

    look = "[store.verify().to_pylist(), sizes(store), store.read('metric_values').num_rows <= 40]"
    outcomes = together(
        store.path,
        *[writer(name) for name in range(5)],
        [look] * 12,
        ["store.gc()"] * 25,
        ["store.compact() >= 0"] * 12,
    )
    assert {answer for answers in outcomes[:5] for answer in map(str, answers)} == {"written"}
    assert [answer for answer in outcomes[5] if answer not in ([[], [], True], [[], [50], True])] == []
    assert [answer for answer in outcomes[6] if answer] == []
    assert all(answer is True for answer in outcomes[7])
    assert len(store.run_ids()) == 35
    assert store.read("metric_values").num_rows == 35
    assert pc.sum(store.read("class_predictions")["item_index"]).as_py() == 35 * sum(range(50))
    assert store.verify().to_pylist() == []
    assert store.gc() == []


def test_gc_spares_what_a_living_writer_makes(store: Store) -> None:
    write_run(store, "a")
    with Journal(store._files, ["class_predictions/part_run=r-new/part-"]) as journal:
        path, sink = store._files.create("class_predictions/part_run=r-new", "part", ".parquet")
        store._files.write(journal.staged, b"a seal in the making")
        sink.write(b"half")
        sink.abandon()
        assert store.gc() == []
        assert len(store.verify()) == 0
    assert [finding["path"] for finding in store.verify().to_pylist()] == [path]
    assert store.gc() == [path]


def test_where_locks_do_not_work_a_journal_counts_as_alive_for_a_day(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    with Journal(store._files, ["class_predictions/part_run=r-new/part-"]) as journal:
        store._files.create("class_predictions/part_run=r-new", "part", ".parquet")[1].abandon()
        journal.keep()
    assert store.gc() == []
    monkeypatch.setattr("evalframe.store.journal.TRUSTED_SECONDS", 0.0)
    assert len(store.gc()) == 2


def test_where_locks_do_not_work_the_same_content_sealed_twice_counts_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _seal_twice(store, monkeypatch, {"sha256": "a"})
    assert store.run_ids() == ["a"]
    assert store.read("class_predictions").num_rows == 3
    assert store.views()["runs"] == store.files("runs", runs=["a"])
    assert [finding["kind"] for finding in store.verify().to_pylist()] == ["duplicate_seal"]


def test_where_locks_do_not_work_different_content_sealed_twice_is_not_believed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalframe.errors import StoreCorrupt

    _seal_twice(store, monkeypatch, {"sha256": "b"})
    with pytest.raises(StoreCorrupt, match="cannot be believed") as refused:
        store.run_ids()
    assert "two seals of run 'a'" in refused.value.found


def _seal_twice(store: Store, monkeypatch: pytest.MonkeyPatch, inputs: dict[str, str]) -> None:
    """Two writers that did not see each other's seal."""
    write_run(store, "a")
    with monkeypatch.context() as blind:
        blind.setattr("evalframe.store.ledger.Ledger.find", lambda *_: None)
        write_run(store, "a", inputs=inputs)


def test_without_locks_a_differing_rival_is_taken_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalframe.errors import StoreConflict

    write_run(store, "a")
    monkeypatch.setattr(locks, "fcntl", None)
    with monkeypatch.context() as blind:
        blind.setattr("evalframe.store.ledger.Ledger.find", lambda *_: None)
        with pytest.raises(StoreConflict, match="at the same time"):
            write_run(store, "a", inputs={"sha256": "b"})
        assert write_run(store, "a") == "unchanged"
    assert store.run("a").inputs == {"sha256": "a"}
    assert write_results(store, "a") == "written"
    assert len(store.verify()) == 0
    assert store.gc() == []


def test_damage_elsewhere_does_not_fail_a_write_that_succeeded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalframe.store.store.LOOK_EVERY", 1)
    _seal_twice(store, monkeypatch, {"sha256": "b"})
    assert write_run(store, "c") == "written"
