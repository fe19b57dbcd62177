"""The SQL of times gives what sums of fractions give, for any works, roles and rounds, whole or in shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.contracts import contract, validate
from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from tests.oracles.timing import Figure, Timed, figures

TIMING = protocol("timing/1")
# Up to a fortnight, in nanoseconds: what a double says of such seconds is within half a nanosecond.
NANOSECONDS = st.integers(0, 10**15)
ROLES = {"sort: ours": "ours", "sort: peer": "other", "sort: scan": "floor", "build: ours": "once"}


@st.composite
def rounds(draw: st.DrawFn) -> list[Timed]:
    keys = draw(st.lists(st.tuples(st.sampled_from(list(ROLES)), st.integers(0, 11)), min_size=1, unique=True))
    return [
        Timed(
            work,
            ROLES[work],
            place,
            draw(NANOSECONDS),
            draw(NANOSECONDS),
            draw(st.none() | st.just(0) | NANOSECONDS),
            draw(st.none() | st.integers(0, 2**52)),
        )
        for work, place in keys
    ]


RUNS = st.lists(rounds(), min_size=4, max_size=4)
"""Of one evaluation: planning it costs as much for one run as for all of them."""


def table(timed: Sequence[Timed], run_id: str) -> pa.Table:
    rows = [
        {
            "run_id": run_id,
            "item_index": index,
            "item_id": f"{each.work}, round {each.round}",
            "work": each.work,
            "role": each.role,
            "round": each.round,
            "seconds": each.elapsed / 1e9,
            "processor_seconds": each.processor / 1e9,
            "floor_seconds": None if each.floor is None else each.floor / 1e9,
            "memory_bytes": each.memory,
        }
        for index, each in enumerate(timed)
    ]
    return pa.Table.from_pylist(rows, schema=contract("timings").arrow_schema())


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as one:
        yield one


def tables(runs: Sequence[Sequence[Timed]]) -> list[pa.Table]:
    return [table(timed, f"run {number}") for number, timed in enumerate(runs)]


def asked(engine: DuckDB, given: frozenset[str] = frozenset()) -> dict[tuple[str, str, str], Figure]:
    wanted = plan(catalogue(), TIMING.metrics, parameters=TIMING.settings(), given=given)
    return {
        (row["run_id"], metric, row["stratum"]): Figure(row["value"], row["reason"], row["n_items"], row["n_excluded"])
        for metric, found in engine.evaluate(wanted).items()
        for row in found.to_pylist()
    }


@settings(max_examples=10)
@given(runs=RUNS)
def test_the_sql_gives_what_fractions_give(engine: DuckDB, runs: list[list[Timed]]) -> None:
    made = pa.concat_tables(tables(runs))
    assert validate(contract("timings"), made).ok
    engine.bind("timings", made)
    found = asked(engine)
    expected = {(f"run {i}", *key): figure for i, timed in enumerate(runs) for key, figure in figures(timed).items()}
    assert set(found) == set(expected)
    for key, figure in expected.items():
        value = found[key].value
        assert replace(found[key], value=None) == replace(figure, value=None)
        assert value is None if figure.value is None else value == pytest.approx(figure.value, rel=1e-15)


@settings(max_examples=4)
@given(runs=RUNS, at=st.integers(0, 44))
def test_states_of_two_shards_make_the_same_numbers(engine: DuckDB, runs: list[list[Timed]], at: int) -> None:
    made = tables(runs)
    engine.bind("timings", pa.concat_tables(made))
    whole = asked(engine)
    states = []
    for shard in ([one.slice(0, at) for one in made], [one.slice(at) for one in made]):
        engine.bind("timings", pa.concat_tables(shard))
        states.append(engine.evaluate(plan(catalogue(), ["timing_sums"], parameters=TIMING.settings()))["timing_sums"])
    engine.bind("timing_sums", pa.concat_tables(states))
    assert asked(engine, frozenset({"timing_sums"})) == whole
    engine.unbind("timing_sums")
