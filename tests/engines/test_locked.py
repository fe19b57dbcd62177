"""The connection behind `evalframe sql`: the views stay readable, every way out is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.contracts import contract
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import EngineError
from evalframe.relations import plan
from tests.relations.writing import chain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "relations").mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for name in ("sealed", "other"):
        rows = {"run_id": ["r", "r"], "item_index": [0, 1], "class_index": [1, 2]}
        pq.write_table(
            pa.table(rows, schema=contract("class_predictions").arrow_schema()), tmp_path / f"{name}.parquet"
        )
    return tmp_path


@pytest.fixture
def locked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DuckDB]:
    monkeypatch.chdir(folder)
    with DuckDB(threads=1, memory_limit="100MB") as db:
        db.bind("class_predictions", [Path("sealed.parquet")])
        db.bind("runs", pa.table({"run_id": ["r"]}))
        db.view(
            "hit_rate", plan(chain(folder / "relations"), ["hit_rate"], parameters={"lowest": "1"}).query("hit_rate")
        )
        db.lock()
        yield db


READ = [
    ("SELECT count(*) AS n FROM class_predictions", 2),
    ("SELECT max(value) AS n FROM hit_rate", 1.5),
    ("WITH a AS (SELECT run_id FROM runs) SELECT count(*) AS n FROM a UNION ALL SELECT 1 WHERE 1 = 0", 1),
    ("SELECT sum(i) AS n FROM range(4) AS t(i), unnest([1]) AS u(j)", 6),
    ("FROM (VALUES (3)) AS v(n)", 3),
    ("SELECT count(*) AS n FROM (DESCRIBE hit_rate)", 10),
    ("SELECT count(*) AS n FROM (SELECT i FROM range(4000000) AS t(i) ORDER BY hash(i))", 4_000_000),
]


@pytest.mark.parametrize(("sql", "answer"), READ)
def test_reading_goes_on(locked: DuckDB, sql: str, answer: float) -> None:
    assert locked.query(sql)["n"].to_pylist() == [answer]


WAYS_OUT = [
    # files
    "SELECT * FROM 'secret.csv'",
    "SELECT * FROM read_csv('secret.csv')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('secret.csv')",
    "SELECT * FROM read_json('secret.csv')",
    "SELECT * FROM read_parquet('other.parquet')",
    "SELECT * FROM 'other.parquet'",
    "SELECT * FROM parquet_metadata('other.parquet')",
    "SELECT * FROM parquet_schema('other.parquet')",
    "SELECT * FROM sniff_csv('secret.csv')",
    "SELECT * FROM read_duckdb('x.db')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT (SELECT max(content) FROM read_text('secret.csv')) AS x",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')",
    "SELECT * FROM 's3://bucket/x.parquet'",
    # writing
    "COPY (SELECT 1) TO 'out.csv'",
    "COPY (SELECT 1 AS x) TO '{sealed}' (USE_TMP_FILE false)",
    "WITH a AS (COPY (SELECT 1 AS x) TO '{sealed}' (USE_TMP_FILE false)) SELECT 1 AS x",
    "WITH a AS (COPY (SELECT 1 AS x) TO 'out.csv') SELECT 1 AS x",
    "SELECT * FROM (WITH a AS (COPY (SELECT 1 AS x) TO '{sealed}' (USE_TMP_FILE false)) SELECT 1 AS x) AS b",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS x) TO '{sealed}' (USE_TMP_FILE false)",
    "EXPORT DATABASE 'out'",
    "ATTACH 'out.db'",
    "ATTACH ':memory:' AS m",
    # code and settings
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD json",
    "SET memory_limit = '10GB'",
    "SET GLOBAL enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA enable_profiling = 'json'",
    "PRAGMA profiling_output = 'out.json'",
    "CALL enable_logging(storage = 'file', storage_path = 'out')",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = 'out')",
    "CREATE SECRET (TYPE s3)",
    "SET VARIABLE a = 1",
    # statements inside text
    "SELECT * FROM query('COPY (SELECT 1) TO ''out.csv''')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM json_execute_serialized_sql('{{}}')",
    "PREPARE s AS SELECT 1",
    # changing what the views mean
    "CREATE TABLE t AS SELECT 1 AS x",
    "CREATE OR REPLACE TEMP VIEW runs AS SELECT 2 AS run_id",
    "DROP VIEW runs",
    "WITH a AS (DELETE FROM runs RETURNING *) SELECT * FROM a",
    "BEGIN TRANSACTION",
    "USE memory",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO 'out.csv'",
    "",
    "SELECT FROM WHERE",
]


@pytest.mark.parametrize("sql", WAYS_OUT)
def test_every_way_out_is_refused(locked: DuckDB, folder: Path, sql: str) -> None:
    sealed = folder / "sealed.parquet"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(EngineError) as caught:
        locked.query(sql.format(sealed=sealed))
    assert len(str(caught.value).splitlines()) == 4
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert locked.query("SELECT count(*) AS n FROM class_predictions")["n"].to_pylist() == [2]


def test_the_lock_holds_without_the_statement_check(locked: DuckDB, folder: Path) -> None:
    """Two walls: were a statement to pass the check, no file but the bound ones could be reached by it."""
    for sql in (
        "SELECT * FROM read_text('secret.csv')",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'out.db'",
        "INSTALL httpfs",
    ):
        with pytest.raises(EngineError, match="straight"):
            locked._execute(sql, "straight")
    with pytest.raises(EngineError, match="straight"):
        locked._execute("SET enable_external_access = true", "straight")
    assert not (folder / "out.csv").exists()
