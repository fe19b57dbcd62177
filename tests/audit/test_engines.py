"""Engines that agree: every relation over its cases and real data, the table in the README, and one stored run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalframe.audit.engines import Agreement, compare, worst
from evalframe.cli.run import run
from evalframe.engines.polars_sql import PolarsSql
from evalframe.errors import ContractError, EngineError, NotPortable, ResultsMissing, UnknownName
from evalframe.relations import catalogue
from evalframe.relations.plan import Plan, plan
from evalframe.store import Store
from evalframe.verbs import wisp
from evalframe.verbs.audit_engines import audit_engines
from tests.audit.engines_table import in_readme, outcomes, over_cases, over_real_data, table, told

AGAIN = "python -m tests.audit.engines_table"


@pytest.fixture
def engine() -> Iterator[PolarsSql]:
    with PolarsSql() as other:
        yield other


def _bound(word: str) -> float:
    return 0.0 if word == "exact" else float("inf") if word.startswith("no") else float(word)


def test_every_relation_agrees_over_its_cases(engine: PolarsSql) -> None:
    listed = outcomes()["polars"]
    found = told(over_cases(engine))
    assert set(found) == set(listed), AGAIN
    worse = {name: (word, listed[name]) for name, word in found.items() if _bound(word) > _bound(listed[name])}
    assert worse == {}, AGAIN
    # A case that an engine does not speak keeps its reason; one that it speaks now is listed as spoken.
    assert {name: word for name, word in found.items() if word.startswith("no")} == {
        name: word for name, word in listed.items() if word.startswith("no")
    }, AGAIN


def test_every_relation_agrees_over_real_data(engine: PolarsSql, real_data: Callable[[str], Path]) -> None:
    listed = outcomes()["polars"]
    found = told(over_real_data(engine, real_data("kev").parent))
    assert len(found) > 100
    assert {name: word for name, word in found.items() if _bound(word) > _bound(listed[name])} == {}, AGAIN


def test_every_relation_is_in_the_table() -> None:
    assert set(outcomes()["polars"]) == set(catalogue().relations), AGAIN


def test_the_readme_shows_the_table() -> None:
    assert in_readme() == table(outcomes()), AGAIN


def test_from_states_on_little_is_not_spoken() -> None:
    relations = catalogue()
    above = {name: word for name, word in outcomes()["polars"].items() if relations[name].layer in ("state", "metric")}
    assert sum(word.startswith("no") for word in above.values()) <= 0.05 * len(above)


# ---- what counts as agreement ---------------------------------------------------------------------------------------

RELATION = catalogue()["failure_accuracy"]
COUNTS = {"run_id": ["a", "b"], "stratum": ["all", "all"], "value": [0.5, None], "n": [2, 0]}


class Parrot(PolarsSql):
    """Says what it was told to say."""

    def __init__(self, answer: pa.Table) -> None:
        super().__init__()
        self.answer = answer

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        return {plan.outputs[0]: self.answer}


def _outcome(**changed: list[Any]) -> Agreement:
    expected = pa.table(COUNTS)
    inputs = {name: pa.table({"x": [1]}) for name in RELATION.inputs}
    return compare(RELATION, inputs, {}, expected, Parrot(pa.table({**COUNTS, **changed})))


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, "exact"),
        ({"value": [0.5 + 1e-17, None]}, "exact"),
        ({"value": [0.5000000000000001, None]}, "close"),
        ({"value": [0.500000000001, None]}, "differs"),
        ({"value": [0.5, 0.0]}, "differs"),
        ({"value": [None, None]}, "differs"),
        ({"value": [float("nan"), None]}, "differs"),
        ({"value": [float("inf"), None]}, "differs"),
        ({"n": [3, 0]}, "differs"),
        ({"n": [2.0, 0.0]}, "exact"),
        ({"n": [True, False]}, "differs"),
        ({"stratum": ["all", "clean"]}, "differs"),
        ({"run_id": ["a", "c"]}, "differs"),
    ],
)
def test_numbers_agree_within_round_off_and_nothing_else_does(changed: dict[str, list[Any]], outcome: str) -> None:
    found = _outcome(**changed)
    assert found.outcome == outcome
    assert (found.detail == "") == (outcome != "differs")


def test_rows_come_in_any_order_but_all_of_them() -> None:
    assert _outcome(**{name: cells[::-1] for name, cells in COUNTS.items()}).outcome == "exact"
    assert _outcome(**{name: cells[:1] for name, cells in COUNTS.items()}).detail == "1 rows instead of 2"
    assert "columns" in _outcome(extra=[1, 2]).detail


def test_the_gravest_outcome_of_a_relation_counts() -> None:
    one, two = Agreement("r", "state", "close", 3, 1e-15), Agreement("r", "state", "exact", 4)
    assert worst([two, one]) == Agreement("r", "state", "close", 7, 1e-15)
    grave = Agreement("r", "state", "differs", 1, detail="x")
    assert worst([one, grave, Agreement("r", "state", "not portable", reason="types")]).outcome == "differs"


# ---- the engine -----------------------------------------------------------------------------------------------------


def test_a_plan_runs_from_tables_to_a_metric(engine: PolarsSql) -> None:
    confusion = pa.table(
        {
            "run_id": ["r", "r", "r"],
            "stratum": ["all"] * 3,
            "cluster_id": ["p", "p", "q"],
            "target_index": pa.array([0, 0, 1], pa.int16()),
            "predicted_index": pa.array([0, 1, 1], pa.int16()),
            "n": [3, 1, 4],
        }
    )
    vocabulary = pa.table({"run_id": ["r", "r"], "class_index": pa.array([0, 1], pa.int16()), "class": ["a", "b"]})
    engine.bind("class_confusion_by_cluster", confusion)
    engine.bind("class_vocabulary", vocabulary)
    given = frozenset({"class_confusion_by_cluster"})
    whole = plan(catalogue(), ["accuracy", "class_scores"], parameters={"failed": "wrong"}, given=given)
    found = engine.evaluate(whole)
    assert found["accuracy"]["value"].to_pylist() == [0.875]
    assert found["class_scores"]["class_index"].to_pylist() == [0, 1]
    assert set(engine.schema(whole)) == {"accuracy", "class_scores"}
    assert engine.query("SELECT n FROM class_confusion_by_cluster WHERE n > 3")["n"].to_pylist() == [4]


def test_what_is_not_bound_is_named(engine: PolarsSql) -> None:
    with pytest.raises(EngineError, match="class_labels is not bound"):
        engine.evaluate(plan(catalogue(), ["accuracy"], parameters={"failed": "wrong"}))


def test_files_of_another_contract_are_refused(engine: PolarsSql, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "part.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(ContractError, match="drifted"):
        engine.bind("class_labels", [path])


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT no_such_function(1) AS x", "function"),
        ("SELECT list_transform(y, lambda v: v) AS x FROM t", "syntax"),
        (
            "SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS x FROM t",
            "window frame",
        ),
        ("SELECT v FROM t GROUP BY v, (SELECT max(v) FROM t)", "subquery"),
        ("SELECT v + w AS x FROM t", "types"),
    ],
)
def test_what_is_not_spoken_has_a_reason(engine: PolarsSql, sql: str, reason: str) -> None:
    engine.bind("t", pa.table({"v": [1.0], "w": ["a"], "y": [[1]]}))
    with pytest.raises(NotPortable) as caught:
        engine.query(sql)
    assert caught.value.reason == reason


# ---- one stored run -------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    rows = [f"{i},p{i % 3},c{i % 2},c{(i // 3) % 2}" for i in range(24)]
    (tmp_path / "w.csv").write_text("\n".join(["time,participant,y_true,y_pred", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "classes.json").write_text('["c0", "c1"]', encoding="utf-8")
    wisp.score(tmp_path / "w.csv", output=tmp_path / "o.json", classes=tmp_path / "classes.json", store=tmp_path / "s")
    return tmp_path / "s"


def test_a_stored_run_is_computed_twice_and_the_finding_is_sealed(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audit_engines(store, "w")
    outcomes = {row["relation"]: row["outcome"] for row in found.to_pylist()}
    assert outcomes["accuracy"] == outcomes["class_counts_by_cluster"] == "exact"
    assert "differs" not in outcomes.values()
    assert Store.open(store).read("audit_findings").num_rows == 0
    assert run(["audit", "engines", "--store", str(store), "--run", "w"]) == 0
    assert "exact" in capsys.readouterr().out


def test_a_difference_is_a_finding_and_exit_5(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = PolarsSql.evaluate

    def off_by_one(self: PolarsSql, plan: Plan) -> dict[str, pa.Table]:
        found = honest(self, plan)
        if plan.outputs != ("accuracy",):
            return found
        table = found["accuracy"]
        at = table.column_names.index("n_items")
        return {"accuracy": table.set_column(at, "n_items", pa.array([n + 1 for n in table["n_items"].to_pylist()]))}

    monkeypatch.setattr(PolarsSql, "evaluate", off_by_one)
    assert run(["audit", "engines", "--store", str(store), "--run", "w", "--json"]) == 5
    assert "n_items is 25 instead of 24" in capsys.readouterr().out
    (row,) = Store.open(store).read("audit_findings").to_pylist()
    assert (row["run_id"], row["metric"], row["audit"]) == ("w", "accuracy", "engines/polars/wisp-har/1")


def test_an_unknown_or_unscored_run_is_refused(store: Path) -> None:
    with pytest.raises(UnknownName):
        audit_engines(store, "nobody")
    folder = Store.open(store)
    sealed = folder.run("w")
    folder.write_run("bare", system=sealed.system, dataset_id=sealed.dataset_id, tables={}, inputs={"x": 1}, tags={})
    with pytest.raises(ResultsMissing):
        audit_engines(store, "bare")
