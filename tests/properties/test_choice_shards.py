"""Shards, re-import and the order of rows change nothing, bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue
from evalframe.sources.choice import ChoiceRun, read_rows
from tests.oracles import choice as oracle
from tests.properties.choice_worlds import Rows, world
from tests.protocols.kev_choice.scoring import Values, evaluated, run, tables, values

SEEDS = st.integers(0, 2**32)
POLICIES = st.sampled_from(["kev-choice/1", "kev-choice/2"])
RUNS = 42
"""Of one evaluation: planning it costs as much for one run as for all of them."""

BY_ORDER = ("coverage_at_error_0.01", "coverage_at_error_0.05")
"""What the prefix rule makes depend on the order of rows."""


def worlds(seed: int) -> list[Rows]:
    return [world(seed + i) for i in range(RUNS)]


def runs_of(made: list[Rows]) -> list[ChoiceRun]:
    return [run(rows, f"run {i}") for i, rows in enumerate(made)]


@settings(max_examples=3)
@given(seed=SEEDS, policy=POLICIES, parts=st.integers(2, 4))
def test_states_of_shards_merge_to_the_same_numbers(seed: int, policy: str, parts: int) -> None:
    runs = runs_of(worlds(seed))
    metrics = protocol(policy).metrics
    states = [relation.name for relation in catalogue().cluster_states(*metrics)]
    shards = [evaluated([shard(one, part, parts) for one in runs], states, policy) for part in range(parts)]
    with DuckDB(threads=1) as engine:
        merged = {name: merge(engine, name, [found[name] for found in shards]) for name in states}
    whole = evaluated(runs, metrics, policy)
    together = evaluated(runs, metrics, policy, given=merged)
    for metric in metrics:
        assert together[metric].to_pylist() == whole[metric].to_pylist(), metric


def shard(one: ChoiceRun, part: int, parts: int) -> ChoiceRun:
    """The answers of every `parts`-th cluster; the dimension tables are everywhere."""
    answers = one.tables["choice_probabilities"]
    clusters = pc.unique(answers["cluster_id"]).sort().to_pylist()
    mine = pa.array(clusters[part::parts], pa.large_string())
    return replace(
        one, tables={**one.tables, "choice_probabilities": answers.filter(pc.is_in(answers["cluster_id"], mine))}
    )


def merge(engine: DuckDB, name: str, shards: list[pa.Table]) -> pa.Table:
    """Rows of a state added up as its front matter says."""
    relation = catalogue()[name]
    assert relation.merge is not None
    keys = ", ".join(f'"{key}"' for key in relation.grain)
    kinds = {column: "DECIMAL(38, 15)" for column in relation.merge if column.endswith("_sum")}
    columns = ", ".join(
        f"CAST({rule}({column}) AS {kinds.get(column, 'DOUBLE' if rule == 'max' else 'BIGINT')}) AS {column}"
        for column, rule in relation.merge.items()
    )
    engine.bind("shards", pa.concat_tables(shards))
    return engine.query(f"SELECT {keys}, {columns} FROM shards GROUP BY {keys}")


@settings(max_examples=3)
@given(seed=SEEDS, policy=POLICIES)
def test_the_order_of_rows_changes_nothing_but_the_prefix_rule(seed: int, policy: str) -> None:
    made = worlds(seed)
    rng = np.random.default_rng(seed)
    shuffled = [[rows[i] for i in rng.permutation(len(rows))] for rows in made]
    runs, others = runs_of(made), runs_of(shuffled)
    before, after = values(runs, policy), values(others, policy)
    free = BY_ORDER if policy == "kev-choice/1" else ()
    assert without(after, free) == without(before, free)
    for one, other in zip(runs, others, strict=True):
        assert other.dataset_id == one.dataset_id
        assert other.tables["choice_questions"] == one.tables["choice_questions"]
        assert other.tables["choice_cells"] == one.tables["choice_cells"]


@settings(max_examples=3)
@given(seed=SEEDS)
def test_clusters_drawn_several_times_count_several_times(seed: int) -> None:
    """What a bootstrap does: states times how often their cluster was drawn, then the metrics' own SQL."""
    made = worlds(seed)
    draws = {f"g{i}": int(weight) for i, weight in enumerate(np.random.default_rng(seed).integers(0, 3, 100))}
    runs, metrics = runs_of(made), ("choice_accuracy", "nll", "ece", "aurc", "coverage_at_error_0.05", "rps")
    states = [relation.name for relation in catalogue().cluster_states(*metrics)]
    found = evaluated(runs, [*states], pooled=False)
    with DuckDB(threads=1) as engine:
        given = {name: times(engine, name, found[name], draws) for name in states}
    weighted = evaluated(runs, metrics, given=given)
    whole = {
        (metric, row["run_id"]): row
        for metric in metrics
        for row in weighted[metric].to_pylist()
        if row["stratum"] == "all"
    }
    for i, rows in enumerate(made):
        repeated = [{**row, "id": f"{row['id']} {copy}"} for row in rows for copy in range(draws[str(row["group"])])]
        expected = oracle.metrics(oracle.populations(oracle.outcomes(repeated))["all"])
        for metric in metrics:
            name = catalogue()[metric].published
            if name in expected and not isinstance(expected[name], str):
                assert whole[metric, f"run {i}"]["value"] == pytest.approx(expected[name], rel=0, abs=1e-12), name


def times(engine: DuckDB, name: str, state: pa.Table, draws: dict[str, int]) -> pa.Table:
    """The state with every sum multiplied by how often the row's cluster was drawn; clusters never drawn are gone."""
    relation = catalogue()[name]
    weights = pa.table({"cluster_id": list(draws), "weight": list(draws.values())})
    columns = ", ".join(
        f"CAST(s.{column} * w.weight AS {'DECIMAL(38, 15)' if column.endswith('_sum') else 'BIGINT'}) AS {column}"
        for column in relation.merge or {}
    )
    keys = ", ".join(f's."{key}"' for key in relation.grain)
    engine.bind("state", state)
    engine.bind("weights", weights)
    return engine.query(
        f"SELECT {keys}, {columns} FROM state s JOIN weights w ON w.cluster_id = s.cluster_id WHERE w.weight > 0"
    )


def without(found: Values, metrics: tuple[str, ...]) -> Values:
    return {key: row for key, row in found.items() if key[1] not in metrics}


@settings(max_examples=3)
@given(seed=SEEDS)
def test_clusters_left_together_give_the_same_numbers(seed: int) -> None:
    runs = runs_of(worlds(seed))
    metrics = ("choice_accuracy", "nll", "ece", "aurc", "coverage_at_error_0.05", "rps", "family_balanced_accuracy")
    assert values(runs, metrics=metrics, pooled=True) == values(runs, metrics=metrics, pooled=False)


@settings(max_examples=20)
@given(seed=SEEDS, form=st.sampled_from(["list", "lines", "lines with a mark"]))
def test_what_was_stored_reads_back_as_it_is(tmp_path_factory: pytest.TempPathFactory, seed: int, form: str) -> None:
    rows = world(seed)
    first = run(rows)
    path = tmp_path_factory.mktemp("rows") / "rows.json"
    write(path, stored_rows(first), form)
    again = read_rows(path, "r")
    assert again.dataset_id == first.dataset_id
    for name in first.tables:
        left, right = first.tables[name], again.tables[name]
        if name == "choice_probabilities":  # the sum as given is that of what is given now
            left, right = left.drop_columns(["p_sum"]), right.drop_columns(["p_sum"])
        assert right.equals(left), name


def stored_rows(one: ChoiceRun) -> Rows:
    """The rows that the tables of a run came from, with the probabilities as stored."""
    questions = {row["question_index"]: row for row in one.tables["choice_questions"].to_pylist()}
    answers = sorted(one.tables["choice_probabilities"].to_pylist(), key=lambda row: int(row["item_index"]))
    return [{**questions[row["question_index"]], "p": row["p"], "error": row["error"]} for row in answers]


def write(path: Path, rows: list[dict[str, Any]], form: str) -> None:
    text = json.dumps(rows, indent=2) if form == "list" else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8-sig" if form == "lines with a mark" else "utf-8")


def test_a_table_of_runs_holds_each_of_them() -> None:
    """The functions above would prove nothing over no rows."""
    assert len(tables(runs_of(worlds(1)))["choice_probabilities"]) > 100
