"""Each rule of sql/ refuses what it names, and a sound chain passes them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalframe.engines.duckdb import DuckDB
from evalframe.errors import RelationError
from evalframe.relations import Catalogue
from evalframe.relations.lint import faults, parameters_read
from tests.relations.writing import METRIC_TAIL, chain, write

TABLES = ("class_predictions", "class_labels", "runs")


@pytest.fixture(scope="module")
def parser() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as engine:
        yield engine


def found(parser: DuckDB, folder: Path, name: str) -> list[str]:
    return [f"{fault.what}: {fault.found}" for fault in faults(Catalogue((folder,)), parser, TABLES, [name])]


def test_a_sound_chain_passes(parser: DuckDB, tmp_path: Path) -> None:
    graph = chain(tmp_path)
    assert [str(fault) for fault in faults(graph, parser, TABLES)] == []
    graph.check(parser)


def test_check_raises_the_first_fault_with_its_file(parser: DuckDB, tmp_path: Path) -> None:
    path = write(tmp_path, "a", "SELECT * FROM runs", inputs=["runs"])
    with pytest.raises(RelationError, match="relation a: star") as caught:
        Catalogue((tmp_path,)).check(parser)
    assert caught.value.where == str(path)


SELECT = "SELECT run_id, {} AS x FROM runs"

EVERYWHERE = [
    ("SELECT * FROM runs", "star: *"),
    ("FROM runs", "star: "),
    ("SELECT r.* FROM runs AS r", "star: r.*"),
    (SELECT.format("?"), "bind parameter: ?"),
    (SELECT.format("$one"), "bind parameter: $one"),
    (SELECT.format("random()"), "unstable value: random()"),
    (SELECT.format("current_date"), "unstable value: current_date"),
    (SELECT.format("first(run_id)"), "order-dependent aggregate: first(run_id)"),
    ("SELECT run_id FROM runs, read_csv('/etc/passwd')", "file or engine function: read_csv(...)"),
    ("SELECT r.run_id FROM runs AS r POSITIONAL JOIN runs AS o", "positional join: "),
    ("WITH a AS (COPY runs TO 'x') SELECT run_id FROM runs", "not a select: COPY"),
    ("WITH a AS (DELETE FROM runs RETURNING run_id) SELECT run_id FROM runs", "not a select: DELETE"),
    ("SELECT run_id FROM runs;", "a body ends with a semicolon: ;"),
    ("SELECT run_id FROM runs; SELECT 1 AS x", "the text is not one query: 2 statements"),
    ("DROP TABLE runs", "the text is not one query: "),
    ("SELECT {{ column }} FROM runs", "the text is not one query: "),
    ("WITH runs AS (SELECT 1 AS run_id) SELECT run_id FROM runs", "a CTE has the name of a relation or table: runs"),
    ("SELECT run_id, 1 FROM runs", "a result column has no name of its own: run_id, ?"),
    ("SELECT run_id, 1 AS run_id FROM runs", "a result column has no name of its own: run_id, run_id"),
    ("SELECT system FROM runs", "result columns are not those declared: system"),
    ("SELECT run_id FROM class_labels", "declared inputs are not what the query reads: runs"),
    ("SELECT run_id FROM runs, 'secret.csv'", "declared inputs are not what the query reads: runs"),
    ("SELECT run_id FROM main.runs", "declared inputs are not what the query reads: runs"),
    (
        SELECT.format("(SELECT value FROM protocol_parameters WHERE name = 'floor')"),
        "declared parameters are not what the query reads: none",
    ),
    ("SELECT r.run_id FROM runs AS r, protocol_parameters AS p", "protocol_parameters is read in another way: "),
]


@pytest.mark.parametrize(("body", "fault"), EVERYWHERE)
def test_refused_in_every_layer(parser: DuckDB, tmp_path: Path, body: str, fault: str) -> None:
    write(tmp_path, "a", body, inputs=["runs"])
    assert any(line.startswith(fault) for line in found(parser, tmp_path, "a")), found(parser, tmp_path, "a")


ABOVE_FACTS = [
    (SELECT.format("n // 2"), "integer division: n // 2"),
    (SELECT.format("sum(n) / 2"), "uncast division: sum(n) / 2"),
    (SELECT.format("2.5 * n"), "decimal literal: 2.5"),
    (SELECT.format("list_transform(l, lambda i: i + 1)"), "lambda: lambda i: i + 1"),
    (SELECT.format("[i FOR i IN l]"), "lambda: "),
    (SELECT.format("l[1:2]"), "slice: [1:2]"),
    (SELECT.format("string_agg(a, ',' ORDER BY a NULLS LAST)"), "ordered aggregate: string_agg("),
    ("SELECT r.run_id FROM runs AS r ASOF JOIN class_labels AS l ON r.a >= l.a", "asof join: "),
    ("SELECT run_id, count(a) AS x FROM runs GROUP BY ALL", "group by all: "),
    (SELECT.format("row_number() OVER (ORDER BY a)"), "nulls unplaced: a"),
    ("SELECT run_id FROM runs ORDER BY run_id", "nulls unplaced: run_id"),
    (
        SELECT.format("sum(n) OVER (PARTITION BY run_id ORDER BY a NULLS LAST)"),
        "a window's frame is not explicit: sum(...) OVER (PARTITION BY run_id ORDER BY a NULLS LAST)",
    ),
    (
        "SELECT run_id, sum(n) OVER (w ROWS UNBOUNDED PRECEDING) AS x FROM runs "
        "WINDOW w AS (PARTITION BY run_id ORDER BY a NULLS LAST)",
        "a window's frame is not explicit: OVER (w ROWS UNBOUNDED PRECEDING)",
    ),
]


@pytest.mark.parametrize(("body", "fault"), ABOVE_FACTS)
def test_refused_above_facts_only(parser: DuckDB, tmp_path: Path, body: str, fault: str) -> None:
    inputs = ["runs", "class_labels"] if "class_labels" in body else ["runs"]
    write(tmp_path, "a", body, layer="state", inputs=inputs, merge={"x": "sum"})
    write(tmp_path, "b", body, layer="fact", inputs=inputs)
    assert any(line.startswith(fault) for line in found(parser, tmp_path, "a")), found(parser, tmp_path, "a")
    assert found(parser, tmp_path, "b") == []


PORTABLE = [
    SELECT.format("CAST(n AS DOUBLE) / m"),
    SELECT.format("n / CAST(m AS DOUBLE)"),
    SELECT.format("(CAST(a AS DOUBLE) - b) / m"),
    SELECT.format("coalesce(CAST(a AS DOUBLE), b) / m"),
    SELECT.format("CASE WHEN m = 0 THEN NULL ELSE CAST(a AS DOUBLE) END / m"),
    SELECT.format("sum(CAST(a AS DOUBLE)) / count(*)"),
    SELECT.format("CAST(2.5 AS DOUBLE) * n + 2.5::DOUBLE + 1e-9"),
    SELECT.format("CAST(2.5 AS DECIMAL(38, 15))"),
    SELECT.format("count(*)"),
    SELECT.format("rank() OVER (PARTITION BY run_id ORDER BY a DESC NULLS LAST)"),
    SELECT.format("sum(n) FILTER (WHERE a > 0) OVER (ORDER BY a NULLS LAST ROWS UNBOUNDED PRECEDING)"),
    SELECT.format("sum(n) OVER (PARTITION BY run_id)"),
    "SELECT run_id, sum(n) OVER w AS x FROM runs WINDOW w AS (ORDER BY a NULLS LAST RANGE UNBOUNDED PRECEDING)",
]


@pytest.mark.parametrize("body", PORTABLE)
def test_portable_text_passes(parser: DuckDB, tmp_path: Path, body: str) -> None:
    write(tmp_path, "a", body, layer="state", inputs=["runs"], merge={"x": "sum"})
    assert found(parser, tmp_path, "a") == []


LAYERS: list[tuple[str, str, bool]] = [
    ("fact", "fact", True),
    ("fact", "state", False),
    ("fact", "metric", False),
    ("state", "state", True),
    ("state", "metric", False),
    ("metric", "fact", False),
    ("metric", "view", False),
    ("audit", "metric", True),
    ("audit", "compare", False),
    ("compare", "metric", True),
    ("view", "compare", True),
    ("view", "view", False),
]


@pytest.mark.parametrize(("reader", "read", "allowed"), LAYERS)
def test_layers_point_one_way(parser: DuckDB, tmp_path: Path, reader: str, read: str, allowed: bool) -> None:
    write(tmp_path, "below", "SELECT 1 AS run_id", layer=read)
    write(tmp_path, "above", "SELECT run_id FROM below", layer=reader, inputs=["below"])
    refused = [line for line in found(parser, tmp_path, "above") if "layer it may not read" in line]
    assert refused == ([] if allowed else [f"an input is of a layer it may not read: below ({read})"])


def test_an_input_must_exist(parser: DuckDB, tmp_path: Path) -> None:
    write(tmp_path, "a", "SELECT run_id FROM nothing", inputs=["nothing"])
    assert found(parser, tmp_path, "a") == ["an input does not exist: nothing"]


def test_only_stored_layers_share_a_name_with_a_contract(parser: DuckDB, tmp_path: Path) -> None:
    write(tmp_path, "runs", "SELECT 1 AS run_id", layer="view")
    assert found(parser, tmp_path, "runs") == ["a contract table has this name: runs"]
    write(tmp_path, "runs", "SELECT 1 AS run_id", layer="fact")
    assert found(parser, tmp_path, "runs") == []


def test_a_metric_yields_its_columns_in_order(parser: DuckDB, tmp_path: Path) -> None:
    chain(tmp_path)
    inputs: dict[str, Any] = {"layer": "metric", "inputs": ["hit_counts"], "grain": ["run_id", "stratum"]}
    body = f"SELECT stratum, run_id, CAST(1 AS DOUBLE) AS value, {METRIC_TAIL} FROM hit_counts GROUP BY run_id, stratum"
    write(tmp_path, "swapped", body, **inputs)
    write(tmp_path, "short", "SELECT run_id, stratum, CAST(1 AS DOUBLE) AS value FROM hit_counts", **inputs)
    assert any("result columns are not those declared" in line for line in found(parser, tmp_path, "swapped"))
    assert any("result columns are not those declared" in line for line in found(parser, tmp_path, "short"))


def test_a_metric_stands_on_a_state_per_cluster(parser: DuckDB, tmp_path: Path) -> None:
    body = f"SELECT run_id, CAST(1 AS DOUBLE) AS value, {METRIC_TAIL} FROM runs GROUP BY run_id"
    write(tmp_path, "bare", body, layer="metric", inputs=["runs"])
    assert any("no state per cluster" in line for line in found(parser, tmp_path, "bare"))


def test_a_resampled_state_yields_keys_and_sums_only(parser: DuckDB, tmp_path: Path) -> None:
    body = "SELECT run_id, cluster_id, count(*) AS n, CAST(1 AS DOUBLE) AS mean FROM runs GROUP BY run_id, cluster_id"
    head: dict[str, Any] = {"layer": "state", "inputs": ["runs"], "merge": {"n": "sum"}}
    write(tmp_path, "clustered", body, grain=["run_id", "cluster_id"], **head)
    write(tmp_path, "derived", body, grain=["run_id"], **head)
    assert any("result columns" in line for line in found(parser, tmp_path, "clustered"))
    assert found(parser, tmp_path, "derived") == []


def test_parameters_are_read_by_scalar_subquery() -> None:
    one = "SELECT CAST((SELECT value FROM protocol_parameters WHERE name = 'a') AS DOUBLE) AS x"
    aliased = "SELECT (SELECT p.value FROM protocol_parameters AS p WHERE p.name = 'b') AS x"
    assert parameters_read(one + " UNION ALL " + aliased) == ({"a", "b"}, False)
    assert parameters_read("SELECT value FROM protocol_parameters WHERE name = 'a' OR 1 = 1") == (set(), True)
    assert parameters_read("SELECT 1 -- protocol_parameters") == (set(), False)
