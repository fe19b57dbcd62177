"""What a store does wherever it lies: a test file per kind of place collects these and says where by a fixture."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import StoreConflict, StoreError, UnknownName
from evalframe.store import Store
from evalframe.store.journal import Journal
from evalframe.verbs.demo_data import windows
from tests.store.things import FIRST, SECOND, comparison, predictions, write_results, write_run

Output = pytest.CaptureFixture[str]


class Anywhere:
    """Fixture `uri`: of a place where nothing lies yet."""

    @pytest.fixture
    def store(self, uri: str) -> Store:
        return Store.open(uri, create=True)

    # ---- writing and reading ----------------------------------------------------------------------------------------

    def test_where_nothing_lies_is_no_store_until_one_is_made(self, uri: str) -> None:
        with pytest.raises(StoreError, match="no store in this place"):
            Store.open(uri)
        Store.open(uri, create=True)
        assert Store.open(uri).run_ids() == []
        assert Store.open(uri).verify().num_rows == 0

    def test_a_store_does_not_begin_among_other_files(self, uri: str) -> None:
        Store(uri)._files.write("notes/read.me", b"mine")
        with pytest.raises(StoreError, match="cannot begin") as refusal:
            Store.open(uri, create=True)
        assert refusal.value.hint.endswith(f"--store {Store(uri).path}/store")

    def test_a_store_that_lies_below_is_named(self, uri: str) -> None:
        with pytest.raises(StoreError) as refusal:
            Store.open(uri)
        assert refusal.value.hint.endswith(f"--store {Store(uri).path}")
        Store(uri)._files.write("below/.seals/lock", b"a store begins so")
        with pytest.raises(StoreError) as refusal:
            Store.open(uri)
        assert refusal.value.hint == f"evalframe runs --store {Store(uri).path}/below"

    def test_what_is_sealed_is_read_back_by_another(self, store: Store, uri: str) -> None:
        assert write_run(store, "a", [0, 1, None]) == "written"
        assert write_results(store, "a", {"accuracy": 0.25}) == "written"
        assert store.write_record("comparisons", "c", comparison("a", "a"), inputs={}, runs=["a"]) == "written"
        other = Store.open(uri)
        assert other.read("class_predictions").equals(predictions("a", [0, 1, None]))
        assert other.read("metric_values", columns=["value"])["value"].to_pylist() == [0.25]
        assert other.read("comparisons").num_rows == 1
        assert other.views()["class_predictions"] == other.files("class_predictions")
        assert [seal.protocol_fingerprint for seal in other.results("a")] == [FIRST]
        assert other.verify().to_pylist() == []
        assert other.gc() == []

    def test_the_same_again_is_a_no_op_and_other_content_is_refused(self, store: Store) -> None:
        write_run(store, "a")
        before = sorted(store._files.walk())
        assert write_run(store, "a") == "unchanged"
        with pytest.raises(StoreConflict, match="different content"):
            write_run(store, "a", inputs={"sha256": "b"})
        assert sorted(store._files.walk()) == before

    def test_results_under_older_fingerprints_stay(self, store: Store) -> None:
        write_run(store, "a")
        write_results(store, "a", {"accuracy": 0.1}, FIRST)
        write_results(store, "a", {"accuracy": 0.2}, SECOND)
        assert store.newest_fingerprint("wisp-har/1") == SECOND
        assert store.read("metric_values", fingerprints=[FIRST])["value"].to_pylist() == [0.1]

    def test_a_withdrawn_run_is_hidden_and_its_id_stays_taken(self, store: Store, uri: str) -> None:
        write_run(store, "a")
        write_results(store, "a")
        write_run(store, "b")
        assert store.withdraw("a", "wrong labels") == "written"
        other = Store.open(uri)
        assert other.run_ids() == ["b"]
        assert other.read("metric_values").num_rows == 0
        with pytest.raises(UnknownName, match="withdrawn"):
            other.run("a")
        with pytest.raises(StoreConflict, match="withdrawn"):
            write_run(other, "a")

    def test_ids_that_are_no_file_names(self, store: Store) -> None:
        ids = ["a/b", "..", "50 %", "Zoë", " ", "x" * 300]
        for run_id in ids:
            write_run(store, run_id)
        assert sorted(store.run_ids()) == sorted(ids)
        assert store.verify().num_rows == 0

    def test_a_stream_is_written_as_it_comes(self, store: Store) -> None:
        rows = predictions("a", list(range(100)))
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=7))
        store.write_run("a", system="wisp", dataset_id=None, tables={"class_predictions": reader}, inputs={})
        assert store.read("class_predictions").equals(rows)

    def test_a_stream_that_breaks_leaves_nothing(self, store: Store) -> None:
        def batches() -> object:
            yield predictions("a", [1, 2]).to_batches()[0]
            raise RuntimeError("the model died")

        before = sorted(store._files.walk())
        reader = pa.RecordBatchReader.from_batches(predictions("a", []).schema, batches())
        with pytest.raises(RuntimeError, match="the model died"):
            store.write_run("a", system="wisp", dataset_id=None, tables={"class_predictions": reader}, inputs={})
        assert sorted(store._files.walk()) == before

    # ---- upkeep -----------------------------------------------------------------------------------------------------

    def test_compaction_changes_no_answer(self, store: Store, uri: str) -> None:
        for number in range(5):
            write_run(store, f"run{number}")
            write_results(store, f"run{number}", {"accuracy": number / 10, "macro_f1": 0.5})
        by = [("run_id", "ascending"), ("metric", "ascending")]
        before = store.read("metric_values").sort_by(by), store.runs()
        assert store.compact() == 10
        other = Store.open(uri)
        assert (other.read("metric_values").sort_by(by), other.runs()) == before
        assert len(other.files("metric_values")) == 1
        assert other.verify().to_pylist() == []
        other.withdraw("run0", "a reason")
        assert other.read("metric_values").num_rows == 8
        assert store.verify().to_pylist() == []

    def test_verify_names_what_was_changed_removed_and_added(self, store: Store) -> None:
        for run_id in ("a", "b", "c"):
            write_run(store, run_id)
        place = store._files
        changed, missing = (store.run(run_id).files[0].path for run_id in ("a", "b"))
        place.write(changed, b"x" * len(place.read(changed)))
        place.remove(missing)
        place.write("class_predictions/part_run=r-d/part-0.parquet", b"extra")
        (seal,) = [path for path in place.walk(".seals/runs") if "r-c." in path]
        place.write(seal, place.read(seal).replace(b"wisp", b"wasp"))
        found = {finding["path"]: finding["kind"] for finding in store.verify().to_pylist()}
        kinds = {path: found.pop(path) for path in (changed, missing, seal)}
        assert kinds == {changed: "changed_file", missing: "missing_file", seal: "damaged_seal"}
        assert set(found.values()) == {"extra_file"}

    def test_gc_removes_what_a_dead_writer_left_and_nothing_else(
        self, store: Store, uri: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_run(store, "a")
        sealed = sorted(store._files.walk())
        with Journal(store._files, ["class_predictions/part_run=r-new/part-"]) as journal:
            path, sink = store._files.create("class_predictions/part_run=r-new", "part", ".parquet")
            sink.write(b"half")
            sink.close()
            assert store.gc() == []  # it may be at work
            assert store.verify().num_rows == 0
            journal.keep()
        monkeypatch.setattr("evalframe.store.journal.TRUSTED_SECONDS", 0.0)
        assert store.gc(dry_run=True) == sorted([path, journal.path])
        assert store.gc() == sorted([path, journal.path])
        assert sorted(store._files.walk()) == sealed
        assert Store.open(uri).read("class_predictions").num_rows == 3


class Commands:
    """What is asked on the command line, over the same fixture."""

    def test_every_command_works_there(self, uri: str, tmp_path: Path, capsys: Output) -> None:
        for name, skill in (("cnn", 0.7), ("gru", 0.75)):
            (tmp_path / f"{name}.npz").write_bytes(windows(skill=skill, seed=len(name)))
        secret = uri.partition("@")[0].rpartition(":")[2]
        said = ""

        def ask(*words: str, code: int = 0) -> str:
            nonlocal said
            assert run([word.format(store=uri, here=tmp_path) for word in words]) == code, capsys.readouterr().err
            out, err = capsys.readouterr()
            said += out + err
            return out

        for name in ("cnn", "gru"):
            ask("wisp", "score", "--predictions", f"{{here}}/{name}.npz", "--output", f"{{here}}/{name}.json",
                "--store", "{store}", "--run-id", name)  # fmt: skip
        listed = json.loads(ask("runs", "--store", "{store}", "--json"))["runs"]
        assert [each["run_id"] for each in listed] == ["cnn", "gru"]
        assert "gru" in ask("leaderboard", "--store", "{store}", "--metric", "macro_f1")
        compared = ("compare", "--store", "{store}", "--baseline", "cnn", "--candidate", "gru", "--replicates", "50")
        assert json.loads(ask(*compared, "--save", "--json"))["verdict"] == "comparable"
        counted = "SELECT count(*) AS n FROM metric_values AS m JOIN macro_f1 AS l ON l.run_id = m.run_id"
        assert json.loads(ask("sql", counted, "--store", "{store}", "--format", "json"))[0]["n"] > 0
        assert "macro_f1" in ask("explain", "macro_f1", "--steps", "--store", "{store}", "--run", "cnn")
        assert "unchanged" in ask("rescore", "--store", "{store}")
        ask("export", "--store", "{store}", "--to", "parquet:{here}/star", "--replicates", "50")
        ask("audit", "values", "--store", "{store}")
        assert ask("store", "verify", "{store}") == "every sealed file matches its seal\n"
        assert ask("store", "gc", "{store}") == "0 file(s) removed\n"
        ask("store", "withdraw", "{store}", "gru", "--reason", "labels were shifted")
        ask("compare", "--store", "{store}", "--baseline", "cnn", "--candidate", "gru", code=2)
        ask("wisp", "score", "--predictions", "{here}/cnn.npz", "--output", "{here}/x.json", "--store", "{store}",
            "--run-id", "gru", code=4)  # fmt: skip
        assert repr(evalframe.open(uri)) == f"Store('{Store(uri).path}', 1 runs)"
        assert "@" not in said
        assert secret not in said
        everything = [*tmp_path.rglob("*.json"), *tmp_path.rglob("*.parquet")]
        assert all(secret.encode() not in path.read_bytes() for path in everything if path.is_file())
        place = Store(uri)._files
        assert all(secret.encode() not in place.read(path) for path in place.walk())


def whole_runs(store: Store) -> dict[str, int]:
    """Rows of predictions per run that a reader sees."""
    counted = store.read("class_predictions").group_by("run_id").aggregate([("item_index", "count")])
    return dict(zip(counted["run_id"].to_pylist(), counted["item_index_count"].to_pylist(), strict=True))
