"""An export whose rows do not fit into the memory that it may take is, row by row, the one that does."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from evalframe.contracts.shards import Shards, Spool
from evalframe.engines import dividing, spilling
from evalframe.errors import EngineError
from evalframe.identity import canonical_json
from evalframe.publish import page
from evalframe.publish import star as schema
from evalframe.publish.star import Star, star
from evalframe.publish.targets import target
from evalframe.relations import catalogue
from evalframe.underway import heard_by
from evalframe.verbs import report_trust
from evalframe.verbs.comparisons import Compared, comparisons
from evalframe.verbs.opened import Store
from evalframe.verbs.report_material import Material
from evalframe.verbs.report_sections import sections
from tests.publish.conftest import tables_of


@pytest.fixture(scope="module")
def spilled(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Star]:
    """The star schema made part by part, every table of it in files."""
    folder = tmp_path_factory.mktemp("spill")
    with ExitStack() as open_until_the_end:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dividing, "PART_ROWS", 100)
            patch.setattr(schema, "ROOM", 0)
            patch.setattr(spilling.tempfile, "tempdir", str(folder))
            made = open_until_the_end.enter_context(star(store.folder, catalogue()))
        assert len(list(folder.glob(f"{spilling.PREFIX}*"))) == 1
        yield made
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def held(store: Store) -> Iterator[Star]:
    """The same in memory."""
    with star(store.folder, catalogue()) as made:
        yield made


def test_rows_and_their_order_do_not_depend_on_room(spilled: Star, held: Star) -> None:
    assert {name for name, rows in spilled.tables.items() if isinstance(rows, Shards)} >= {
        *("dim_run", "fact_metric", "fact_confusion", "fact_bin", "fact_event", "fact_audit"),
    }
    assert not [name for name, rows in held.tables.items() if isinstance(rows, Shards)]
    assert list(spilled.tables) == list(held.tables)
    for name in held.tables:
        assert spilled.table(name).equals(held.table(name)), name
    assert spilled.digest == held.digest


def test_a_page_of_rows_in_files_is_the_page_of_rows_in_memory(store: Store, spilled: Star, held: Star) -> None:
    compared = comparisons(store.folder, replicates=50)
    pages = []
    for made in (spilled, held):
        with Material.of(store.folder, made, compared) as material:
            pages.append(list(sections(material)))
    assert any(section.blocks for section in pages[0])
    assert pages[0] == pages[1]


def test_a_page_says_how_many_rows_it_leaves_out(store: Store, held: Star, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_trust, "TABLE_ROWS", 15)
    with Material.of(store.folder, held, Compared((), ())) as material:
        shown = "".join(
            block.text for block in report_trust.denominators(material).blocks if isinstance(block, page.Html)
        )
        kinds = {(one.label, fingerprint): one for one, fingerprint in material.protocols}
    primary = {row["metric_key"] for row in held.table("dim_metric").to_pylist() if row["is_primary"]}
    wanted = [
        row["run_id"]
        for row in held.table("fact_metric").to_pylist()
        if row["is_authority"]
        and row["metric_key"] in primary
        and (rules := kinds[row["protocol"], row["protocol_fingerprint"]]).primary_stratum == row["stratum"]
        and rules.judges_at(row["recall"])
    ]
    assert f"All {len(wanted)} values" in shown
    assert f"{len(wanted) - 15} more values are in fact_metric of an export." in shown
    assert re.findall("<tbody>.*?</tbody>", shown)[1].count("<tr>") == 15


def test_the_digest_is_over_each_table_as_one_csv(held: Star) -> None:
    whole = hashlib.sha256()
    for name, table in tables_of(held):
        fields = [[field.name, str(field.type)] for field in table.schema]
        whole.update(canonical_json([name, table.num_rows, fields]).encode())
        written = io.BytesIO()
        csv.write_csv(table, written)
        whole.update(written.getvalue())
    assert held.digest == whole.hexdigest()


@pytest.mark.parametrize("kind", ["parquet", "csv", "eee", "sqlite"])
def test_what_is_written_is_the_same_byte_for_byte(spilled: Star, held: Star, tmp_path: Path, kind: str) -> None:
    for name, made in {"spilled": spilled, "held": held}.items():
        assert target(f"{kind}:{tmp_path / name}").write(made, force=False) == "written"
        assert target(f"{kind}:{tmp_path / name}").write(held, force=False) == "unchanged"
    files = [_bytes(tmp_path / name) for name in ("spilled", "held")]
    assert files[0].keys() == files[1].keys()
    assert [name for name in files[0] if files[0][name] != files[1][name]] == []


def _bytes(path: Path) -> dict[str, bytes]:
    found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each.relative_to(path)): each.read_bytes() for each in found}


def test_databases_hold_the_rows_in_order(spilled: Star, held: Star, tmp_path: Path, postgresql: str) -> None:
    from adbc_driver_postgresql import dbapi

    for place in (str(tmp_path / "x.duckdb"), postgresql):
        target(place).write(spilled, force=True)
    with (
        duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as file,
        dbapi.connect(postgresql) as connection,
        connection.cursor() as cursor,
    ):
        file.execute("SET TimeZone = 'UTC'")
        for name, table in tables_of(held):
            rows = table.to_pylist()
            assert file.sql(f"SELECT * FROM {name}").to_arrow_table().to_pylist() == rows, name
            cursor.execute(f"SELECT * FROM evalframe.{name}")
            assert cursor.fetch_arrow_table().to_pylist() == rows, name


def test_row_groups_hold_few_enough_rows_to_be_in_memory(held: Star, tmp_path: Path) -> None:
    from evalframe.publish import folders

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "GROUP_ROWS", 100)
        target(f"parquet:{tmp_path / 'p'}").write(held, force=False)
    file = pq.ParquetFile(tmp_path / "p/fact_metric.parquet")
    groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    assert set(groups[:-1]) == {100}
    assert file.read().cast(held.tables["fact_metric"].schema).equals(held.table("fact_metric"))


def test_writing_is_told_as_it_goes(held: Star, tmp_path: Path) -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    with heard_by(lambda what, done, whole: told.setdefault(what, []).append((done, whole))):
        target(f"sqlite:{tmp_path / 's.sqlite'}").write(held, force=False)
    rows = held.tables["fact_metric"].num_rows
    assert told["rows of fact_metric"][0] == (0, rows)
    assert told["rows of fact_metric"][-1] == (rows, rows)
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM fact_metric").fetchone() == (rows,)


def test_no_room_for_temporary_files_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "ROOM", 0)
    monkeypatch.setattr(Spool, "_path", lambda self, suffix: Path(f"/dev/full/1{suffix}"))
    with pytest.raises(EngineError) as refused, star(store.folder, catalogue()):
        pass
    assert "TMPDIR" in refused.value.hint


def test_a_manifest_counts_rows(spilled: Star, tmp_path: Path) -> None:
    target(f"csv:{tmp_path / 'c'}").write(spilled, force=False)
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    assert manifest["tables"] == {name: rows.num_rows for name, rows in spilled.tables.items()}
    assert manifest["content_sha256"] == spilled.digest
    assert isinstance(spilled.table("fact_event"), pa.Table)
