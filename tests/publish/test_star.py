"""The star schema: what it holds, that its sums give back the metrics, and that nothing in it is undescribed."""

from __future__ import annotations

import math

import pyarrow.compute as pc
import pytest

from evalframe.contracts import contracts
from evalframe.publish.dictionary import meaning
from evalframe.publish.metrics import POOLED, RATIO_OF_SUMS
from evalframe.publish.normalising import SAFE
from evalframe.publish.star import Star
from evalframe.relations import catalogue
from evalframe.verbs.opened import Store
from tests.publish.conftest import star_of

NAMES = {
    "dim_run", "dim_protocol", "dim_metric", "fact_metric", "fact_comparison", "fact_confusion", "fact_bin",
    "fact_event", "fact_audit", "data_dictionary",
}  # fmt: skip


def test_every_table_is_there_and_filled_from_all_four_systems(whole: Star) -> None:
    assert set(whole.tables) == NAMES == set(whole.definitions)
    assert [name for name, table in whole.tables.items() if table.num_rows == 0] == []
    assert set(whole.table("dim_run")["system"].to_pylist()) == {"wisp", "kev", "floor", "robometer"}


def test_every_type_is_one_that_all_readers_take(whole: Star) -> None:
    found = {field.type for table in whole.tables.values() for field in table.schema}
    assert found <= SAFE


def test_every_column_has_a_meaning_and_every_number_says_whether_it_may_be_summed(whole: Star) -> None:
    rows = whole.table("data_dictionary").to_pylist()
    assert all(row["description"] for row in rows)
    described = {(row["table_name"], row["column_name"]) for row in rows}
    assert described == {(n, c) for n, t in whole.tables.items() if n != "data_dictionary" for c in t.schema.names}
    numbers = [r for r in rows if r["table_name"].startswith("fact_") and r["type"] in ("double", "int64")]
    places = {"horizon_s", "recall", "step", "boundary_row", "decision_row", "competing_row", "transition_row"}
    undecided = {r["column_name"] for r in numbers if r["additivity"] is None}
    assert undecided <= places | {"lo", "hi"}


def test_meanings_are_those_of_the_contracts() -> None:
    assert meaning("fact_metric", "numerator") == contracts()["metric_values"].column("numerator").description
    with pytest.raises(KeyError):
        meaning("fact_bin", "what")


def test_keys_of_facts_are_found_in_dimensions(whole: Star) -> None:
    for fact, key, dimension in (
        ("fact_metric", "metric_key", "dim_metric"),
        ("fact_comparison", "metric_key", "dim_metric"),
        ("fact_metric", "run_id", "dim_run"),
        ("fact_confusion", "run_id", "dim_run"),
        ("fact_bin", "protocol_fingerprint", "dim_protocol"),
        ("fact_event", "protocol_fingerprint", "dim_protocol"),
    ):
        missing = set(whole.table(fact)[key].to_pylist()) - set(whole.table(dimension)[key].to_pylist())
        assert missing - {None} == set(), (fact, key)
    keys = whole.table("dim_metric")["metric_key"].to_pylist()
    assert len(keys) == len(set(keys))


def test_undefined_is_null_with_a_reason_and_tainted_is_marked(whole: Star) -> None:
    rows = whole.table("fact_metric").to_pylist()
    assert all((row["value"] is None) == (row["status"] != "ok") == (row["reason"] is not None) for row in rows)
    assert {row["status"] for row in rows} == {"ok", "undefined"}
    assert {row["run_id"] for row in rows if row["tainted"]} == {"bent"}
    assert [r["run_id"] for r in whole.table("dim_run").to_pylist() if r["tainted"]] == ["bent"]


def test_where_numerators_may_be_summed_the_value_is_their_ratio(whole: Star) -> None:
    known = catalogue()
    assert {name for name in POOLED if name not in known.relations} == set()
    additivity = {r["metric_key"]: r["additivity"] for r in whole.table("dim_metric").to_pylist()}
    pooled = [r for r in whole.table("fact_metric").to_pylist() if additivity[r["metric_key"]] == RATIO_OF_SUMS]
    defined = [row for row in pooled if row["status"] == "ok"]
    assert len({row["metric"] for row in defined}) > 20
    for row in defined:
        assert math.isclose(row["value"], row["numerator"] / row["denominator"], rel_tol=1e-12, abs_tol=1e-15), row


def test_one_value_stands_for_a_run_under_a_fingerprint(whole: Star) -> None:
    kept = whole.table("fact_metric").filter(pc.field("is_authority"))
    columns = ["run_id", "protocol_fingerprint", "metric", "stratum", "horizon_s", "recall", "step"]
    cells = [tuple(row.values()) for row in kept.select(columns).to_pylist()]
    assert len(cells) == len(set(cells)) > 0


def test_the_digest_follows_content_and_nothing_else(store: Store, whole: Star) -> None:
    again = [star_of(store.folder).digest for _ in range(2)]
    assert again[0] == again[1] != whole.digest
