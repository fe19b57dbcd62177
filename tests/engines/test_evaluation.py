"""Plans on DuckDB: the same rows in every style, nothing left behind, errors in four lines."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from evalframe.contracts import contract
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.materialise import kept
from evalframe.errors import EngineError, EvalframeError
from evalframe.relations import Catalogue, plan
from tests.relations.writing import chain, write

PREDICTIONS = pa.table(
    {"run_id": ["r"] * 4 + ["s"], "item_index": [0, 1, 2, 3, 0], "class_index": [0, 1, 2, 3, 5]},
    schema=contract("class_predictions").arrow_schema(),
)
LOWEST = {"lowest": "1"}
Reading = Callable[[DuckDB, str], object]


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as db:
        db.bind("class_predictions", PREDICTIONS)
        yield db


def rates(table: pa.Table) -> dict[str, float]:
    return dict(zip(table["run_id"].to_pylist(), table["value"].to_pylist(), strict=True))


def test_outputs_by_name(engine: DuckDB, tmp_path: Path) -> None:
    out = engine.evaluate(plan(chain(tmp_path), ["hit_rate", "hit_counts"], parameters=LOWEST))
    assert list(out) == ["hit_rate", "hit_counts"]
    assert rates(out["hit_rate"]) == {"r": 2.0, "s": 5.0}
    assert out["hit_counts"].select(["run_id", "cluster_id", "hits"]).to_pydict() == {
        "run_id": ["r", "r", "r", "s"],
        "cluster_id": ["1", "2", "3", "0"],
        "hits": [1, 2, 3, 5],
    }, "rows of all but facts come by grain"


def test_rows_as_dictionaries_are_those_of_the_table(engine: DuckDB, tmp_path: Path) -> None:
    wanted = plan(chain(tmp_path), ["hit_rate", "hit_counts"], parameters=LOWEST)
    with engine.answering(wanted) as answers:
        for name in wanted.outputs:
            assert answers.records(name) == answers.table(name).to_pylist() != []


def test_every_style_gives_the_same_rows(engine: DuckDB, tmp_path: Path) -> None:
    graph = chain(tmp_path)
    steps = engine.evaluate(plan(graph, ["hit_rate"], parameters=LOWEST))["hit_rate"]
    (query,) = plan(graph, ["hit_rate"], style="ctes", parameters=LOWEST).statements()
    views = plan(graph, ["hit_rate"], style="views", parameters=LOWEST)
    for relation in views.relations:
        engine.view(relation.name, views.view(relation))
    assert rates(engine.query(query)) == rates(engine.query("SELECT * FROM hit_rate")) == rates(steps)


def test_given_states_are_not_recomputed(engine: DuckDB, tmp_path: Path) -> None:
    graph = chain(tmp_path)
    states = engine.evaluate(plan(graph, ["hit_counts"], parameters=LOWEST))["hit_counts"]
    with DuckDB(threads=1) as other:
        other.bind("hit_counts", states)
        merged = other.evaluate(plan(graph, ["hit_rate"], given=frozenset({"hit_counts"})))
    assert rates(merged["hit_rate"]) == {"r": 2.0, "s": 5.0}


@pytest.mark.parametrize("limit", ["1KB", "100KB"])
def test_a_plan_that_does_not_fit_into_memory_is_refused_in_four_lines(tmp_path: Path, limit: str) -> None:
    wanted = plan(chain(tmp_path), ["hit_rate"], parameters=LOWEST)
    with DuckDB(memory_limit=limit, threads=1) as small:
        small.bind("class_predictions", PREDICTIONS)
        with pytest.raises(EngineError) as refused:
            small.evaluate(wanted)
    assert refused.value.hint.startswith("--memory-limit")
    assert "Possible solutions" not in refused.value.found


@pytest.mark.parametrize(
    ("reading", "query", "place"),
    [
        (DuckDB.inputs_of, "SELECT run_id\nFROM class_predictions\nWHERE (item_index > 1", "in line 3, column 21"),
        (DuckDB.inputs_of, "SELECT 'ü' FRO x y", "in line 1, column 16"),
        (
            DuckDB.query,
            "SELECT 1,\n  CAST(run_id AS INT) AS a FROM class_predictions",
            "at 'CAST(run_id AS INT)' in line 2",
        ),
    ],
)
def test_an_error_in_a_query_says_where(engine: DuckDB, reading: Reading, query: str, place: str) -> None:
    with pytest.raises(EvalframeError) as refused:
        reading(engine, query)
    assert refused.value.found.endswith(place)


def test_a_plan_leaves_nothing_behind(engine: DuckDB, tmp_path: Path) -> None:
    graph = chain(tmp_path)
    for lowest in ("0", "1", "2"):
        out = engine.evaluate(plan(graph, ["hit_rate"], parameters={"lowest": lowest}))
        assert rates(out["hit_rate"])["r"] == {"0": 1.5, "1": 2.0, "2": 2.5}[lowest]
    with pytest.raises(EngineError):
        engine.query("SELECT * FROM hits")
    with pytest.raises(EngineError):
        engine.query("SELECT * FROM protocol_parameters")


def test_a_failed_plan_leaves_nothing_behind(engine: DuckDB, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        engine.evaluate(plan(chain(tmp_path), ["hit_rate"], parameters={"lowest": "high"}))
    assert "Could not convert string" in caught.value.found
    assert engine.evaluate(plan(chain(tmp_path), ["hit_rate"], parameters=LOWEST))["hit_rate"].num_rows == 2


def test_an_unfinished_result_does_not_block_the_next_plan(engine: DuckDB, tmp_path: Path) -> None:
    unread = engine.query("SELECT * FROM range(100000)")
    steps = engine.steps(plan(chain(tmp_path), ["hit_rate"], parameters=LOWEST))
    next(steps)
    steps.close()
    assert engine.evaluate(plan(chain(tmp_path), ["hit_rate"], parameters=LOWEST))["hit_rate"].num_rows == 2
    assert unread.num_rows == 100_000


def test_steps_show_each_relation_in_order(engine: DuckDB, tmp_path: Path) -> None:
    shown = list(engine.steps(plan(chain(tmp_path), ["hit_rate"], parameters=LOWEST)))
    assert [(name, table.num_rows) for name, table in shown] == [("hits", 4), ("hit_counts", 4), ("hit_rate", 2)]


def test_types_are_known_without_running(engine: DuckDB, tmp_path: Path) -> None:
    schema = engine.schema(plan(chain(tmp_path), ["hit_rate"], parameters={"lowest": "not a number"}))["hit_rate"]
    assert (schema.field("value").type, schema.field("n_items").type) == (pa.float64(), pa.int64())


def test_an_unbound_table_is_named(engine: DuckDB, tmp_path: Path) -> None:
    write(tmp_path, "a", "SELECT run_id FROM class_labels", inputs=["class_labels"])
    with pytest.raises(EngineError, match="class_labels is not bound"):
        engine.evaluate(plan(Catalogue((tmp_path,)), ["a"]))


def test_what_a_plan_computes_stands_in_front_of_what_is_bound(engine: DuckDB, tmp_path: Path) -> None:
    graph = chain(tmp_path)
    engine.bind("hit_counts", pa.table({"run_id": ["x"]}))
    assert rates(engine.evaluate(plan(graph, ["hit_rate"], parameters=LOWEST))["hit_rate"]) == {"r": 2.0, "s": 5.0}
    assert engine.query("SELECT run_id FROM hit_counts").to_pydict() == {"run_id": ["x"]}


def test_names_with_dots_spaces_and_quotes(engine: DuckDB, tmp_path: Path) -> None:
    write(
        tmp_path, "coverage_at_error_0.01", 'SELECT "run id" AS run_id FROM "my ""table"".v1"', inputs=['my "table".v1']
    )
    engine.bind('my "table".v1', pa.table({"run id": ["x"]}))
    out = engine.evaluate(plan(Catalogue((tmp_path,)), ["coverage_at_error_0.01"]))
    assert out["coverage_at_error_0.01"].to_pydict() == {"run_id": ["x"]}


def test_an_output_may_end_as_a_statement_does(engine: DuckDB, tmp_path: Path) -> None:
    write(tmp_path, "a", "SELECT run_id FROM class_predictions WHERE class_index > 2;", inputs=["class_predictions"])
    out = engine.evaluate(plan(Catalogue((tmp_path,)), ["a"]))
    assert sorted(out["a"]["run_id"].to_pylist()) == ["r", "s"]


def test_errors_are_four_lines_without_the_driver(engine: DuckDB, tmp_path: Path) -> None:
    path = write(tmp_path, "a", "SELECT run_idd AS run_id FROM class_predictions", inputs=["class_predictions"])
    with pytest.raises(EngineError) as caught:
        engine.evaluate(plan(Catalogue((tmp_path,)), ["a"]))
    assert caught.value.what == "relation a cannot be evaluated"
    assert caught.value.where == str(path)
    assert "run_idd" in caught.value.found
    assert len(str(caught.value).splitlines()) == 4
    assert caught.value.__suppress_context__


def test_a_statement_without_rows_is_refused(engine: DuckDB) -> None:
    with pytest.raises(EngineError, match="the query cannot be evaluated"):
        engine.query("")


def test_ctrl_c_stops_a_query_and_the_engine_goes_on(engine: DuckDB) -> None:
    # A process started in the background of a script ignores Ctrl-C, and so would every query in it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    press = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    press.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.query("SELECT count(*) AS n FROM range(100000000000) AS t(i) WHERE hash(i) = 1")
        press.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert engine.query("SELECT 1 AS n")["n"].to_pylist() == [1]


def test_dates_do_not_depend_on_the_session(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    with DuckDB(threads=1) as db:
        day = db.query("SELECT CAST(TIMESTAMPTZ '2026-01-01 00:30:00+00' AS DATE) AS day")
    assert str(day["day"].to_pylist()[0]) == "2026-01-01"


def test_a_table_name_is_never_a_python_variable(engine: DuckDB) -> None:
    somewhere = PREDICTIONS
    with pytest.raises(EngineError, match="cannot be evaluated"):
        engine.query("SELECT * FROM somewhere")
    assert somewhere.num_rows == 5


def test_what_is_kept(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    assert kept(plan(graph, ["hit_rate"], parameters=LOWEST)) == {"hit_counts"}
    assert kept(plan(graph, ["hit_counts"], parameters=LOWEST)) == set(), "an output that nobody reads is fetched as is"
    assert kept(plan(graph, ["hit_rate", "hits"], parameters=LOWEST)) == {"hits", "hit_counts"}
    write(tmp_path, "hit_days", "SELECT run_id FROM hits", layer="state", inputs=["hits"], merge={})
    assert kept(plan(Catalogue((tmp_path,)), ["hit_rate", "hit_days"], parameters=LOWEST)) == {"hits", "hit_counts"}


@pytest.mark.parametrize(("wanted", "names"), [(True, {"f", "s"}), (False, {"s"})])
def test_the_author_of_a_relation_decides(tmp_path: Path, wanted: bool, names: set[str]) -> None:
    write(tmp_path, "f", "SELECT 1 AS run_id", materialize=wanted)
    write(tmp_path, "s", "SELECT 1 AS run_id", layer="state", inputs=["f"], merge={})
    write(tmp_path, "t", "SELECT 1 AS run_id", layer="state", inputs=["f", "s"], merge={})
    assert kept(plan(Catalogue((tmp_path,)), ["t"])) == names
    write(tmp_path, "s", "SELECT 1 AS run_id", layer="state", inputs=["f"], merge={}, materialize=False)
    assert kept(plan(Catalogue((tmp_path,)), ["t"])) == names - {"s"}
