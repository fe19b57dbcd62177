"""A query over many runs takes relations as they were sealed where they would come out the same, and only there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import evalframe
from evalframe.engines.duckdb import DuckDB
from evalframe.store import Store
from evalframe.verbs import demo_data, sealed_rows, sql

QUERIES = (
    "SELECT * FROM class_report ORDER BY ALL",
    "SELECT * FROM confusion_matrix ORDER BY ALL",
    "SELECT * FROM class_scores JOIN class_vocabulary USING (run_id, class_index) ORDER BY ALL",
    "SELECT m.run_id, s.f1, m.value FROM metric_values AS m JOIN class_scores AS s USING (run_id) ORDER BY ALL",
    "SELECT * FROM choice_totals ORDER BY ALL",
)


def _score(path: Path, run: str, seed: int, **options: Any) -> None:
    source = path.parent / f"{run}.npz"
    source.write_bytes(demo_data.windows(skill=0.6 + 0.05 * seed, seed=seed))
    evalframe.wisp.score(source, store=path, run_id=run, **options)


@pytest.fixture(scope="module")
def _sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    path = folder / "store"
    _score(path, "a", 1)
    _score(path, "b", 2)
    np.savez(
        folder / "odd.npz",
        y_true=np.array([0, 1, 1, 0]),
        y_pred=np.array([0, 1, 0, 0]),
        participant=np.array(["p", "q", "q", "r"]),
        classes=np.array(["x", "y", "never"]),
    )
    evalframe.wisp.score(folder / "odd.npz", store=path, run_id="odd")
    (folder / "q.jsonl").write_bytes(demo_data.questions(skill=0.4, seed=3))
    evalframe.kev.score(rows=folder / "q.jsonl", store=path, run_id="kev")
    return path


@pytest.fixture
def store(_sealed: Path, tmp_path: Path) -> Store:
    """Two runs of one vocabulary and one of another, with failed windows, and answers to questions; a copy."""
    return Store.open(shutil.copytree(_sealed, tmp_path / "store"))


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what is bound to an engine, as it happens."""
    names: list[str] = []
    bind = DuckDB.bind

    def noted(self: DuckDB, name: str, *rest: Any) -> None:
        names.append(name)
        bind(self, name, *rest)

    monkeypatch.setattr(DuckDB, "bind", noted)
    return names


def both(store: Store, query: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> pa.Table:
    """The answer, which must be the same when every relation is computed."""
    monkeypatch.setattr(sealed_rows, "MANY", 1000)
    computed = sql.ask(store, query, **options)
    monkeypatch.setattr(sealed_rows, "MANY", 0)
    assert sql.ask(store, query, **options).equals(computed)
    return computed


@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_is_the_one_that_is_computed(store: Store, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    assert len(both(store, query, monkeypatch)) > 0


def test_predictions_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch, bound: list[str]) -> None:
    monkeypatch.setattr(sealed_rows, "MANY", 0)
    sql.ask(store, QUERIES[0])
    assert "sealed class_confusion_by_cluster" in bound
    assert not {"class_labels", "class_predictions"} & set(bound)


@pytest.mark.parametrize("how", ["other settings", "other definition", "no results"])
def test_rows_that_might_differ_are_computed(
    store: Store, monkeypatch: pytest.MonkeyPatch, bound: list[str], how: str
) -> None:
    if how == "other settings":
        _score(Path(store.path), "c", 4, settings={"failed": "excluded"})
    elif how == "no results":
        tables = {name: store.read(name, ["a"]) for name in ("class_labels", "class_predictions", "class_vocabulary")}
        renamed = {
            name: table.set_column(table.schema.get_field_index("run_id"), "run_id", pa.array(["c"] * len(table)))
            for name, table in tables.items()
        }
        store.write_run("c", system="wisp", dataset_id=None, tables=renamed, inputs={})
    elif how == "other definition":
        monkeypatch.setattr(sealed_rows.SealedRows, "_current", lambda *_: frozenset(["ef1-0"]))
    bound.clear()
    answer = both(store, QUERIES[0], monkeypatch)
    assert ("c" in answer["run_id"].to_pylist()) == (how != "other definition")
    assert bound.count("class_predictions") == 2
    assert "sealed class_confusion_by_cluster" not in bound


def test_few_runs_are_computed(store: Store, monkeypatch: pytest.MonkeyPatch, bound: list[str]) -> None:
    monkeypatch.setattr(sealed_rows, "MANY", 4)
    sql.ask(store, QUERIES[0])
    assert "class_predictions" in bound
    assert "sealed class_confusion_by_cluster" not in bound


def test_chosen_runs_alone_decide(store: Store, monkeypatch: pytest.MonkeyPatch, bound: list[str]) -> None:
    _score(Path(store.path), "c", 4, settings={"failed": "excluded"})
    answer = both(store, QUERIES[0], monkeypatch, runs=["a", "odd"])
    assert set(answer["run_id"].to_pylist()) == {"a", "odd"}
    assert "sealed class_confusion_by_cluster" in bound


def test_a_stored_table_that_is_asked_for_keeps_its_fingerprints(
    store: Store, monkeypatch: pytest.MonkeyPatch, bound: list[str]
) -> None:
    query = (
        "SELECT c.protocol_fingerprint, s.f1 FROM class_confusion_by_cluster AS c JOIN class_scores AS s USING (run_id)"
    )
    both(store, f"{query} ORDER BY ALL", monkeypatch)
    assert "class_confusion_by_cluster" in bound


def test_a_run_sealed_while_the_query_is_prepared_is_in_it_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_rows, "MANY", 0)
    views = Store.views

    def late(self: Store, **options: Any) -> dict[str, list[Path]]:
        if "late" not in self.run_ids():
            _score(Path(self.path), "late", 5)
        return views(self, **options)

    monkeypatch.setattr(Store, "views", late)
    rows = sql.ask(store, "SELECT run_id, sum(support) AS n FROM class_report GROUP BY run_id ORDER BY 1").to_pylist()
    assert {row["run_id"]: row["n"] for row in rows}["late"] == {row["run_id"]: row["n"] for row in rows}["a"] > 0


def test_a_withdrawn_run_is_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.withdraw("a", "wrong labels")
    assert set(both(store, QUERIES[0], monkeypatch)["run_id"].to_pylist()) == {"b", "odd"}
