"""Every export read back by a reader of its own and compared row by row; what is there is never lost unasked."""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from evalframe.errors import DatabaseRefused, InputError, StoreConflict, UsageError
from evalframe.publish.folders import MANIFEST
from evalframe.publish.recomputed import VIEWS
from evalframe.publish.star import Star
from evalframe.publish.targets import target
from evalframe.verbs.opened import Store
from tests.publish.conftest import HOSTILE, tables_of

FILES = ("a.duckdb", "parquet:p", "csv:c", "sqlite:s.db")


def at(folder: Path, text: str) -> str:
    kind, sign, name = text.rpartition(":")
    return f"{kind}{sign}{folder / name}"


def same_rows(found: pa.Table, wanted: pa.Table) -> None:
    assert found.column_names == wanted.column_names
    assert found.to_pylist() == wanted.to_pylist()


@pytest.fixture(scope="module")
def folder(whole: Star, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kinds of files, written once."""
    made = tmp_path_factory.mktemp("exports")
    for text in FILES:
        assert target(at(made, text)).write(whole, force=False) == "written"
    return made


def test_parquet_gives_every_row_back_and_says_what_columns_mean(whole: Star, folder: Path) -> None:
    for name, table in tables_of(whole):
        same_rows(pq.read_table(folder / f"p/{name}.parquet"), table)
    field = pq.read_schema(folder / "p/fact_metric.parquet").field("is_authority")
    assert b"stands for its run" in field.metadata[b"description"]


def test_csv_gives_every_row_back_and_no_cell_is_a_formula(whole: Star, folder: Path) -> None:
    escaped = 0
    for name, table in tables_of(whole):
        path = folder / f"c/{name}.csv"
        types = {field.name: field.type for field in table.schema}
        options = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
        parsing = pa_csv.ParseOptions(newlines_in_values=True)
        read = pa_csv.read_csv(path, convert_options=options, parse_options=parsing)
        texts = [field.name for field in table.schema if field.type == pa.string()]
        rows = read.to_pylist()
        for row in rows:
            for column in texts:
                if row[column] is not None:
                    row[column] = re.sub(r"^'('*[=+\-@\t\r\n＝＋－＠])", r"\1", row[column])
        assert rows == table.to_pylist()
        with path.open(newline="", encoding="utf-8") as file:
            for cells in csv.DictReader(file):
                assert not [c for c in texts if cells[c].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
                escaped += sum(cells[c].startswith("'=") for c in texts)
    assert escaped > 0


def test_duckdb_gives_every_row_back_with_comments(whole: Star, folder: Path) -> None:
    with duckdb.connect(str(folder / "a.duckdb"), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables_of(whole):
            same_rows(connection.sql(f"SELECT * FROM {name}").to_arrow_table(), table)
        comments = connection.sql("SELECT comment FROM duckdb_columns() WHERE NOT internal").fetchall()
        named = {name for (name,) in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert named == {*whole.tables, "export_info"}
        assert any("[per_metric: " in comment for (comment,) in comments if comment)


def recomputed(ask: Any, prefix: str = "") -> None:
    """Ratios from sums, in the database's own SQL, are the metrics. `ask`: rows of a query."""
    joined = "USING (run_id, protocol_fingerprint, stratum) WHERE f.stratum = 'all' AND f.status = 'ok' AND"
    for view, metrics in (
        ("recomputed_classification", ("accuracy", "macro_f1")),
        ("recomputed_calibration", ("ece",)),
    ):
        for metric in metrics:
            rows = ask(
                f"SELECT r.{metric}, f.value FROM {prefix}{view} AS r JOIN {prefix}fact_metric AS f {joined}"
                f" f.metric = '{metric}'"
            )
            assert len(rows) >= 2
            assert max(abs(ours - theirs) for ours, theirs in rows) < 1e-12
    rows = ask(
        f"SELECT r.value, f.value FROM {prefix}recomputed_rates AS r JOIN {prefix}fact_metric AS f"
        " ON f.metric_key = r.metric_key AND f.protocol_fingerprint = r.protocol_fingerprint"
        " AND f.stratum = r.stratum AND f.horizon_s IS NOT DISTINCT FROM r.horizon_s"
        " AND f.recall IS NOT DISTINCT FROM r.recall"
        f" JOIN {prefix}dim_run AS d ON d.run_id = f.run_id AND d.model = r.model"
    )
    assert len(rows) > 100
    assert max(abs(ours - theirs) for ours, theirs in rows) < 1e-12
    (left_out,) = ask(f"SELECT count(*) FROM {prefix}recomputed_rates WHERE metric = 'macro_f1'")
    assert left_out == (0,)


def test_views_of_the_file_recompute_metrics_from_sums(folder: Path) -> None:
    with duckdb.connect(str(folder / "a.duckdb"), read_only=True) as connection:
        recomputed(lambda query: connection.sql(query).fetchall())
        ((pooled, summed),) = connection.sql(
            "SELECT ratio_of_sums(numerator, denominator), sum(numerator) / sum(denominator)"
            " FROM fact_metric WHERE metric = 'nll'"
        ).fetchall()
        assert pooled == summed
        ((f1,),) = connection.sql(
            "SELECT max(abs(f1 - m)) FROM (SELECT max(f1) AS f1, f1_of_counts(hits, support, predicted) AS m"
            " FROM recomputed_classes GROUP BY run_id, protocol_fingerprint, stratum, class)"
        ).fetchall()
        assert f1 < 1e-12


def test_sqlite_gives_every_row_back_and_its_views_recompute_metrics(whole: Star, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "s.db")) as file:
        for name, table in tables_of(whole):
            found = file.execute(f"SELECT * FROM {name}")
            assert [column for column, *_ in found.description] == table.column_names
            types = {field.name: field.type for field in table.schema}
            plain = [{c: _as_text(value) for c, value in row.items()} for row in table.to_pylist()]
            rows = [dict(zip(types, row, strict=True)) for row in found.fetchall()]
            assert rows == plain, name
        ((moment,),) = file.execute("SELECT max(abs(julianday(created_at) - 2451545)) FROM dim_run")
        assert moment is not None
        recomputed(lambda query: file.execute(query).fetchall())


def _as_text(value: Any) -> Any:
    """A moment as SQLite holds it; its own truth values equal Python's."""
    return f"{value:%Y-%m-%d %H:%M:%S.%fZ}" if isinstance(value, datetime) else value


def test_pooled_accuracy_over_two_halves_is_that_of_the_whole(folder: Path) -> None:
    """Runs of one method over disjoint items pool to the ratio of their sums, not to the mean of their ratios."""
    with duckdb.connect(str(folder / "a.duckdb"), read_only=True) as connection:
        hits, n = connection.sql(
            "SELECT sum(n) FILTER (predicted_index = target_index), sum(n) FROM fact_confusion"
            " WHERE stratum = 'all' AND is_counted AND run_id IN ('cnn', 'odd')"
        ).fetchall()[0]
        ((pooled,),) = connection.sql(
            "SELECT ratio_of_sums(numerator, denominator) FROM fact_metric"
            " WHERE metric = 'accuracy' AND stratum = 'all' AND run_id IN ('cnn', 'odd')"
        ).fetchall()
    assert pooled == hits / n


def test_postgresql_gives_every_row_back_and_a_rerun_changes_nothing(whole: Star, postgresql: str) -> None:
    from adbc_driver_postgresql import dbapi

    place = target(postgresql)
    assert place.write(whole, force=False) == "written"
    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM evalframe.dim_run ORDER BY run_id")
        written = cursor.fetchall()
        assert place.write(whole, force=False) == "unchanged"
        cursor.execute("SELECT xmin::text FROM evalframe.dim_run ORDER BY run_id")
        assert cursor.fetchall() == written
        for name, table in tables_of(whole):
            cursor.execute(f"SELECT * FROM evalframe.{name}")
            same_rows(cursor.fetch_arrow_table(), table)

        def ask(query: str) -> list[tuple[Any, ...]]:
            cursor.execute(query)
            return list(cursor.fetchall())

        recomputed(ask, "evalframe.")
        ((comment,),) = ask("SELECT obj_description('evalframe.fact_bin'::regclass)")
        assert comment == whole.definitions["fact_bin"]


def test_postgresql_keeps_the_old_export_when_a_new_one_fails(
    whole: Star, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adbc_driver_postgresql import dbapi

    target(postgresql).write(whole, force=True)
    other = Star({**whole.tables, "dim_run": whole.table("dim_run").slice(1)}, whole.definitions)
    with pytest.raises(StoreConflict):
        target(postgresql).write(other, force=False)
    monkeypatch.setitem(VIEWS, "recomputed_rates", ("broken", "SELECT no_such_column FROM fact_metric"))  # type: ignore[arg-type]
    with pytest.raises(DatabaseRefused, match="refuses the export") as refused:
        target(postgresql).write(other, force=True)
    assert "open-sesame" not in str(refused.value)
    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM evalframe.dim_run")
        assert cursor.fetchone() == (whole.table("dim_run").num_rows,)


def test_postgresql_never_touches_a_schema_of_somebody_else(whole: Star, postgresql: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgresql, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE theirs")
    theirs = postgresql.rpartition("/")[0] + "/theirs"
    with dbapi.connect(theirs, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA evalframe")
        cursor.execute("CREATE TABLE evalframe.dim_run (precious INTEGER)")
    with pytest.raises(StoreConflict):
        target(theirs).write(whole, force=True)


@pytest.mark.parametrize("text", FILES)
def test_the_same_export_again_is_a_no_op_and_another_needs_force(whole: Star, tmp_path: Path, text: str) -> None:
    place = target(at(tmp_path, text))
    path = tmp_path / text.rpartition(":")[2]
    assert place.write(whole, force=False) == "written"
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert place.write(whole, force=False) == "unchanged"
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    other = Star({**whole.tables, "dim_run": whole.table("dim_run").slice(1)}, whole.definitions)
    with pytest.raises(StoreConflict, match="another export"):
        place.write(other, force=False)
    assert place.write(other, force=True) == "written"
    assert place.write(other, force=False) == "unchanged"
    assert [child.name for child in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("text", FILES)
def test_what_no_export_wrote_is_never_replaced(whole: Star, tmp_path: Path, text: str) -> None:
    path = tmp_path / text.rpartition(":")[2]
    precious = path if path.suffix else path / "precious.txt"
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("mine")
    with pytest.raises(StoreConflict, match="something else"):
        target(at(tmp_path, text)).write(whole, force=True)
    assert precious.read_text() == "mine"
    assert [child.name for child in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("text", FILES)
def test_an_export_that_fails_leaves_nothing(whole: Star, tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError):
        target(at(tmp_path / "file", text)).write(whole, force=False)
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("text", ["", "results", "excel:book", "parquet:", ".duckdb", "mysql://u:hush@h/d"])
def test_a_place_that_is_none_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        target(text)
    assert "hush" not in str(refused.value)


def test_the_store_and_the_command_export_the_same(store: Store, tmp_path: Path) -> None:
    done = store.export(f"csv:{tmp_path / 'c'}", replicates=50)
    assert done.outcome == "written"
    to = f"csv:{tmp_path / 'c'}"
    command = [sys.executable, "-m", "evalframe", "export", "--store", str(store.folder.path), "--to", to, "--json"]
    again = subprocess.run([*command, "--replicates", "50"], capture_output=True, text=True, check=True)
    said = json.loads(again.stdout)
    assert (said["outcome"], said["content_sha256"]) == ("unchanged", done.digest)
    manifest = json.loads((tmp_path / "c" / MANIFEST).read_text(encoding="utf-8"))
    assert {row["table"]: row["rows"] for row in said["tables"]} == manifest["tables"]
    assert not [line for line in repr(done).splitlines() if "\x1b" in line]


def test_a_run_is_exported_by_the_name_its_owner_gave(whole: Star) -> None:
    names = whole.table("dim_run")["run_id"].to_pylist()
    assert HOSTILE.replace("\x00", "") in names


@pytest.mark.bi
def test_an_older_duckdb_reads_the_file(whole: Star, folder: Path) -> None:
    """DuckDB 1.x, in the interpreter that EVALFRAME_DUCKDB1_PYTHON names or in an environment made here."""
    program = (
        "import duckdb, json, sys\n"
        "assert duckdb.__version__.startswith('1.'), duckdb.__version__\n"
        "c = duckdb.connect(sys.argv[1], read_only=True)\n"
        "names = [n for (n,) in c.execute('SELECT table_name FROM duckdb_tables()').fetchall()]\n"
        "rows = {n: [json.loads(r) for (r,) in c.execute(f'SELECT to_json(t) FROM {n} AS t').fetchall()]"
        " for n in names}\n"
        "views = {n: c.execute(f'SELECT count(*) FROM {n}').fetchone()[0] for n in sys.argv[2:]}\n"
        "json.dump([rows, views], sys.stdout)"
    )
    python = os.environ.get("EVALFRAME_DUCKDB1_PYTHON") or _older_duckdb(folder)
    command = [python, "-c", program, str(folder / "a.duckdb"), *VIEWS]
    rows, views = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for name, table in tables_of(whole):
        plain = table.drop_columns(["created_at"]) if name == "dim_run" else table
        found = [{c: row[c] for c in plain.column_names} for row in rows[name]]
        assert found == plain.to_pylist(), name
    assert min(views.values()) > 0


def _older_duckdb(folder: Path) -> str:
    home = folder / "duckdb1"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    subprocess.run([str(home / "bin/pip"), "install", "-q", "duckdb<2"], check=True, stdout=subprocess.DEVNULL)
    return str(home / "bin/python")
