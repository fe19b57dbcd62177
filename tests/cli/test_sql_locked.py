"""`evalframe sql` reads the store and nothing else: every way out that DuckDB has is tried through the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.cli.run import run
from evalframe.errors import ExitCode
from evalframe.store import Store
from tests.engines.test_locked import WAYS_OUT

MORE = [
    # file functions, also where another statement or expression hides them
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM parquet_scan('{secret}')",
    "SELECT * FROM parquet_kv_metadata('{secret}')",
    "SELECT * FROM parquet_file_metadata('{secret}')",
    "SELECT * FROM read_ndjson('{secret}')",
    "SELECT * FROM read_json_objects('{secret}')",
    "SELECT * FROM read_text(['{secret}'])",
    "SELECT * FROM read_text('{store}/../secret.csv')",
    "SELECT * FROM '{store}/runs/../../secret.csv'",
    "SELECT * FROM '~/.ssh/id_rsa'",
    "SELECT * FROM runs, LATERAL (SELECT * FROM read_text('{secret}'))",
    "SELECT * FROM runs WHERE run_id IN (SELECT content FROM read_text('{secret}'))",
    "WITH RECURSIVE a AS (SELECT content AS x FROM read_text('{secret}') UNION ALL SELECT x FROM a WHERE 1 = 0) FROM a",
    "SELECT getenv('HOME')",
    "SELECT * FROM sqlite_scan('x.db', 't')",
    "SELECT * FROM postgres_scan('host=localhost', 'public', 't')",
    "SELECT * FROM iceberg_scan('x')",
    "SELECT * FROM shell('ls')",
    # statements that write, unlock or run other text
    "COPY runs TO '{store}/x.parquet'",
    "COPY runs FROM '{secret}'",
    "COPY FROM DATABASE memory TO other",
    "IMPORT DATABASE '{store}'",
    "FORCE INSTALL httpfs FROM 'http://localhost'",
    "UPDATE EXTENSIONS",
    "SET lock_configuration = false",
    "SET allowed_paths = ['/etc/passwd']",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '{store}'",
    "SET home_directory = '/'",
    "SET custom_extension_repository = 'http://localhost'",
    "SET allow_unsigned_extensions = true",
    "SET log_query_path = '{store}/log'",
    "PRAGMA enable_logging",
    "PRAGMA disable_verification",
    "CHECKPOINT",
    "VACUUM",
    "CALL pragma_version()",
    "CREATE MACRO m() AS 1",
    "CREATE TYPE t AS ENUM ('a')",
    "CREATE SEQUENCE s",
    "CREATE PERSISTENT SECRET (TYPE s3)",
    "ALTER TABLE runs ADD COLUMN x INTEGER",
    "INSERT INTO runs VALUES (1)",
    "UPDATE runs SET run_id = 'x'",
    "MERGE INTO runs USING runs AS o ON true WHEN MATCHED THEN DELETE",
    "TRUNCATE runs",
    "EXECUTE s",
    "DEALLOCATE s",
    "ATTACH '{store}/x.duckdb' (READ_ONLY)",
    "DETACH memory",
    "EXPLAIN ANALYZE SELECT * FROM read_text('{secret}')",
    "WITH a AS (INSERT INTO runs SELECT * FROM runs RETURNING *) SELECT * FROM a",
    "WITH a AS MATERIALIZED (COPY (SELECT 1) TO '{store}/x') SELECT 1",
    "SELECT 1 /*;*/; /* a */ COPY (SELECT 1) TO '{store}/x'",
    "SELECT 1 -- \n; DROP VIEW runs",
    "SELECT * FROM query_table('runs')",
    "SELECT * FROM query_table(['/etc/passwd'])",
]


@pytest.mark.parametrize("query", [*WAYS_OUT, *MORE])
def test_every_way_out_is_refused_and_changes_nothing(
    query: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nopen-sesame\n")
    sealed = next((store / "class_predictions").rglob("*.parquet"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    code = run(["sql", "--store", str(store), "--", query.format(sealed=sealed, store=store, secret=secret)])
    said = capsys.readouterr()
    assert code == ExitCode.USAGE
    assert len(said.err.strip().splitlines()) == 4
    assert "open-sesame" not in said.out + said.err
    assert "root:" not in said.out + said.err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_the_query_runs_under(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locks = {
        "enable_external_access": "false",
        "lock_configuration": "true",
        "allow_community_extensions": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_unsigned_extensions": "false",
    }
    cells = ", ".join(f"CAST(current_setting('{name}') AS VARCHAR) AS {name}" for name in locks)
    assert run(["sql", f"SELECT {cells}", "--store", str(store), "--format", "csv"]) == 0
    names, values = capsys.readouterr().out.splitlines()
    assert dict(zip(names.split(","), values.split(","), strict=True)) == locks
    assert Store.open(store).verify().to_pylist() == []
