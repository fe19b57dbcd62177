"""The Superset bundle: valid, the same twice, its SQL runs, and nothing in it is averaged."""

from __future__ import annotations

import json
import uuid
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

from evalframe.errors import StoreConflict, UsageError
from evalframe.publish.star import Star
from evalframe.publish.superset import MASK, Superset, source_of
from evalframe.publish.superset_bundle import Bundle, drawn
from evalframe.publish.targets import target
from tests.publish.conftest import HOSTILE
from tests.publish.superset_files import NAME, metric, of_kind, sql


def test_the_bundle_is_one_dashboard_with_all_that_it_needs(dashboard_files: dict[str, Any]) -> None:
    assert dashboard_files["metadata.yaml"]["type"] == "Dashboard"
    assert [len(of_kind(dashboard_files, kind)) for kind in ("databases", "datasets", "charts", "dashboards")] == [
        1,
        5,
        12,
        1,
    ]
    databases, datasets, charts = (
        of_kind(dashboard_files, kind).values() for kind in ("databases", "datasets", "charts")
    )
    assert {dataset["database_uuid"] for dataset in datasets} == {one["uuid"] for one in databases}
    assert {chart["dataset_uuid"] for chart in charts} == {dataset["uuid"] for dataset in datasets}
    ids = [content["uuid"] for content in dashboard_files.values() if "uuid" in content]
    assert len({uuid.UUID(each) for each in ids}) == len(ids) == 19


def test_every_chart_stands_on_the_page_by_its_id_and_every_row_is_full(dashboard_files: dict[str, Any]) -> None:
    (dashboard,) = of_kind(dashboard_files, "dashboards").values()
    nodes = {key: node for key, node in dashboard["position"].items() if isinstance(node, dict)}
    shown = {node["meta"]["uuid"]: node["meta"]["sliceName"] for node in nodes.values() if node["type"] == "CHART"}
    assert shown == {chart["uuid"]: chart["slice_name"] for chart in of_kind(dashboard_files, "charts").values()}
    for node in nodes.values():
        assert all(child in nodes for child in node.get("children", []))
        if node["type"] == "ROW":
            assert sum(nodes[child]["meta"]["width"] for child in node["children"]) == 12


def test_charts_and_filters_name_columns_and_metrics_that_exist(dashboard_files: dict[str, Any]) -> None:
    known = {one["uuid"]: one for one in of_kind(dashboard_files, "datasets").values()}
    columns = {key: {column["column_name"] for column in one["columns"]} for key, one in known.items()}
    metrics = {key: {metric["metric_name"] for metric in one["metrics"]} for key, one in known.items()}
    for chart in of_kind(dashboard_files, "charts").values():
        data, params = chart["dataset_uuid"], chart["params"]
        named = [params.get(key, []) for key in ("groupby", "groupbyRows", "groupbyColumns", "all_columns", "x_axis")]
        named += [json.loads(order)[0] for order in params.get("order_by_cols", [])]
        named += [rule["subject"] for rule in params["adhoc_filters"]]
        used = [name for each in named for name in ([each] if isinstance(each, str) else each)]
        assert set(used) <= columns[data], chart["slice_name"]
        assert set(params.get("column_config", {})) <= columns[data]
        drawn_metrics = {*params.get("metrics", []), *([params["metric"]] if "metric" in params else [])}
        assert drawn_metrics <= metrics[data], chart["slice_name"]
        coloured = {rule["column"] for rule in params.get("conditional_formatting", [])}
        assert coloured <= columns[data] | drawn_metrics
        assert used or drawn_metrics
    (dashboard,) = of_kind(dashboard_files, "dashboards").values()
    filters = dashboard["metadata"]["native_filter_configuration"]
    assert [each["name"] for each in filters] == ["Protocol", "Slice", "Run", "Run of matrix and calibration"]
    assert filters[0]["defaultDataMask"]["filterState"] == {"value": ["wisp-har/1"]}
    for each in filters:
        (aim,) = each["targets"]
        assert aim["column"]["name"] in columns[aim["datasetUuid"]]
        assert each["sortMetric"] is None or each["sortMetric"] in metrics[aim["datasetUuid"]]
        # A filter reaches every chart whose data set has a column of that name.
        assert all({"protocol", "run_id"} <= names for names in columns.values())


def test_the_declared_columns_are_those_of_the_query(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    for name, dataset in of_kind(dashboard_files, "datasets").items():
        found = dashboard_database.sql(f"DESCRIBE {dataset['sql']}").fetchall()
        types = {column: "TIMESTAMP" if kind.startswith("TIMESTAMP") else kind for column, kind, *_ in found}
        assert {column["column_name"]: column["type"] for column in dataset["columns"]} == types, name
        assert dashboard_database.sql(sql(dataset, "count(*)")).fetchall()[0][0] > 0


def test_columns_carry_meaning_and_additivity_of_the_data_dictionary(
    dashboard_files: dict[str, Any], whole: Star
) -> None:
    columns = {
        (name, column["column_name"]): column
        for name, dataset in of_kind(dashboard_files, "datasets").items()
        for column in dataset["columns"]
    }
    said = {(row["table_name"], row["column_name"]): row for row in whole.table("data_dictionary").to_pylist()}
    assert all(column["description"] for column in columns.values())
    for table, dataset, name in (
        ("fact_metric", "values", "numerator"), ("fact_confusion", "confusion", "n"), ("fact_bin", "bins", "correct"),
        ("fact_comparison", "comparisons", "change"),
    ):  # fmt: skip
        column, row = columns[dataset, name], said[table, name]
        assert column["description"] == f"{row['description']} [{row['additivity']}]"
        assert row["additivity_meaning"] in column["extra"]["warning_markdown"]
        assert column["groupby"] is False


def test_nothing_averages(dashboard_files: dict[str, Any]) -> None:
    for dataset in of_kind(dashboard_files, "datasets").values():
        for text in (dataset["sql"], *(said["expression"] for said in dataset["metrics"])):
            assert "avg" not in text.lower()
    pivots = [c["params"] for c in of_kind(dashboard_files, "charts").values() if c["viz_type"] == "pivot_table_v2"]
    assert len(pivots) == 2
    for params in pivots:
        assert params["aggregateFunction"] == "First"
        assert not any(params[total] for total in ("rowTotals", "colTotals", "rowSubTotals", "colSubTotals"))


def test_a_single_value_is_the_sealed_one_and_several_are_pooled_or_nothing(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    values, pooled = of_kind(dashboard_files, "datasets")["values"], metric(dashboard_files, "values", "pooled_value")
    key = "run_id, metric_key, slice, protocol_fingerprint"
    rows = dashboard_database.sql(
        sql(values, f"{pooled}, max(value), count(*)", f"GROUP BY {key}, data_digest")
    ).fetchall()
    assert {n for *_, n in rows} == {1}
    assert all(shown == sealed for shown, sealed, _ in rows)

    def both(condition: str) -> Any:
        what = f"{pooled}, sum(numerator) / sum(denominator), count(*)"
        return dashboard_database.sql(sql(values, what, f"WHERE {condition}")).fetchall()[0]

    of_wisp = "protocol = 'wisp-har/1' AND slice = 'all' AND board = 'board 1'"
    shown, ratio, n = both(f"metric = 'accuracy' AND {of_wisp}")
    assert (shown, n) == (ratio, 3)
    assert both(f"metric = 'macro_f1' AND {of_wisp}")[0] is None
    assert both("metric = 'accuracy' AND protocol = 'wisp-har/1' AND slice = 'all'")[0] is None
    assert both("metric = 'nll' AND protocol = 'kev-choice/2' AND run_id = 'base'")[0] is None
    assert (
        both(
            "metric_key LIKE '%:yield_recall' AND run_id IN ('floor-a', 'bent') AND slice = 'all · 1.0 s · recall 0.8'"
        )[0]
        is None
    )


def test_ranks_are_those_among_runs_of_one_question(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    values = of_kind(dashboard_files, "datasets")["values"]
    what = "board, run, metric, place, value, better, status, tainted"
    rows = dashboard_database.sql(sql(values, what, "ORDER BY protocol, metric, slice, board, place")).fetchall()
    assert all(
        (place is None) == (status != "ok" or tainted or better == "none")
        for *_, place, _, better, status, tainted in rows
    )
    wisp = [row for row in rows if row[2] == "macro_f1"]
    first = [row for row in wisp if row[0] == "board 1"]
    assert [row[3] for row in first] == [1, 2, 3]
    assert [row[4] for row in first] == sorted((row[4] for row in first), reverse=True)
    assert {row[1] for row in wisp if row[0] != "board 1"} == {"gru-excluding", "odd"}
    nll = dashboard_database.sql(
        sql(values, "run_id, place", "WHERE metric = 'nll' AND slice = 'all' AND board = 'board 1'")
    )
    lower = dict(nll.fetchall())
    better = dashboard_database.sql(
        "SELECT run_id, value FROM fact_metric WHERE metric = 'nll' AND stratum = 'all'"
    ).fetchall()
    assert lower == {
        "base": 1 + (dict(better)["base"] > dict(better)["tuned"]),
        "tuned": 1 + (dict(better)["base"] < dict(better)["tuned"]),
    }
    marked = dashboard_database.sql(sql(values, "DISTINCT run", "WHERE tainted")).fetchall()
    assert marked == [("bent ⚠",)]


def test_the_slice_that_is_shown_first_has_primary_metrics(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    values = of_kind(dashboard_files, "datasets")["values"]
    order = metric(dashboard_files, "values", "first_slice")
    first = dashboard_database.sql(sql(values, f"protocol, slice, {order}", "GROUP BY protocol, slice")).fetchall()
    assert {protocol: name for protocol, name, place in first if place == 1} == {
        "easycom-floor-pre-boundary/1": "all · 0.2 s · recall 0.7",
        "kev-choice/2": "all",
        "robometer-ind/1": "all",
        "wisp-har/1": "all",
    }
    assert len({(protocol, place) for protocol, _, place in first}) == len(first)


def test_runs_say_what_is_tainted_and_undefined(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    runs = of_kind(dashboard_files, "datasets")["runs"]
    states = dict(dashboard_database.sql(sql(runs, "run_id, state")).fetchall())
    assert states["bent"].startswith("⚠ tainted: ")
    assert states["cnn"] == "all defined"
    assert states["unlabelled"].endswith(" undefined")
    (counts,) = dashboard_database.sql(sql(runs, "sum(n_values), sum(n_undefined)")).fetchall()
    kept = "SELECT count(*), count(*) FILTER (status <> 'ok') FROM fact_metric WHERE is_authority"
    assert [counts] == dashboard_database.sql(kept).fetchall()


def test_matrix_and_bins_give_the_metrics_back(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    confusion, bins = (of_kind(dashboard_files, "datasets")[name] for name in ("confusion", "bins"))
    share, items = (
        metric(dashboard_files, "confusion", "share_of_class"),
        metric(dashboard_files, "confusion", "matrix_items"),
    )
    cells = "WHERE run_id = 'cnn' GROUP BY target_class, predicted_class"
    rows = dashboard_database.sql(sql(confusion, f"target_class, predicted_class, {share}, {items}", cells)).fetchall()
    assert sum(n for *_, n in rows) == 960
    recalls = dict(
        dashboard_database.sql("SELECT class, recall FROM recomputed_classes WHERE run_id = 'cnn'").fetchall()
    )
    diagonal = {target: part for target, predicted, part, _ in rows if target == predicted}
    assert diagonal == pytest.approx(recalls, abs=1e-12)
    assert "(failed)" in {predicted for _, predicted, *_ in rows}
    several = dashboard_database.sql(sql(confusion, f"{share}, {items}", "WHERE run_id IN ('cnn', 'gru')")).fetchall()
    assert several == [(None, None)]
    error = metric(dashboard_files, "bins", "calibration_error")
    found = dashboard_database.sql(sql(bins, f"run_id, {error}", "WHERE slice = 'all' GROUP BY run_id")).fetchall()
    wanted = dashboard_database.sql(
        "SELECT run_id, value FROM fact_metric WHERE metric = 'ece' AND stratum = 'all' AND status = 'ok'"
    )
    assert dict(found) == pytest.approx(dict(wanted.fetchall()), abs=1e-12)
    assert dashboard_database.sql(sql(bins, error)).fetchall() == [(None,)]


def test_the_reading_of_a_comparison_is_that_of_its_interval_and_its_adjusted_p(
    dashboard_files: dict[str, Any], dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    dataset = of_kind(dashboard_files, "datasets")["comparisons"]
    rows = dashboard_database.sql(
        sql(dataset, "reading, status, gain, gain_low, gain_high, better, change, p_adjusted")
    ).fetchall()
    assert {"better, unadjusted", "not separable", "test only"} <= {row[0] for row in rows}
    for reading, status, gain, low, high, better, change, p in rows:
        assert (reading == status) == (status != "ok")
        assert gain is None or gain == (-change if better == "lower" else change)
        if status == "ok" and low is not None:
            assert low <= high
            side = "better" if low > 0 else "worse" if high < 0 else "not separable"
            weak = side != "not separable" and p is not None and p > 0.05
            assert reading == side + (", unadjusted" if weak else "")


def test_every_query_runs_on_postgresql_too(dashboard_files: dict[str, Any], whole: Star, postgresql: str) -> None:
    from adbc_driver_postgresql import dbapi

    target(postgresql).write(whole, force=True)
    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.execute("SET search_path TO evalframe")
        for dataset in of_kind(dashboard_files, "datasets").values():
            shown = ", ".join(f"{one['expression']} AS {one['metric_name']}" for one in dataset["metrics"])
            cursor.execute(sql(dataset, f"protocol, {shown}", "GROUP BY protocol"))
            assert cursor.fetchall()


def test_equal_content_has_equal_bytes_and_writing_again_changes_nothing(whole: Star, tmp_path: Path) -> None:
    place = target(f"superset:{tmp_path / 'a.zip'}")
    assert place.write(whole, force=False) == "written"
    (data, at) = (tmp_path / "a.zip").read_bytes(), (tmp_path / "a.zip").stat().st_mtime_ns
    assert place.write(whole, force=False) == "unchanged"
    assert (tmp_path / "a.zip").stat().st_mtime_ns == at
    (tmp_path / "a.zip").unlink()
    assert place.write(whole, force=False) == "written"
    assert (tmp_path / "a.zip").read_bytes() == data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.duckdb", "a.zip"]


def test_what_no_export_wrote_is_never_replaced(whole: Star, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"mine")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as file:
        file.writestr("metadata.yaml", "type: Dashboard")
    for name in ("a.zip", "b.zip"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreConflict, match="something else"):
            target(f"superset:{tmp_path / name}").write(whole, force=True)
        assert (tmp_path / name).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip"]


def test_another_export_is_replaced_only_on_request(whole: Star, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    assert Superset(path, "duckdb:////data/a.duckdb").write(whole, force=False) == "written"
    with pytest.raises(StoreConflict, match="another export"):
        Superset(path).write(whole, force=False)
    assert Superset(path).write(whole, force=True) == "written"
    fewer = Star({**whole.tables, "dim_run": whole.table("dim_run").slice(1)}, whole.definitions)
    with pytest.raises(StoreConflict, match="another export"):
        Superset(path).write(fewer, force=False)


def test_ids_follow_the_name_and_of_what_is_drawn_the_content(dashboard_files: dict[str, Any], whole: Star) -> None:
    uri = "duckdb:////elsewhere/x.duckdb"
    moved = Bundle(NAME, source_of(uri), whole).files()
    other = Bundle("another", source_of(uri), whole).files()
    ids = [{name: content.get("uuid") for name, content in each.items()} for each in (dashboard_files, moved, other)]
    assert ids[0] == ids[1]
    assert not (set(ids[0].values()) & set(ids[2].values())) - {None}
    numbers = {column: number for number, column in enumerate(whole.table("data_dictionary").column_names)}
    rows = whole.table("data_dictionary")
    said = pa.array([f"{text} More." for text in rows["description"].to_pylist()])
    reworded = Star(
        {**whole.tables, "data_dictionary": rows.set_column(numbers["description"], "description", said)},
        whole.definitions,
    )
    again = {name: one.get("uuid") for name, one in Bundle(NAME, source_of(uri), reworded).files().items()}
    changed = {name for name, each in again.items() if each != ids[0][name]}
    assert {Path(name).parts[0] for name in changed} == {"datasets", "charts"}


def test_a_hostile_name_stays_text(whole: Star) -> None:
    bundle = Bundle(HOSTILE, source_of("duckdb:////x.duckdb"), whole)
    for path, content in bundle.files().items():
        assert yaml.safe_load(yaml.safe_dump(content)) == content
        assert ".." not in path
        names = [content.get(key, "") for key in ("database_name", "table_name", "dashboard_title", "slug")]
        assert not any(character in name for name in names for character in "\x00\x1b\n\u202e")


def test_no_name_of_a_run_or_class_is_in_the_bundle(dashboard_folder: Path, whole: Star) -> None:
    """They stay in the database, where Superset treats them as data."""
    text = (dashboard_folder / f"{NAME}.zip").read_bytes().decode("utf-8", "replace")
    names = {name for name in whole.table("dim_run")["run_id"].to_pylist() if "-" in name} | {"=1+1", "</script><b>"}
    assert len(names) > 5
    assert [name for name in names if name in text] == []


def test_the_connection_can_only_read_and_names_no_password(
    dashboard_folder: Path, dashboard_files: dict[str, Any], whole: Star
) -> None:
    said = dashboard_files["databases/evalframe.yaml"]
    assert said["sqlalchemy_uri"] == f"duckdb:///{dashboard_folder / NAME}.duckdb"
    assert said["extra"] == {"engine_params": {"connect_args": {"read_only": True}}}
    assert (said["allow_dml"], said["allow_ctas"], said["allow_cvas"]) == (False, False, False)
    source = source_of("postgresql+psycopg2://me:hush@db:5432/results?password=hush")
    data = Bundle("x", source, whole).data()
    assert b"hush" not in data
    assert source.uri == f"postgresql+psycopg2://me:{MASK}@db:5432/results"
    assert source.schema == "evalframe"


def test_a_dashboard_over_postgresql_writes_no_file_beside(whole: Star, tmp_path: Path) -> None:
    place = target(f"superset:{tmp_path / 'a.zip'}", "postgresql://me@db/results")
    assert place.write(whole, force=False) == "written"
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize("database", ["mysql://u:hush@h/d", "duckdb://a.duckdb", "results.duckdb", ""])
def test_a_database_that_cannot_be_read_is_refused(whole: Star, tmp_path: Path, database: str) -> None:
    with pytest.raises(UsageError) as refused:
        Superset(tmp_path / "a.zip", database).write(whole, force=False)
    assert "hush" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_only_a_dashboard_takes_a_database_and_only_a_path_that_a_uri_can_name(whole: Star, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only a dashboard"):
        target("parquet:p", "duckdb:////x.duckdb")
    with pytest.raises(UsageError, match="cannot name"):
        target(f"superset:{tmp_path / 'a?b.zip'}").write(whole, force=False)
    with pytest.raises(UsageError):
        target("superset:folder")


def test_placeholders_are_filled_and_charts_say_what_they_show() -> None:
    assert not [name for name, one in drawn()["datasets"].items() if "{" in one["sql"]]
    tiles = {name for name, chart in drawn()["charts"].items() if chart["params"]["viz_type"] == "big_number_total"}
    assert all(chart.get("description") for name, chart in drawn()["charts"].items() if name not in tiles)
