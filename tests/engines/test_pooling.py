"""Clusters that no output shows are left together: the same numbers from fewer rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from evalframe.engines.duckdb import DuckDB
from evalframe.engines.pooling import pooled
from evalframe.errors import EngineError
from evalframe.protocols import protocol
from evalframe.relations import Catalogue, plan
from evalframe.relations.plan import Plan
from tests.engines.systems import LABELS, system

ROWS = {"run_id": ["r"] * 4, "cluster_id": ["a", "a", "b", "c"], "n": [1, 2, 3, 4]}


@pytest.fixture
def relations(tmp_path: Path) -> Catalogue:
    """class_labels stands in for rows with clusters: fact -> state per cluster -> metric."""
    parts = {
        "rows_kept": ("fact", "inputs: [class_labels]\ngrain: [run_id]\npoolable: true", "class_labels"),
        "sums": ("state", "inputs: [rows_kept]\ngrain: [run_id, cluster_id]\nmerge: {n: sum}\npoolable: true", ""),
    }
    bodies = {
        "rows_kept": "SELECT run_id, cluster_id, n FROM class_labels",
        "sums": "SELECT run_id, cluster_id, CAST(sum(n) AS BIGINT) AS n FROM rows_kept GROUP BY run_id, cluster_id",
    }
    for name, (layer, head, _) in parts.items():
        text = f"/* ---\nname: {name}\nlayer: {layer}\ntitle: t\n{head}\nparameters: []\ndefinition: d\n--- */\n"
        (tmp_path / f"{name}.sql").write_text(text + bodies[name])
    (tmp_path / "shown.sql").write_text(
        "/* ---\nname: shown\nlayer: view\ntitle: t\ninputs: [sums]\ngrain: [run_id]\nparameters: []\n"
        "definition: d\n--- */\nSELECT run_id, count(*) AS n_rows FROM sums GROUP BY run_id"
    )
    (tmp_path / "total.sql").write_text(
        "/* ---\nname: total\nlayer: metric\ntitle: t\ninputs: [sums]\ngrain: [run_id]\nunit: count\nbetter: none\n"
        "denominator: data\nparameters: []\ndefinition: d\n--- */\n"
        "SELECT run_id, CAST(sum(n) AS DOUBLE) AS value, count(*) AS n_items FROM sums GROUP BY run_id"
    )
    return Catalogue((tmp_path,))


def evaluated(relations: Catalogue, outputs: list[str], wanted: bool) -> dict[str, pa.Table]:
    with DuckDB(threads=1) as engine:
        engine.bind("class_labels", pa.table(ROWS))
        return engine.evaluate(plan(relations, outputs, pooled=wanted))


def test_a_metric_does_not_change_and_its_state_has_one_cluster(relations: Catalogue) -> None:
    apart = evaluated(relations, ["total"], wanted=False)["total"].to_pylist()
    together = evaluated(relations, ["total"], wanted=True)["total"].to_pylist()
    assert apart == [{"run_id": "r", "value": 10.0, "n_items": 3}]
    assert together == [{"run_id": "r", "value": 10.0, "n_items": 1}]


def test_clusters_that_an_output_shows_stay_apart(relations: Catalogue) -> None:
    answers = evaluated(relations, ["total", "sums"], wanted=True)
    assert answers["sums"].column("cluster_id").to_pylist() == ["a", "b", "c"]
    assert answers["total"].column("n_items").to_pylist() == [3]


def test_a_view_of_no_single_cluster_keeps_none_apart(relations: Catalogue) -> None:
    answers = evaluated(relations, ["total", "shown"], wanted=True)
    assert answers["shown"].to_pylist() == [{"run_id": "r", "n_rows": 1}]
    assert answers["total"].column("n_items").to_pylist() == [1]


def test_only_poolable_relations_are_pooled_and_only_on_request(relations: Catalogue) -> None:
    assert pooled(plan(relations, ["total"])) == frozenset()
    assert pooled(plan(relations, ["total"], pooled=True)) == {"rows_kept", "sums"}
    assert pooled(plan(relations, ["total", "rows_kept"], pooled=True)) == {"sums"}


@pytest.mark.parametrize("label", LABELS)
def test_values_are_the_same_whether_clusters_stay_apart_or_not(label: str) -> None:
    one, metrics = system(label), protocol(label).metrics
    with DuckDB(threads=1) as engine:
        together = one.asked(engine, one.plan(metrics))
        apart = one.asked(engine, one.plan(metrics, pooled=False))
    assert together.keys() == apart.keys()
    for name, table in apart.items():
        assert together[name].equals(table), name


def test_what_is_bound_is_pooled_as_what_the_plan_computes_is(relations: Catalogue) -> None:
    wanted = plan(relations, ["total"], pooled=True, given=frozenset({"rows_kept"}))
    with DuckDB(threads=1) as engine:
        engine.bind("rows_kept", pa.table(ROWS))
        assert engine.evaluate(wanted)["total"].to_pylist() == [{"run_id": "r", "value": 10.0, "n_items": 1}]


def keeping(relations: Catalogue, run_id: str | None) -> Plan:
    """The plan of total, which keeps its fact."""
    wanted = plan(relations, ["total"], pooled=True, run_id=run_id)
    facts = tuple(replace(each, materialize=True) if each.layer == "fact" else each for each in wanted.relations)
    return replace(wanted, relations=facts)


@pytest.mark.parametrize(("run_id", "columns"), [(None, ["run_id", "n"]), ("r", ["n"])])
def test_a_kept_fact_is_written_without_what_all_its_rows_share(
    relations: Catalogue, run_id: str | None, columns: list[str]
) -> None:
    with DuckDB(threads=1) as engine:
        engine.bind("class_labels", pa.table(ROWS))
        with engine.answering(keeping(relations, run_id)) as answers:
            held = engine.query("SELECT column_name FROM duckdb_columns() WHERE table_name = 'kept rows_kept'")
            assert held["column_name"].to_pylist() == columns
            shared = engine.query("SELECT DISTINCT run_id, cluster_id FROM rows_kept").to_pylist()
            assert shared == [{"run_id": "r", "cluster_id": ""}]
            assert answers.table("total").to_pylist() == [{"run_id": "r", "value": 10.0, "n_items": 1}]
        assert not engine.query("SELECT 1 FROM duckdb_tables() WHERE table_name = 'kept rows_kept'").num_rows


def test_rows_of_another_run_than_the_plan_names_are_refused(relations: Catalogue) -> None:
    with DuckDB(threads=1) as engine:
        engine.bind("class_labels", pa.table(ROWS))
        with pytest.raises(EngineError, match="a row of another run than o'1"):
            engine.evaluate(keeping(relations, "o'1"))
        assert engine.evaluate(keeping(relations, "r"))["total"]["value"].to_pylist() == [10.0]
