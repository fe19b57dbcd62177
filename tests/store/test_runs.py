"""A run is written once under an id: the same again is a no-op, anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.contracts import contract
from evalframe.errors import ContractError, StoreConflict, StoreError, UnknownName, UsageError
from evalframe.store import Store
from tests.store.things import predictions, table, write_run

NASTY = [
    "00042", "1.10", "1.1", "12e4567", "true", "", "NULL", "null", "a/b", "a=b", "a%2Fb", "a b", "é", "e\u0301",
    "../../escape", "..", ".", "/etc/passwd", "nul\0byte", "line\nbreak", "CON", "con", "Run", "run", "RUN",
    "'; DROP TABLE runs; --", '"', "\\", "~", "*", "?", "\u202egnp", "x" * 10_000, "x" * 9_999 + "y", "run.", "run ",
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True, durable=False)


def test_a_run_is_there_when_it_is_sealed(store: Store) -> None:
    assert write_run(store, "a", [0, None, 2], tags={"model": "m"}) == "written"
    assert store.run_ids() == ["a"]
    assert store.read("class_predictions").equals(predictions("a", [0, None, 2]))
    assert store.runs().to_pylist() == [
        {
            "run_id": "a",
            "dataset_id": "data",
            "system": "wisp",
            "tags": [("model", "m")],
            "created_at": store.runs()["created_at"][0].as_py(),
            "inputs": '{"sha256":"a"}',
        }
    ]
    assert store.read("runs").equals(store.runs())
    assert len(store.verify()) == 0


def test_files_lie_where_the_layout_says(store: Store) -> None:
    write_run(store, "a/b")
    assert store.files("class_predictions") == [
        store.path / "class_predictions" / "part_run=r-a%2Fb" / "part-0.parquet"
    ]


def test_the_same_again_is_a_no_op(store: Store) -> None:
    write_run(store, "a")
    before = sorted(store.path.rglob("*"))
    assert write_run(store, "a") == "unchanged"
    assert sorted(store.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("different", "named"),
    [
        ({"inputs": {"sha256": "b"}}, 'inputs.sha256: "a" is sealed, "b" was given'),
        ({"inputs": {"sha256": "a", "policy": "failed=excluded"}}, "inputs.policy: nothing is sealed"),
        ({"tags": {"seed": "1"}}, 'tags.seed: nothing is sealed, "1" was given'),
        ({"system": "kev"}, 'system: "wisp" is sealed, "kev" was given'),
        ({"dataset_id": None}, 'dataset_id: "data" is sealed, null was given'),
    ],
)
def test_other_content_under_an_id_is_refused_and_the_difference_named(
    store: Store, different: dict[str, Any], named: str
) -> None:
    write_run(store, "a")
    before = sorted(store.path.rglob("*"))
    with pytest.raises(StoreConflict) as refused:
        write_run(store, "a", [2, 2], **different)
    assert named in refused.value.found
    assert sorted(store.path.rglob("*")) == before
    assert store.read("class_predictions").equals(predictions("a", [0, 1, 2]))


def test_sameness_is_the_inputs_not_the_rows(store: Store) -> None:
    write_run(store, "a", [0, 1])
    assert write_run(store, "a", [1, 0]) == "unchanged"
    assert store.read("class_predictions").equals(predictions("a", [0, 1]))


def test_hostile_ids_are_distinct_stay_inside_and_come_back(store: Store, tmp_path: Path) -> None:
    for position, run_id in enumerate(NASTY):
        assert write_run(store, run_id, [position]) == "written"
    assert store.run_ids() == NASTY
    assert store.runs()["run_id"].to_pylist() == NASTY
    for position, run_id in enumerate(NASTY):
        assert store.run(run_id).run_id == run_id
        assert store.read("class_predictions", runs=[run_id]).equals(predictions(run_id, [position]))
    assert len(store.verify()) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store"]
    assert max(len(part) for path in store.path.rglob("*") for part in path.relative_to(store.path).parts) < 255


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=200), unique=True, max_size=4))
def test_any_ids_come_back(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    store = Store.open(tmp_path_factory.mktemp("ids"), create=True, durable=False)
    for run_id in ids:
        write_run(store, run_id)
    assert store.run_ids() == ids
    assert sorted(store.read("class_predictions", columns=["run_id"])["run_id"].to_pylist()) == sorted(ids * 3)


def test_ids_that_differ_only_in_case_share_no_file_even_where_folders_do(store: Store) -> None:
    # On such a file system both spellings are one folder: the files must still be two.
    write_run(store, "run", [0])
    folder = store.path / "class_predictions" / "part_run=r-RUN"
    folder.symlink_to(store.path / "class_predictions" / "part_run=r-run", target_is_directory=True)
    write_run(store, "RUN", [1])
    assert store.read("class_predictions", runs=["run"]).equals(predictions("run", [0]))
    assert store.read("class_predictions", runs=["RUN"]).equals(predictions("RUN", [1]))


def test_rows_of_another_run_are_refused(store: Store) -> None:
    with pytest.raises(ContractError) as refused:
        store.write_run(
            "a", system="wisp", dataset_id="d", tables={"class_predictions": predictions("b", [1])}, inputs={}
        )
    assert "'b'" in refused.value.found
    assert store.run_ids() == []
    assert store.gc() == []


@pytest.mark.parametrize("wrong", [float("nan"), {1: 2}, object(), "\ud800"])
def test_inputs_that_json_cannot_hold_are_refused(store: Store, wrong: object) -> None:
    with pytest.raises(UsageError, match="inputs"):
        write_run(store, "a", inputs={"x": wrong})


@pytest.mark.parametrize("name", ["../escape", "no_such_table", ".seals", ""])
def test_only_tables_of_the_contracts_are_written(store: Store, tmp_path: Path, name: str) -> None:
    rows = predictions("a", [1])
    with pytest.raises(UnknownName):
        store.write_run("a", system="wisp", dataset_id="d", tables={name: rows}, inputs={})
    with pytest.raises(UnknownName):
        store.write_record(name, "r", rows, inputs={})
    with pytest.raises(UnknownName):
        store.read(name)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert [path.name for path in store.path.iterdir()] == [".seals"]


def test_table_runs_is_the_stores_own(store: Store) -> None:
    write_run(store, "a")
    with pytest.raises(UsageError, match="written by the store"):
        store.write_run("b", system="wisp", dataset_id="d", tables={"runs": store.runs()}, inputs={})


def test_a_run_may_have_no_tables_and_an_empty_one_keeps_its_types(store: Store) -> None:
    write_run(store, "empty", [])
    store.write_run("none", system="wisp", dataset_id=None, tables={}, inputs={})
    assert store.run_ids() == ["empty", "none"]
    (path,) = store.files("class_predictions")
    assert pq.read_schema(path).equals(contract("class_predictions").arrow_schema())


def test_an_all_null_shard_keeps_its_type(store: Store) -> None:
    write_run(store, "a", [None, None])
    (path,) = store.files("class_predictions")
    assert pq.read_schema(path).field("class_index").type == pa.int16()


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.large_string()])
def test_a_shard_of_another_type_is_refused(store: Store, kind: pa.DataType) -> None:
    drifted = predictions("a", [1])
    drifted = drifted.set_column(2, "class_index", drifted["class_index"].cast(kind))
    with pytest.raises(ContractError):
        store.write_run("a", system="wisp", dataset_id="d", tables={"class_predictions": drifted}, inputs={})
    assert store.run_ids() == []


def test_a_stream_is_written_as_it_comes(store: Store) -> None:
    whole = predictions("a", list(range(1000)))
    stream = pa.RecordBatchReader.from_batches(whole.schema, iter(whole.to_batches(max_chunksize=7)))
    store.write_run("a", system="wisp", dataset_id="d", tables={"class_predictions": stream}, inputs={})
    assert store.read("class_predictions").equals(whole)
    assert len(store.files("class_predictions")) == 1


def test_a_stream_that_breaks_leaves_nothing(store: Store) -> None:
    whole = predictions("a", list(range(1000)))

    def batches() -> Any:
        yield whole.to_batches()[0]
        raise RuntimeError("the source broke")

    stream = pa.RecordBatchReader.from_batches(whole.schema, batches())
    with pytest.raises(RuntimeError, match="broke"):
        store.write_run("a", system="wisp", dataset_id="d", tables={"class_predictions": stream}, inputs={})
    assert store.run_ids() == []
    assert store.gc(dry_run=True) == []
    assert len(store.verify()) == 0


def test_a_data_set_is_read_once_however_many_runs_hold_it(store: Store) -> None:
    def activity(dataset: str, rows: int) -> pa.Table:
        return table(
            "floor_activity",
            rows,
            dataset_id=dataset,
            session_index=0,
            session="s",
            row=list(range(rows)),
            wearer=True,
            others=False,
        )

    for run_id, dataset in [("a", "one"), ("b", "one"), ("c", "two")]:
        store.write_run(
            run_id,
            system="floor",
            dataset_id=dataset,
            tables={"floor_activity": activity(dataset, 2 if dataset == "one" else 3)},
            inputs={},
        )
    assert store.read("floor_activity").num_rows == 5
    assert store.read("floor_activity", runs=["b"]).num_rows == 2
    assert [path.parent.name for path in store.files("floor_activity", runs=["b", "c"])] == [
        "part_run=r-b",
        "part_run=r-c",
    ]


def test_an_unknown_run_is_named(store: Store) -> None:
    write_run(store, "a")
    with pytest.raises(UnknownName, match="'b' is not in the store"):
        store.files("class_predictions", runs=["a", "b"])


def test_opening_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as refused:
        Store.open(tmp_path / "nothing")
    assert refused.value.found == "nothing"
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError) as refused:
        Store.open(tmp_path, create=True)
    assert refused.value.found == "a folder with notes.txt"
    with pytest.raises(StoreError) as refused:
        Store.open(tmp_path / "notes.txt", create=True)
    assert refused.value.found == "a file"


def test_a_read_only_store_refuses_to_write(store: Store) -> None:
    write_run(store, "a")
    reader = Store.open(store.path, read_only=True)
    assert reader.run_ids() == ["a"]
    with pytest.raises(StoreError, match="reading only"):
        write_run(reader, "b")
    with pytest.raises(StoreError, match="reading only"):
        reader.withdraw("a", "because")


def test_a_seal_is_json_that_lists_every_file(store: Store) -> None:
    import hashlib
    import json

    write_run(store, "a")
    (path,) = store.path.glob(".seals/runs/*/*.json")
    seal = json.loads(path.read_bytes())["seal"]
    assert seal["format"] == "evalframe-seal/1"
    assert {file["table"] for file in seal["files"]} == {"class_predictions", "runs"}
    for file in seal["files"]:
        content = (store.path / file["path"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["size"], file["sha256"])
