"""The dashboard's queries find a run by its name, whatever characters it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.publish.superset_files import NAME, of_kind, sql

NAMES = ['it\'s "q" <b>x</b>', "100%_a*? a\\b", "a;b -- {{ x }} :x ' OR ''=' `t` $1 ?"]
RUNS = {"fact_metric": "run_id", "fact_confusion": "run_id", "fact_bin": "run_id", "dim_run": "run_id",
        "fact_comparison": "candidate_run"}  # fmt: skip
"""Column that a filter of runs reaches, by table."""


def _counts(connection: duckdb.DuckDBPyConnection, datasets: dict[str, Any], run: str) -> dict[str, int]:
    """Rows of every data set under the filter of one run, its name written as SQL text."""
    literal = run.replace("'", "''")
    return {
        name: connection.sql(sql(dataset, "count(*)", f"WHERE run_id IN ('{literal}')")).fetchall()[0][0]
        for name, dataset in datasets.items()
    }


@pytest.mark.parametrize(
    ("run", "reached"), [("gru", {"values", "runs", "confusion", "comparisons"}), ("tuned", {"values", "runs", "bins"})]
)
def test_a_filter_finds_a_run_of_any_name(
    run: str,
    reached: set[str],
    dashboard_folder: Path,
    dashboard_files: dict[str, Any],
    dashboard_database: duckdb.DuckDBPyConnection,
) -> None:
    datasets = of_kind(dashboard_files, "datasets")
    plain = _counts(dashboard_database, datasets, run)
    assert {name for name, count in plain.items() if count} == reached
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{dashboard_folder / NAME}.duckdb' AS made (READ_ONLY)")
        tables = [
            name
            for (name,) in connection.sql(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'made'"
            ).fetchall()
        ]
        for table in tables:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM made.{table}")
        before = run
        for name in NAMES:
            for table, column in RUNS.items():
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [name, before])
            assert _counts(connection, datasets, name) == plain, name
            assert not any(_counts(connection, datasets, before).values())
            before = name
