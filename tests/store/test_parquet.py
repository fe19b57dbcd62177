"""How tables are written: exactly, compactly, in bounded pieces, readable by anything that reads Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.contracts import contract, contracts, example
from evalframe.store import Store, parquet
from evalframe.store.files import LocalFiles
from tests.store.things import predictions, table, values, write_results, write_run


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path, durable=False)


def written(files: LocalFiles, rows: pa.Table) -> list[Path]:
    with parquet.Writer(files, "t", ("t", "part"), rows.schema) as writer:
        writer.add(rows)
    assert sum(file.rows for file in writer.files) == len(rows)
    return [files.path(file.path) for file in writer.files]


def chunks(path: Path) -> dict[str, Any]:
    group = pq.ParquetFile(path).metadata.row_group(0)
    return {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}


@pytest.mark.parametrize("name", contracts())
def test_every_table_comes_back_as_it_was(files: LocalFiles, name: str) -> None:
    rows = example(contract(name))
    (path,) = written(files, rows)
    assert parquet.read(path, rows.schema, files.root).equals(rows)
    assert pq.read_schema(path).equals(rows.schema)


def forecasts(rows: int) -> pa.Table:
    """Ten probabilities and ten flags a row, as forecasts have them."""
    p = np.random.default_rng(0).random((rows, 10)).tolist()
    lists = [pa.array(p, pa.list_(pa.float64())), pa.array([[True] * 10] * rows, pa.list_(pa.bool_()))]
    return pa.table(
        [pa.array(["r"] * rows, pa.large_string()), np.arange(rows), *lists], ["run_id", "row", "p", "valid"]
    )


def test_doubles_are_split_by_byte_also_in_lists(files: LocalFiles) -> None:
    (path,) = written(files, forecasts(2000))
    column = chunks(path)["p.list.element"]
    assert "BYTE_STREAM_SPLIT" in column.encodings
    assert "RLE_DICTIONARY" not in column.encodings
    assert column.total_compressed_size / 2000 < 80  # ten random doubles: incompressible mantissas
    assert {column.compression for column in chunks(path).values()} == {"ZSTD"}


def test_a_dictionary_stands_where_values_repeat(files: LocalFiles) -> None:
    rows = table(
        "class_labels",
        4000,
        run_id="r",
        item_index=list(range(4000)),
        sample_id=[f"sample-{i}" for i in range(4000)],
        participant=[f"p{i % 7}" for i in range(4000)],
        time=[float(i) * 1.5 for i in range(4000)],
        class_index=[i % 5 for i in range(4000)],
    )
    (path,) = written(files, rows)
    found = {name: column.encodings for name, column in chunks(path).items()}
    for name in ("run_id", "participant", "class_index"):
        assert "RLE_DICTIONARY" in found[name], name
    for name in ("item_index", "sample_id", "time"):
        assert "RLE_DICTIONARY" not in found[name], name
    assert "DELTA_BINARY_PACKED" in found["item_index"]
    assert "BYTE_STREAM_SPLIT" in found["time"]
    assert parquet.read(path, rows.schema, files.root).equals(rows)


def test_rows_keep_their_order_over_row_groups_and_files(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", range(150, 256))
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1)
    monkeypatch.setattr(parquet, "FILE_BYTES", 2000)
    rows = predictions("r", list(np.random.default_rng(0).permutation(1000)))
    paths = written(files, rows)
    assert [path.name for path in paths] == [f"part-{n}.parquet" for n in range(len(paths))]
    assert len(paths) > 1
    groups = [pq.ParquetFile(path).metadata for path in paths]
    sizes = [meta.row_group(i).num_rows for meta in groups for i in range(meta.num_row_groups)]
    assert sizes == [150] * 6 + [100]
    assert pa.concat_tables(parquet.read(path, rows.schema, files.root) for path in paths).equals(rows)


def test_small_batches_make_large_row_groups(files: LocalFiles) -> None:
    rows = forecasts(2000)
    with parquet.Writer(files, "t", ("t", "part"), rows.schema) as writer:
        for batch in rows.to_batches(max_chunksize=9):
            writer.add(pa.Table.from_batches([batch]))
    (path,) = [files.path(file.path) for file in writer.files]
    assert pq.ParquetFile(path).metadata.num_row_groups == 1


def test_a_stream_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty batches of a megabyte: what Arrow holds at once stays far below their sum."""
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1 << 20)
    store = Store.open(tmp_path / "store", create=True, durable=False)
    rows = 1 << 16
    held = []

    def batches() -> Any:
        for number in range(40):
            held.append(pa.total_allocated_bytes())
            batch = table("class_predictions", 1, run_id="r", item_index=0, class_index=1)
            batch = batch.take(pa.array(np.zeros(rows, np.int64)))
            items = pa.array(np.arange(rows) + number * rows)
            yield from batch.set_column(1, batch.schema.field("item_index"), items).combine_chunks().to_batches()

    schema = contract("class_predictions").arrow_schema()
    stream = pa.RecordBatchReader.from_batches(schema, batches())
    before = pa.total_allocated_bytes()
    store.write_run("r", system="wisp", dataset_id=None, tables={"class_predictions": stream}, inputs={})
    assert max(held) - before < 10 << 20
    (path,) = store.files("class_predictions")
    assert pq.ParquetFile(path).metadata.num_rows == 40 * rows
    assert store.read("class_predictions", columns=["item_index"])["item_index"].to_pylist() == list(range(40 * rows))


NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@settings(max_examples=50)
@given(rows=st.lists(st.tuples(TEXTS, NUMBERS), max_size=30), step=st.integers(1, 7))
def test_any_rows_come_back_through_a_stream(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float | None]], step: int
) -> None:
    files = LocalFiles(tmp_path_factory.mktemp("any"), durable=False)
    schema = pa.schema([pa.field("text", pa.large_string(), nullable=False), pa.field("number", pa.float64())])
    whole = pa.table([pa.array([row[i] for row in rows], schema.field(i).type) for i in (0, 1)], schema=schema)
    with parquet.Writer(files, "t", ("t", "part"), schema) as writer:
        for start in range(0, len(rows), step):
            writer.add(whole.slice(start, step))
    (path,) = [files.path(file.path) for file in writer.files]
    assert parquet.read(path, schema, files.root).equals(whole)


def test_a_column_of_a_later_contract_is_null(files: LocalFiles) -> None:
    rows = values("r", {"accuracy": 1.0})
    (path,) = written(files, rows.drop_columns(["source_digest"]))
    assert parquet.read(path, rows.schema, files.root).equals(rows)


@pytest.mark.parametrize("run_id", ["000", "1.10", "12e4567", "true", "NULL", ""])
def test_other_readers_see_the_ids_as_text(tmp_path: Path, run_id: str) -> None:
    """Partition folders are type-guessed by readers that look at paths; their keys must not hide the columns."""
    store = Store.open(tmp_path / "store", create=True, durable=False)
    write_run(store, run_id)
    write_results(store, run_id)
    for name in ("class_predictions", "metric_values"):
        pattern = str(store.path / name / "**" / "*.parquet")
        found = {
            "duckdb": duckdb.sql(
                f"SELECT DISTINCT run_id FROM read_parquet('{pattern}', hive_partitioning = true)"
            ).fetchall(),
            "polars": pl.scan_parquet(pattern, hive_partitioning=True).select("run_id").unique().collect().rows(),
            "pyarrow": [(v,) for v in pq.read_table(store.path / name)["run_id"].unique().to_pylist()],
        }
        assert found == {reader: [(run_id,)] for reader in found}
