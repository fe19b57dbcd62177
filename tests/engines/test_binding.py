"""Parquet under a name: shards that drift are refused before anything is computed, folders never become columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.contracts import Column, Contract, contract
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.duckdb_errors import VERIFY
from evalframe.errors import ContractError, EngineError, InputError

CONTRACT = contract("class_predictions")
SCHEMA = CONTRACT.arrow_schema()


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as db:
        yield db


def shard(
    folder: Path, name: str, run: str, schema: pa.Schema = SCHEMA, classes: tuple[object, ...] = (1, None)
) -> Path:
    rows = {"run_id": [run] * len(classes), "item_index": list(range(len(classes))), "class_index": list(classes)}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows, schema=schema), path)
    return path


def test_shards_of_one_contract_read_as_one_table(engine: DuckDB, tmp_path: Path) -> None:
    engine.bind("class_predictions", [shard(tmp_path, "a.parquet", "r"), shard(tmp_path, "b.parquet", "s")])
    rows = engine.query("SELECT run_id, class_index FROM class_predictions ORDER BY run_id, item_index")
    assert rows.to_pydict() == {"run_id": ["r", "r", "s", "s"], "class_index": [1, None, 1, None]}


DRIFTS = [
    ("class_index", pa.int64(), (1, 2), "int16", "int64"),
    ("class_index", pa.float32(), (1.0, 2.0), "int16", "float"),
    ("class_index", pa.large_string(), ("1", "2"), "int16", "large_string"),
    ("class_index", pa.null(), (None, None), "int16", "null"),
]


@pytest.mark.parametrize(("column", "kind", "values", "expected", "found"), DRIFTS)
def test_a_shard_that_drifts_is_refused(
    engine: DuckDB,
    tmp_path: Path,
    column: str,
    kind: pa.DataType,
    values: tuple[object, ...],
    expected: str,
    found: str,
) -> None:
    good = shard(tmp_path, "a.parquet", "r")
    drifted = SCHEMA.set(SCHEMA.get_field_index(column), pa.field(column, kind))
    bad = shard(tmp_path, "b.parquet", "s", drifted, values)
    with pytest.raises(ContractError, match=f"has drifted: column {column}") as caught:
        engine.bind("class_predictions", [good, bad])
    assert (caught.value.expected, caught.value.found, caught.value.where) == (expected, found, str(bad))


def test_missing_and_surplus_columns_are_refused(engine: DuckDB, tmp_path: Path) -> None:
    table = pa.table({"run_id": ["r"], "item_index": [0]}, schema=SCHEMA.remove(2))
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ContractError, match="has drifted: columns") as caught:
        engine.bind("class_predictions", [tmp_path / "a.parquet"])
    assert caught.value.found == "run_id, item_index"


def test_an_all_null_shard_that_carries_its_type_is_sound(engine: DuckDB, tmp_path: Path) -> None:
    engine.bind(
        "class_predictions", [shard(tmp_path, "a.parquet", "r", classes=(None,)), shard(tmp_path, "b.parquet", "s")]
    )
    rows = engine.query("SELECT class_index FROM class_predictions")
    assert sorted(rows["class_index"].to_pylist(), key=str) == [1, None, None]
    assert rows.schema.field("class_index").type == pa.int16()


def test_text_written_by_polars_is_text(engine: DuckDB, tmp_path: Path) -> None:
    pl.DataFrame(
        {"run_id": ["001"], "item_index": [0], "class_index": [3]}, schema=CONTRACT.polars_schema()
    ).write_parquet(tmp_path / "p.parquet")
    engine.bind("class_predictions", [tmp_path / "p.parquet"])
    assert engine.query("SELECT run_id FROM class_predictions")["run_id"].to_pylist() == ["001"]


def test_a_folder_name_never_replaces_a_column(engine: DuckDB, tmp_path: Path) -> None:
    path = shard(tmp_path, "run_id=12e4567/class_index=7/a.parquet", "00042", classes=(1,))
    engine.bind("class_predictions", [path])
    assert engine.query("SELECT run_id, class_index FROM class_predictions").to_pylist() == [
        {"run_id": "00042", "class_index": 1}
    ]


@pytest.mark.parametrize("name", ["we[i]rd*?.parquet", "it's.parquet", "ключ=%2F.parquet", " a.parquet"])
def test_odd_file_names_are_read_literally(engine: DuckDB, tmp_path: Path, name: str) -> None:
    decoy = shard(tmp_path, "weirdXX.parquet", "decoy")
    engine.bind("class_predictions", [shard(tmp_path, name, "r")])
    assert set(engine.query("SELECT run_id FROM class_predictions")["run_id"].to_pylist()) == {"r"}
    assert decoy.exists()


def test_no_shards_are_a_table_without_rows(engine: DuckDB) -> None:
    engine.bind("class_predictions", [])
    rows = engine.query("SELECT run_id, item_index, class_index FROM class_predictions")
    assert (rows.num_rows, rows.schema.field("class_index").type) == (0, pa.int16())


def test_a_broken_file_is_named(engine: DuckDB, tmp_path: Path) -> None:
    whole = shard(tmp_path, "a.parquet", "r").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-20])
    with pytest.raises(InputError, match="cannot be read") as caught:
        engine.bind("class_predictions", [tmp_path / "cut.parquet"])
    assert caught.value.where.endswith("cut.parquet")


def test_binding_again_replaces(engine: DuckDB) -> None:
    for value in ("a", "b"):
        engine.bind("runs", pa.table({"run_id": [value]}))
    assert engine.query("SELECT run_id FROM runs")["run_id"].to_pylist() == ["b"]


EVERY_TYPE = ["floor_forecasts", "choice_questions", "runs", "metric_values", "choice_bins", "progress_traces"]


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_physical_type_survives_parquet(engine: DuckDB, tmp_path: Path, name: str) -> None:
    pq.write_table(contract(name).empty(), tmp_path / "a.parquet")
    engine.bind(name, [tmp_path / "a.parquet"])
    assert engine.query(f"SELECT * FROM {name}").schema.names == list(contract(name).names)


def test_a_list_that_is_null_has_no_element_of_no_value(engine: DuckDB, tmp_path: Path) -> None:
    """Functions of lists refuse elements that are null, and a scan yields one for a list that is null itself."""
    declared = Contract("t", "", "", columns=(Column("p", "list<float64>", False, ""),), key=(), references=())
    files = [tmp_path / "whole.parquet", tmp_path / "holed.parquet"]
    for statistics in (True, False):  # the file says whether a null is there, or nothing about it
        for path, lists in zip(files, ([[1.0], [2.0]], [[0.5, 0.5], None]), strict=True):
            rows = pa.table({"p": lists}, schema=declared.arrow_schema())
            pq.write_table(rows, path, write_statistics=statistics)
        engine.bind("t", files, declared)
        found = engine.query("SELECT list_inner_product(p, p) AS x FROM t")["x"].to_pylist()
        assert sorted(found, key=str) == [0.5, 1.0, 4.0, None]


def test_a_damaged_file_leads_to_verifying_and_a_wrong_query_does_not(engine: DuckDB, tmp_path: Path) -> None:
    path = shard(tmp_path, "a.parquet", "r")
    engine.bind("class_predictions", [path])
    whole, hints = path.read_bytes(), []
    for place in range(4, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            engine.query("SELECT * FROM class_predictions")
        except EngineError as error:
            hints.append(error.hint)
    assert len(hints) > 20
    assert set(hints) == {VERIFY}
    path.write_bytes(whole)
    with pytest.raises(EngineError) as wrong:
        engine.query("SELECT CAST(run_id AS INT) FROM class_predictions")
    assert wrong.value.hint != VERIFY
