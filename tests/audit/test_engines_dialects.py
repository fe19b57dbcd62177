"""The text of a relation in another dialect."""

from __future__ import annotations

import json
import sys

import pytest
import sqlglot

from evalframe.cli.run import run
from evalframe.engines.dialects import DIALECTS, render, rendered
from evalframe.errors import NotPortable, UsageError
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan

PORTABLE = [each.name for each in catalogue().of_layer("state", "calibration", "metric", "compare")]


def test_every_relation_above_facts_can_be_written_and_read_in_spark() -> None:
    relations = catalogue()
    for name in PORTABLE:
        written = render(relations[name].body, "spark", name)
        (tree,) = sqlglot.parse(written, read="spark")
        assert tree is not None, name
        names = [column.alias_or_name for column in tree.selects]  # type: ignore[attr-defined]
        assert set(relations[name].grain) <= set(names), name


NO_NULLS_LAST = frozenset({"choice_error_budgets", "failure_roc_auc"})
"""Windows with a frame and NULLS LAST: neither BigQuery nor T-SQL has them, and dropping the words would be a guess."""


@pytest.mark.parametrize(
    ("dialect", "refused"), [("postgres", frozenset()), ("bigquery", NO_NULLS_LAST), ("tsql", NO_NULLS_LAST)]
)
def test_what_is_written_can_be_read_in_the_dialect_and_nothing_is_left_out(
    dialect: str, refused: frozenset[str]
) -> None:
    found = set[object]()
    for name in PORTABLE:
        try:
            written = render(catalogue()[name].body, dialect, name)
        except NotPortable as error:
            found.add(name if error.reason == "window frame" else error)
            continue
        (tree,) = sqlglot.parse(written, read=dialect)
        assert set(catalogue()[name].grain) <= {column.alias_or_name for column in tree.selects}, name  # type: ignore[union-attr]
    assert found == refused


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_one_that_is_known(dialect: str) -> None:
    assert "macro_f1" in render(catalogue()["macro_f1"].body.replace("class_scores", "macro_f1"), dialect)


def test_names_and_texts_are_quoted_as_the_dialect_does() -> None:
    written = render("""SELECT "group", 'it''s' AS "a.b" FROM t ORDER BY "group" DESC NULLS LAST""", "spark")
    assert "`group`" in written
    assert "`a.b`" in written
    assert "'it\\'s'" in written


def test_a_plan_becomes_views_with_their_parameters() -> None:
    chain = catalogue().closure("coverage_at_error_0.01")
    facts = frozenset(each.name for each in chain if each.layer == "fact")
    settings = protocol("kev-choice/1").settings()
    whole = plan(catalogue(), ["coverage_at_error_0.01"], parameters=settings, given=facts)
    views = rendered(whole, "spark")
    assert list(views) == [relation.name for relation in whole.relations]
    assert "`coverage_at_error_0.01`" in views["coverage_at_error_0.01"].splitlines()[0]
    assert any("'prefix'" in text for text in views.values())


def test_what_is_no_query_is_refused() -> None:
    with pytest.raises(NotPortable, match="spark"):
        render("SELECT FROM WHERE", "spark")


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UsageError, match="no dialect"):
        render("SELECT 1", "klingon")


def test_without_sqlglot_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(UsageError) as caught:
        render("SELECT 1", "spark")
    assert "evalframe[dialects]" in caught.value.hint


def test_explain_shows_the_chain_above_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "ece", "--dialect", "spark", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["dialect"] == "spark"
    assert body["reads"]
    assert "ece" in body["views"]
    assert all(catalogue()[name].layer != "fact" for name in body["views"])
    assert run(["explain", "ece", "--dialect", "spark"]) == 0
    assert capsys.readouterr().out.startswith("-- reads: ")
