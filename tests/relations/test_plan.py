"""Plans in three styles: the same relations, parameters as rows, names quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.errors import UnknownName
from evalframe.relations import Catalogue, plan
from evalframe.relations.plan import literal, parameters_sql, quoted
from tests.relations.writing import chain, write


def test_a_plan_names_what_must_be_bound(tmp_path: Path) -> None:
    steps = plan(chain(tmp_path), ["hit_rate", "hit_rate"], parameters={"lowest": "1", "other": "2"})
    assert steps.outputs == ("hit_rate",)
    assert [relation.name for relation in steps.relations] == ["hits", "hit_counts", "hit_rate"]
    assert steps.sources == ("class_predictions",)
    assert steps.parameters == {"lowest": "1"}, "a plan holds the parameters that its closure reads, no others"


def test_given_relations_are_sources(tmp_path: Path) -> None:
    merged = plan(chain(tmp_path), ["hit_rate"], given=frozenset({"hit_counts", "unrelated"}))
    assert merged.sources == ("hit_counts",)
    assert [relation.name for relation in merged.relations] == ["hit_rate"]
    assert merged.parameters == {}


def test_a_missing_parameter_is_refused_naming_who_reads_it(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="needs parameters") as caught:
        plan(chain(tmp_path), ["hit_rate"])
    assert (caught.value.expected, caught.value.where) == ("lowest", "hits")


def test_one_query_holds_the_closure_in_order(tmp_path: Path) -> None:
    (text,) = plan(chain(tmp_path), ["hit_counts"], style="ctes", parameters={"lowest": "1"}).statements()
    order = [text.index(part) for part in ("WITH protocol_parameters AS (", '"hits" AS (', '"hit_counts" AS (')]
    assert order == sorted(order)
    assert text.endswith('SELECT * FROM "hit_counts"')
    assert '"hit_rate"' not in text


def test_views_carry_their_parameters(tmp_path: Path) -> None:
    views = plan(chain(tmp_path), ["hit_rate"], style="views", parameters={"lowest": "it's"}).statements()
    assert [view.split(" AS")[0] for view in views] == [
        'CREATE VIEW "hits"',
        'CREATE VIEW "hit_counts"',
        'CREATE VIEW "hit_rate"',
    ]
    assert "CAST('it''s' AS VARCHAR)" in views[0]
    assert "protocol_parameters" not in views[1]


def test_names_with_dots_are_quoted(tmp_path: Path) -> None:
    write(tmp_path, "coverage_at_error_0.01", "SELECT 1 AS run_id")
    (text,) = plan(Catalogue((tmp_path,)), ["coverage_at_error_0.01"], style="ctes").statements()
    assert text.endswith('SELECT * FROM "coverage_at_error_0.01"')
    assert quoted('a"b') == '"a""b"'
    assert literal("a'b") == "'a''b'"


def test_no_parameters_are_a_table_without_rows() -> None:
    assert parameters_sql({}).endswith("WHERE 1 = 0")
