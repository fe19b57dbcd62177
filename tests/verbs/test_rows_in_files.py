"""Rows that do not fit into memory are scored from files: the same numbers, refusals and nothing left behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.contracts import contract
from evalframe.contracts.shards import Shards, Spool, blocks
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import ContractError, DuplicateItem, EngineError, EvalframeError
from evalframe.identity import data_digest
from evalframe.sources.signals import read_windows
from evalframe.store import Store
from evalframe.verbs import rescore as rescoring
from evalframe.verbs import spooling, wisp
from evalframe.verbs.checking import bind_checked
from evalframe.verbs.rescore import rescore, stored_run
from evalframe.verbs.spooling import spooled

pytestmark = pytest.mark.usefixtures("leaves_no_folder")

ROWS = 1 << 17  # two parts of a file
CLASSES = ("sit", "walk", "run")


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on no source may hold rows in memory, and no stored table is read into it."""

    def forced() -> None:
        monkeypatch.setattr(spooling, "ROOM", 0)
        monkeypatch.setattr(rescoring, "IN_MEMORY", 0)

    return forced


def predictions(path: Path, rows: int = ROWS, **other: object) -> Path:
    """Saved predictions of one run."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, rows)
    columns: dict[str, object] = {
        "y_true": truth,
        "y_pred": np.where(rng.random(rows) < 0.8, truth, rng.integers(0, 3, rows)),
        "participant": [f"p{i % 7}" for i in range(rows)],
        "sample_id": [f"s{i * 7919 % rows}é" for i in range(rows)],
        "time": np.arange(rows) / 4,
        "failed": rng.random(rows) < 0.01,
        **other,
    }
    if path.suffix == ".npz":
        arrays = {name: np.array(values) for name, values in columns.items()}
        np.savez_compressed(path, classes=np.array(CLASSES), **arrays)  # type: ignore[arg-type]
    else:
        pq.write_table(pa.table(columns), path)
    return path


def score(path: Path, store: Path) -> str:
    """OUT.json of one run whose results are sealed."""
    classes = path.with_name("classes.json")
    classes.write_text('["sit", "walk", "run"]')
    return wisp.score(path, classes=classes, store=store, run_id="one").to_json()


@pytest.mark.parametrize("name", ["run.npz", "run.parquet"])
def test_a_run_in_files_is_the_run_in_memory(name: str, tmp_path: Path, in_files: Callable[[], None]) -> None:
    path = predictions(tmp_path / name)
    in_memory = score(path, tmp_path / "memory")
    in_files()

    assert score(path, tmp_path / "files") == in_memory
    ours, theirs = Store.open(tmp_path / "files"), Store.open(tmp_path / "memory")
    for table in ("class_labels", "class_predictions", "class_vocabulary", "class_confusion_by_cluster"):
        assert ours.read(table).equals(theirs.read(table)), table
    by = [("item_index", "ascending")]
    assert ours.read("class_outcomes").sort_by(by).equals(theirs.read("class_outcomes").sort_by(by))


def test_a_sealed_run_is_scored_again_from_its_files(tmp_path: Path, in_files: Callable[[], None]) -> None:
    score(predictions(tmp_path / "run.npz", 5000), tmp_path / "store")
    in_files()
    store = Store.open(tmp_path / "store")

    assert isinstance(stored_run(store, "one").tables["class_labels"], Shards)
    assert [row["outcome"] for row in rescore(store).to_pylist()] == ["unchanged"]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("y_true", [0] * (ROWS - 1) + [3], f"3 in row {ROWS - 1} (from 0)"),
        ("participant", ["p"] * (ROWS - 2) + [None, "p"], f"nothing in row {ROWS - 2} (from 0)"),
        ("sample_id", [None] * (ROWS - 1) + ["late"], "nothing in row 0 (from 0)"),
        ("sample_id", [f"s{i}" for i in range(ROWS - 1)] + ["s4"], f"'s4' in rows 4 and {ROWS - 1} (from 0)"),
        ("time", [0.0] * (ROWS - 1) + [float("inf")], f"inf in row {ROWS - 1} (from 0)"),
    ],
)
def test_a_late_row_is_refused_by_its_number(
    column: str, values: list[object], words: str, tmp_path: Path, in_files: Callable[[], None]
) -> None:
    path = predictions(tmp_path / "run.parquet", **{column: values})
    in_files()
    with pytest.raises(EvalframeError) as refused:
        score(path, tmp_path / "store")
    assert refused.value.found == words
    assert not (tmp_path / "store").exists()


def test_the_first_of_two_repeated_samples_is_named(tmp_path: Path) -> None:
    samples = ["z", "a", "b", "b", "z", "a"]
    path = predictions(tmp_path / "run.parquet", 6, sample_id=samples)
    with pytest.raises(DuplicateItem) as refused:
        score(path, tmp_path / "store")
    assert refused.value.found == "'b' in rows 2 and 3 (from 0)"


def test_a_full_disk_is_told_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = predictions(tmp_path / "run.parquet")
    monkeypatch.setattr(spooling, "ROOM", 0)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", _refused)
    with pytest.raises(EngineError, match="EF710") as refused:
        score(path, tmp_path / "store")
    assert refused.value.found == "No space left on device"
    assert not (tmp_path / "store").exists()


def test_bytes_that_do_not_fit_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signals = np.arange(4000, dtype=np.float32).reshape(10, 100, 4)
    labelled = {"y": np.zeros(10, int), "participant": np.array(["p"] * 10), "classes": np.array(CLASSES)}
    np.savez_compressed(tmp_path / "windows.npz", X=signals, **labelled)
    with spooled(room=100) as spool:
        windows = read_windows(tmp_path / "windows.npz", run_id="r", spool=spool)
        assert isinstance(windows.signals.base.base, np.memmap)
        assert np.array_equal(windows.signals, signals)
        monkeypatch.setattr(os, "posix_fallocate", _refused)
        with pytest.raises(EngineError):
            read_windows(tmp_path / "windows.npz", run_id="r", spool=spool)


def _refused(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def items(rows: int) -> pa.Table:
    """An evaluation set with repeated names, nulls, and text whose order by bytes is not that by letters."""
    rng = np.random.default_rng(3)
    texts = pa.array([None, "", "Z", "a", "é", "\U0001f600", "z\x00", "z"], pa.large_string())
    names = ("item_id", "label", "cluster_id", "stratum")
    return pa.table({name: texts.take(pa.array(rng.integers(0, len(texts), rows))) for name in names})


@pytest.mark.parametrize("rows", [0, 1, 70_000])
def test_a_digest_is_the_same_from_files(rows: int) -> None:
    table = items(rows)
    with spooled(room=1000) as spool:
        for start in range(0, rows, 3333):
            spool.add("items", table.slice(start, 3333))
        taken = spool.take("items", table.schema)
        assert isinstance(taken, Shards) == (rows > 1000)
        assert spool.digest(taken) == (data_digest(table), rows > 1000)


def test_rows_come_back_in_their_order(tmp_path: Path) -> None:
    table = pa.table({"n": np.arange(300_000)})
    with Spool(tmp_path, lambda rows, by: rows.batches(), room=0) as spool:
        for start in range(0, len(table), 999):
            spool.add("n", table.slice(start, 999))
        taken = spool.take("n", table.schema)
        assert isinstance(taken, Shards)
        assert taken.table().equals(table)
        assert [len(block) for block in blocks(taken.batches(), 100_001)] == [100_001, 100_001, 99_998]


def shards(folder: Path, name: str, columns: dict[str, object]) -> Shards:
    """A contract table in one file."""
    schema = contract(name).arrow_schema()
    pq.write_table(pa.table(columns, schema=schema), folder / f"{name}.parquet")
    return Shards(schema, [folder / f"{name}.parquet"])


def labels(folder: Path, **other: object) -> Shards:
    columns = {"run_id": ["r"] * 4, "item_index": [0, 1, 2, 3], "sample_id": ["a", "b", "c", "d"]}
    rest = {"participant": ["p"] * 4, "time": [0.0, 1.0, 2.0, 3.0], "class_index": [0, 0, 0, 0]}
    return shards(folder, "class_labels", {**columns, **rest, **other})


def guesses(folder: Path, **other: object) -> Shards:
    columns = {"run_id": ["r"] * 4, "item_index": [0, 1, 2, 3], "class_index": [0, 0, 0, 0]}
    return shards(folder, "class_predictions", {**columns, **other})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"labels": {"item_index": [0, 3, 2, 3]}}, "duplicate_key in run_id, item_index: run_id='r', item_index=3"),
        ({"labels": {"sample_id": ["a", "b", "a", "d"]}}, "duplicate_key in run_id, sample_id: run_id='r'"),
        ({"labels": {"class_index": [0, 0, 7, 0]}}, "orphan in run_id, class_index (1, row 2"),
        ({"guesses": {"item_index": [0, 1, 2, 9]}}, "orphan in run_id, item_index: run_id='r', item_index=9"),
    ],
)
def test_the_rules_of_a_contract_hold_in_files(wrong: dict[str, dict[str, object]], words: str, tmp_path: Path) -> None:
    vocabulary = pa.table(
        {"run_id": ["r"], "class_index": [0], "class": ["sit"]}, schema=contract("class_vocabulary").arrow_schema()
    )
    tables = {
        "class_vocabulary": vocabulary,
        "class_labels": labels(tmp_path, **wrong.get("labels", {})),
        "class_predictions": guesses(tmp_path, **wrong.get("guesses", {})),
    }
    with DuckDB() as engine, pytest.raises(ContractError) as refused:
        bind_checked(engine, tables, where="run r")
    assert words in refused.value.found


def test_keys_need_not_rise_to_be_unique(tmp_path: Path) -> None:
    tables = {"class_labels": labels(tmp_path, item_index=[3, 1, 0, 2])}
    with DuckDB() as engine:
        bind_checked(engine, tables, where="run r")
        assert len(engine.query("SELECT item_index FROM class_labels")) == 4
