"""The compaction saves time and decides nothing: with it, without it or with it damaged, readers see the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.store import Store, compaction
from evalframe.store import store as facade
from evalframe.store.catalogue import COMPACTED
from tests.store.things import FIRST, PROTOCOL, SECOND, comparison, table, values, write_results, write_run

RUNS = [f"run{number:02d}" for number in range(12)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True, durable=False)
    for number, run_id in enumerate(RUNS):
        write_run(store, run_id, [number])
        write_results(store, run_id, {"accuracy": number / 16, "macro_f1": 0.5})
        if number % 3 == 0:
            write_results(store, run_id, {"accuracy": number / 32}, SECOND)
    store.write_record("comparisons", "c", comparison("run00", "run01"), inputs={}, runs=["run00", "run01"])
    return store


def seen(store: Store) -> dict[str, object]:
    """Everything a reader can ask, in an order of its own."""
    keys = [("run_id", "ascending"), ("protocol_fingerprint", "ascending"), ("metric", "ascending")]
    return {
        "run_ids": store.run_ids(),
        "runs": store.runs().to_pylist(),
        "scored": store.scored().to_pylist(),
        "values": store.read("metric_values").sort_by(keys).to_pylist(),
        "second": store.read("metric_values", fingerprints=[SECOND]).sort_by(keys).to_pylist(),
        "two": store.read("metric_values", runs=RUNS[:2], fingerprints=[FIRST]).sort_by(keys).to_pylist(),
        "predictions": store.read("class_predictions").sort_by("run_id").to_pylist(),
        "comparisons": store.read("comparisons").to_pylist(),
    }


def segments(store: Store, kind: str = "*") -> list[Path]:
    return sorted(path.parent for path in store.path.glob(f".catalogue/{kind}-*/segment.json"))


def from_segments(store: Store, table: str = "metric_values") -> int:
    return sum(".catalogue" in path.parts for path in store.files(table))


def test_readers_see_the_same_through_it(store: Store) -> None:
    before = seen(store)
    assert store.compact() == 12 + 16 + 1
    assert from_segments(store) == len(store.files("metric_values")) == 2  # one file per fingerprint
    assert seen(store) == seen(Store.open(store.path)) == before
    assert len(store.verify()) == 0
    assert store.compact() == 0


def with_states(folder: Path) -> Store:
    """Runs with a vocabulary and results with counts per cluster: one of 3 clusters, the second of 40."""
    store = Store.open(folder, create=True, durable=False)
    for number, run_id in enumerate(RUNS):
        words = table("class_vocabulary", 3, run_id=run_id, class_index=[0, 1, 2], **{"class": ["a", "b", "c"]})
        store.write_run(run_id, system="wisp", dataset_id="data", tables={"class_vocabulary": words}, inputs={})
        for fingerprint in (FIRST, SECOND) if number % 3 == 0 else (FIRST,):
            clusters = [f"p{place:02d}" for place in range(40 if number == 1 else 3)]
            counts = table(
                "class_confusion_by_cluster",
                len(clusters),
                protocol=PROTOCOL,
                protocol_fingerprint=fingerprint,
                run_id=run_id,
                stratum="all",
                cluster_id=clusters,
                target_index=1,
                predicted_index=[number % 3] * len(clusters),
                n=number + 1,
            )
            of_run = {"metric_values": values(run_id, {"accuracy": 0.5}, fingerprint)}
            tables = {**of_run, "class_confusion_by_cluster": counts}
            write_results(store, run_id, fingerprint=fingerprint, tables=tables)
    return store


STATES = ("class_vocabulary", "class_confusion_by_cluster")


def rows_of(store: Store, name: str, *choice: list[str]) -> list[dict[str, object]]:
    """Rows of a table in an order of their own."""
    return sorted(store.read(name, *choice).to_pylist(), key=str)


def states(store: Store) -> dict[str, list[dict[str, object]]]:
    """Rows of both, all of them and in two choices."""
    chosen = {f"{name} of some": rows_of(store, name, RUNS[1:9]) for name in STATES}
    second = {"second": rows_of(store, "class_confusion_by_cluster", RUNS, [SECOND])}
    return {**{name: rows_of(store, name) for name in STATES}, **chosen, **second}


@pytest.mark.parametrize(("most", "apart"), [(1 << 14, 0), (3, 1), (2, 16)])
def test_small_tables_are_joined_and_large_ones_read_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, apart: int
) -> None:
    monkeypatch.setattr(compaction, "JOINED_ROWS", most)
    monkeypatch.setattr("evalframe.store.snapshot._LOOKED_UP_ONE_BY_ONE", 0)
    store = with_states(tmp_path / "store")
    before = states(store)
    assert len(before["class_confusion_by_cluster"]) == 15 * 3 + 40
    store.compact()
    assert states(store) == states(Store.open(store.path)) == before
    counts = store.files("class_confusion_by_cluster")
    joined = from_segments(store, "class_confusion_by_cluster")
    assert joined == (0 if apart == 16 else 2)  # a part per fingerprint
    assert len(counts) - joined == apart
    assert from_segments(store, "class_vocabulary") == (0 if most == 2 else 1)
    assert len(store.verify()) == 0
    store.withdraw(RUNS[1], "a reason")
    kept = [row for row in before["class_confusion_by_cluster"] if row["run_id"] != RUNS[1]]
    for reader in (store, Store.open(store.path)):
        assert rows_of(reader, "class_confusion_by_cluster") == kept
    assert len(store.verify()) == 0


def test_a_compaction_without_them_leaves_them_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = with_states(tmp_path / "store")
    before = states(store)
    with monkeypatch.context() as patch:
        patch.setattr(compaction, "COMPACTED", {kind: tables[:1] for kind, tables in COMPACTED.items()})
        store.compact()
    assert from_segments(store) == 2
    assert [from_segments(store, name) for name in STATES] == [0, 0]
    assert states(store) == before
    assert len(store.verify()) == 0


@pytest.mark.parametrize("name", STATES)
def test_joined_rows_that_no_seal_holds_are_found(tmp_path: Path, name: str) -> None:
    store = with_states(tmp_path / "store")
    before = states(store)
    store.compact()
    (path, *_) = store.files(name)
    flip(path)
    assert [finding["kind"] for finding in store.verify().to_pylist()] == ["damaged_compaction"]
    assert states(Store.open(store.path)) == before


def test_its_rows_lie_by_metric(store: Store) -> None:
    store.compact()
    (path,) = store.files("metric_values", fingerprints=[FIRST])
    rows = pq.ParquetFile(path).read(columns=["metric", "run_id"])
    assert rows["metric"].to_pylist() == ["accuracy"] * 12 + ["macro_f1"] * 12
    assert rows["run_id"].to_pylist() == RUNS * 2


@given(
    rows=st.lists(st.tuples(st.text("ab", max_size=2) | st.none(), st.none() | st.integers(0, 3))),
    room=st.sampled_from([4, 1 << 62]),
)
def test_rows_are_sorted_as_python_sorts_them(rows: list[tuple[str | None, int | None]], room: int) -> None:
    columns = [
        pa.chunked_array([pa.array([row[i] for row in rows], kind)]) for i, kind in enumerate((pa.string(), pa.int64()))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "_ROOM", room)
        order = compaction._order(columns).tolist()
    nulls_first = [[(0, 0) if value is None else (1, value) for value in row] for row in rows]
    assert order == sorted(range(len(rows)), key=nulls_first.__getitem__)


def test_fresh_seals_are_read_beside_it(store: Store) -> None:
    store.compact()
    write_run(store, "fresh")
    write_results(store, "fresh")
    assert store.run_ids() == [*RUNS, "fresh"]
    assert "fresh" in store.read("metric_values")["run_id"].to_pylist()
    assert from_segments(store) == 2
    assert store.compact() == 2
    assert from_segments(store) == len(store.files("metric_values")) == 3


def test_a_choice_of_runs_never_gets_rows_of_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalframe.store.snapshot._LOOKED_UP_ONE_BY_ONE", 0)
    store.compact()
    chosen = store.read("metric_values", runs=RUNS[:5])
    assert set(chosen["run_id"].to_pylist()) == set(RUNS[:5])
    assert chosen.num_rows == 5 * 2 + 2
    assert from_segments(store) == 2
    assert store.files("metric_values", runs=RUNS) == store.files("metric_values")
    assert store.runs(RUNS[:5])["run_id"].to_pylist() == RUNS[:5]
    assert set(store.scored(RUNS[:5])["run_id"].to_pylist()) == set(RUNS[:5])
    assert store.read("comparisons", runs=["run00"]).num_rows == 1
    assert store.read("comparisons", runs=["run05"]).num_rows == 0


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove_seal(store: Store) -> None:
    for path in store.path.glob(".seals/*/*/r-run03.*"):
        path.unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "manifest flipped": lambda folder: flip(folder / "segment.json"),
    "manifest cut": lambda folder: (folder / "segment.json").write_bytes(b""),
    "manifest gone": lambda folder: (folder / "segment.json").unlink(),
    "rows flipped": lambda folder: flip(next(folder.glob("metric_values-*.parquet"))),
    "rows gone": lambda folder: next(folder.glob("metric_values-*.parquet")).unlink(),
    "index flipped": lambda folder: flip(next(folder.glob("sealed_files-*.parquet"))),
    "index cut": lambda folder: next(folder.glob("seals-*.parquet")).write_bytes(b"PAR1"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_ignored_and_rebuilt(store: Store, damage: str) -> None:
    before = seen(store)
    store.compact()
    DAMAGES[damage](*segments(store, "results"))
    again = Store.open(store.path)
    assert from_segments(again) == 0
    assert seen(again) == before
    assert again.compact() == 16
    assert from_segments(again) == 2
    assert seen(again) == before


def test_rows_of_a_run_whose_seal_is_gone_are_not_served(store: Store) -> None:
    store.compact()
    remove_seal(store)
    for reader in (store, Store.open(store.path)):
        assert "run03" not in reader.run_ids()
        assert "run03" not in reader.read("metric_values")["run_id"].to_pylist()


def test_an_id_sealed_anew_after_its_seal_was_removed_shows_the_new_content(store: Store) -> None:
    store.compact()
    remove_seal(store)
    write_run(store, "run03", [7, 7], inputs={"sha256": "new"})
    write_results(store, "run03", {"accuracy": 0.875})
    found = Store.open(store.path).read("metric_values", runs=["run03"])
    assert found["value"].to_pylist() == [0.875]
    assert seen(store) == seen(Store.open(store.path))


def test_a_copied_store_keeps_its_compaction(store: Store, tmp_path: Path) -> None:
    store.compact()
    shutil.copytree(store.path, tmp_path / "copy", copy_function=shutil.copyfile)
    copy = Store.open(tmp_path / "copy")
    assert from_segments(copy) == 2
    assert seen(copy) == seen(store)


def test_one_of_another_version_is_ignored(store: Store) -> None:
    import hashlib

    store.compact()
    (folder,) = segments(store, "results")
    body = (folder / "segment.json").read_bytes().partition(b"\n")[2]
    other = json.loads(body)
    other["parts"][2]["meaning"] = "another meaning"
    body = json.dumps(other).encode()
    (folder / "segment.json").write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    assert from_segments(Store.open(store.path)) == 0


def test_readers_build_it_when_many_seals_are_uncovered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facade, "COMPACT_AT", 12)
    Store.open(store.path, read_only=True).runs()
    store.runs(["run00"])
    assert segments(store) == []
    store.runs()
    assert [folder.name.partition("-")[0] for folder in segments(store)] == ["runs"]
    write_run(store, "fresh")
    store.runs()
    assert len(segments(store)) == 1
    store.views()
    assert [folder.name.partition("-")[0] for folder in segments(store)] == ["results", "runs"]


def test_nobody_waits_for_more_than_a_share(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen(store)
    monkeypatch.setattr(facade, "COMPACT_AT", 3)
    monkeypatch.setattr(facade, "COMPACT_AT_ONCE", 5)
    for left in (7, 2, 2):
        assert seen(Store.open(store.path, read_only=True)) == before
        store.run_ids()
        covered = sum(len(json.loads((f / "segment.json").read_bytes()[65:])["seals"]) for f in segments(store, "runs"))
        assert 12 - covered == left


def test_a_store_that_cannot_be_compacted_is_read_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen(store)
    flip(store.files("metric_values")[0])  # refused by the compaction: its digest is not the sealed one
    monkeypatch.setattr(facade, "COMPACT_AT", 1)
    assert store.run_ids() == before["run_ids"]
    assert store.scored().to_pylist() == before["scored"]
    assert segments(store, "results") == []


def test_many_writes_leave_few_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FAN_OUT", 3)
    store = Store.open(tmp_path / "store", create=True, durable=False)
    for number in range(30):
        store.write_run(f"{number}", system="wisp", dataset_id=None, tables={}, inputs={})
        store.compact()
    assert len(segments(store)) <= 6
    assert len(store.run_ids()) == 30
    assert len(store.verify()) == 0
    assert store.gc() == []  # superseded ones stay a while for readers that hold their names
    monkeypatch.setattr("evalframe.store.collecting.SUPERSEDED_SECONDS", 0.0)
    assert store.gc()
    assert len(list((store.path / ".catalogue").iterdir())) == len(segments(store)) + 1  # and the lock
    assert len(store.run_ids()) == 30


@settings(max_examples=30)
@given(
    steps=st.lists(
        st.sampled_from(["compact", "withdraw", "write", "rescore", "gc", "compare"]), min_size=3, max_size=12
    )
)
def test_whatever_happened_the_compaction_changes_no_answer(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    store = Store.open(tmp_path_factory.mktemp("steps"), create=True, durable=False)
    for number, step in enumerate(["write", *steps]):
        ids = store.run_ids()
        if step == "write":
            write_run(store, f"{number}", [number])
            write_results(store, f"{number}")
        elif step == "rescore" and ids:
            write_results(store, ids[0], {"macro_f1": 0.5}, f"ef1-{number:016x}" + "0" * 48)
        elif step == "compare" and ids:
            rows = comparison(ids[0], ids[-1])
            store.write_record("comparisons", f"{number}", rows, inputs={}, runs={ids[0], ids[-1]})
        elif step == "withdraw" and ids:
            store.withdraw(ids[0], "a reason")
        elif step == "compact":
            store.compact()
        else:
            store.gc()
    plain = store.path.with_name("plain")
    shutil.copytree(store.path, plain, ignore=shutil.ignore_patterns(".catalogue"))

    def answers(path: Path) -> object:
        reader = Store.open(path, read_only=True)
        tables = {name: reader.read(name) for name in ("metric_values", "class_predictions", "comparisons", "runs")}
        return (
            reader.run_ids(),
            reader.runs().to_pylist(),
            reader.scored().to_pylist(),
            {name: sorted(map(str, rows.to_pylist())) for name, rows in tables.items()},
        )

    assert answers(store.path) == answers(plain)
    assert len(store.verify()) == 0
    shutil.rmtree(plain)
