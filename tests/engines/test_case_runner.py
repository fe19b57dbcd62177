"""The runner of YAML cases: it must see every kind of difference, and refuse a case that cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalframe.engines.cases import Cases, read_case
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import RelationError, UnknownName
from evalframe.relations import Catalogue
from tests.relations.writing import chain, write

COUNTS = [
    {"run_id": "r", "stratum": "all", "cluster_id": "a", "n": 3, "hits": 1},
    {"run_id": "r", "stratum": "all", "cluster_id": "b", "n": 1, "hits": 1},
]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "sql").mkdir()
    chain(tmp_path / "sql")
    write(
        tmp_path / "sql",
        "kinds",
        "SELECT run_id, created_at, tags, CAST(1 AS DOUBLE) / 3 AS third, CAST(0.1 AS DECIMAL(38, 15)) AS exact, "
        "[true, false] AS both, CAST('NaN' AS DOUBLE) AS nan FROM runs",
        inputs=["runs"],
    )

    def differences(relation: str, **content: Any) -> list[str]:
        path = tmp_path / f"{relation}__some.yaml"
        path.write_text(yaml.safe_dump({"shows": "Something.", **content}))
        return Cases(Catalogue((tmp_path / "sql",)), engine).differences(read_case(path))

    with DuckDB(threads=1) as engine:
        yield differences


def test_a_case_that_holds(run: Any) -> None:
    rows = [{"run_id": "r", "value": 0.5, "n_items": 4, "status": "ok", "reason": None}]
    ctes = {"totals": [{"n": 4, "hits": 2}]}
    assert run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"ctes": ctes, "rows": rows}) == []


@pytest.mark.parametrize(
    "row",
    [
        {"value": 0.5000001},
        {"value": None},
        {"n_items": 4.5},
        {"n_items": True},
        {"status": "undefined"},
        {"reason": "no_items"},
        {"run_id": "s"},
        {"stratum": None},
    ],
)
def test_every_kind_of_difference_is_seen(run: Any, row: dict[str, Any]) -> None:
    found = run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"rows": [row]})
    assert [line.split(":")[1].split()[0] for line in found] == ["expected", "found"]


def test_missing_and_surplus_rows_are_seen(run: Any) -> None:
    assert run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"rows": []})[0].startswith("rows: found")
    two = [{"run_id": "r"}, {"run_id": "r"}]
    assert run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"rows": two}) == ["rows: expected {'run_id': 'r'}"]


def test_a_difference_inside_a_step_is_seen(run: Any) -> None:
    found = run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"ctes": {"totals": [{"n": 5}]}})
    assert found == ["totals: expected {'n': 5}", "totals: found    {'n': Decimal('4')}"]


def test_a_column_that_does_not_exist_is_seen(run: Any) -> None:
    found = run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"rows": [{"valeu": 1}]})
    assert found[0].startswith("rows: no column valeu")


def test_tolerance_is_tight_unless_given(run: Any) -> None:
    off = [{"value": 0.5 + 1e-9}]
    assert run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"rows": off}) != []
    assert run("hit_rate", inputs={"hit_counts": COUNTS}, outputs={"rows": off}, tolerance=1e-6) == []


def test_every_type_goes_in_and_comes_out(run: Any) -> None:
    given = {"run_id": "001", "created_at": "2026-01-01 00:30:00", "tags": {"fold": "1"}}
    given_rows = yaml.safe_load(yaml.safe_dump([given]).replace("'2026-01-01 00:30:00'", "2026-01-01 00:30:00"))
    row = {**given_rows[0], "third": 1 / 3, "exact": 0.1, "both": [True, False], "nan": float("nan")}
    assert run("kinds", inputs={"runs": given_rows}, outputs={"rows": [row]}) == []
    assert run("kinds", inputs={"runs": given_rows}, outputs={"rows": [{**row, "both": [True, True]}]}) != []
    assert run("kinds", inputs={"runs": given_rows}, outputs={"rows": [{"tags": {"fold": "2"}}]}) != []


def test_parameters_are_text_whatever_yaml_reads(run: Any) -> None:
    inputs = {"class_predictions": [{"run_id": "r", "item_index": 0, "class_index": 7}]}
    out = {"rows": [{"run_id": "r", "hit": 7}]}
    assert run("hits", inputs=inputs, parameters={"lowest": 7}, outputs=out) == []
    with pytest.raises(UnknownName, match="needs parameters"):
        run("hits", inputs=inputs, outputs=out)


def test_an_input_without_rows_is_an_empty_table(run: Any) -> None:
    assert run("hit_rate", outputs={"rows": []}) == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"inputs": {"hits": []}, "outputs": {"rows": []}}, "inputs that are not declared"),
    ({"inputs": {"hit_counts": [{"m": 1}]}, "outputs": {"rows": []}}, "hit_counts has no such column"),
    ({"inputs": {"hit_counts": [{"run_id": 1}]}, "outputs": {"rows": []}}, "do not fit its types"),
    ({"inputs": {"hit_counts": [{"n": "1"}]}, "outputs": {"rows": []}}, "do not fit its types"),
    ({"outputs": {}}, "expects nothing"),
    ({"outputs": {"ctes": {"sums": []}}}, "there is no step sums"),
    ({"outputs": {"rows": [], "columns": []}}, "unknown keys"),
    ({"output": {"rows": []}}, "unknown keys"),
    ({}, "lacks outputs"),
]


@pytest.mark.parametrize(("content", "what"), REFUSED)
def test_a_case_that_cannot_be_meant_is_refused(run: Any, content: dict[str, Any], what: str) -> None:
    with pytest.raises(RelationError, match=what) as caught:
        run("hit_rate", **content)
    assert caught.value.where.endswith("hit_rate__some.yaml")
