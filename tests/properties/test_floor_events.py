"""Every event of thousands of random timelines is the oracle's: how it was classed, how it ended, the score it got."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols.easycom_floor import TIMINGS, by_timing
from evalframe.relations import catalogue, plan
from tests.oracles import floor as oracle
from tests.properties.floor_worlds import random_session, world_tables

COLUMNS = (
    "segment_first_row",
    "decision_row",
    "competing_row",
    "transition_row",
    "state",
    "outcome",
    "score",
    "truncated",
    "stratum",
)


def sql_events(sessions: list[oracle.Session], timing: str, **settings: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """What the relations make of `sessions`, by (session, kind, boundary, horizon)."""
    names = [s.name for s in sessions]
    with DuckDB(threads=1) as engine:
        for name, table in world_tables(sessions, [(names, [])], {}).items():
            engine.bind(name, table)
        chosen = by_timing(timing).settings(settings)
        rows = engine.evaluate(plan(catalogue(), ["floor_events"], parameters=chosen))["floor_events"].to_pylist()
    found = {
        (r["session"], r["kind"], r["boundary_row"], r["horizon_steps"]): tuple(r[column] for column in COLUMNS)
        for r in rows
    }
    assert len(found) == len(rows)
    return found


def oracle_events(sessions: list[oracle.Session], timing: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    annotated = any(s.addressee for s in sessions)
    return {
        (e.session, e.kind, e.boundary, e.horizon): (
            e.segment,
            e.decision,
            e.competing,
            e.transition,
            e.state,
            e.outcome,
            e.score,
            e.truncated,
            e.stratum if annotated else None,
        )
        for s in sessions
        for e in oracle.events(s, timing)
    }


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_timelines(timing: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 6])
    sessions = [random_session(rng, f"s{i:04d}", annotated=seed % 2 == 1) for i in range(500)]
    found, wanted = sql_events(sessions, timing), oracle_events(sessions, timing)
    assert found == wanted
    # The draw reaches every way an event can be classed; without this the comparison could be of nothing.
    classed = Counter((key[1], row[4]) for key, row in wanted.items())
    ways = {oracle.CENSORED, oracle.INVALID, oracle.SCORED} | ({oracle.EMPTY} if timing == oracle.POST else set())
    assert {way for _, way in classed} == ways
    assert min(classed.values()) > 5


@st.composite
def small_session(draw: st.DrawFn, name: str) -> oracle.Session:
    """Small enough to be read: at most one cut, at most six holes."""
    target = draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=16))
    cut = draw(st.integers(0, 16))
    holes = draw(st.sets(st.tuples(st.integers(0, 15), st.integers(0, 9)), max_size=6))
    n = len(target)
    segments = [(0, cut), (cut, n - cut)] if 0 < cut < n else [(0, n)]
    pred = [[((7 * t + 3 * j) % 11) / 10 for j in range(10)] for t in range(n)]
    valid = [[(t, j) not in holes for j in range(10)] for t in range(n)]
    return oracle.Session(name, target, pred, valid, segments)


@settings(max_examples=6)
@given(sessions=st.tuples(*(small_session(f"s{i:02d}") for i in range(12))))
def test_small_timelines(sessions: tuple[oracle.Session, ...]) -> None:
    """Twelve at a time, since one costs as much; what differs is told by session."""
    for timing in TIMINGS:
        assert sql_events(list(sessions), timing) == oracle_events(list(sessions), timing)


def test_the_wearer_may_be_read_on_both_sides() -> None:
    """The named variant keeps exactly the candidates at whose boundary the wearer does not change."""
    rng = np.random.default_rng(66)
    sessions = [random_session(rng, f"s{i:04d}") for i in range(200)]
    target = {s.name: s.target for s in sessions}
    default = sql_events(sessions, oracle.PRE)
    kept = {key: row for key, row in default.items() if target[key[0]][key[2] - 1][0] == target[key[0]][key[2]][0]}
    assert sql_events(sessions, oracle.PRE, wearer_read_at="both_sides") == kept
    assert 0 < len(kept) < len(default)
    assert not any(row[5] for key, row in kept.items() if key[3] == 1)  # no outcome within the first row


@pytest.mark.parametrize("timing", TIMINGS)
def test_the_order_of_rows_does_not_matter(timing: str) -> None:
    rng = np.random.default_rng(77)
    sessions = [random_session(rng, f"s{i:04d}") for i in range(60)]
    tables = world_tables(sessions, [([s.name for s in sessions], [])], {})
    chosen = plan(catalogue(), ["floor_events"], parameters=by_timing(timing).settings())
    answers = []
    for shuffled in (False, True):
        with DuckDB(threads=2) as engine:
            for name, table in tables.items():
                engine.bind(name, table.take(rng.permutation(len(table))) if shuffled else table)
            events = engine.evaluate(chosen)["floor_events"]
        answers.append(events.sort_by([(n, "ascending") for n in ("session", "kind", "boundary_row", "horizon_steps")]))
    assert answers[0].equals(answers[1])
