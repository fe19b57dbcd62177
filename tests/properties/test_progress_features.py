"""Features of traces: prefix ends, the two ways of computing them, exact decisions, and shards that add up."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isclose, sqrt

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.engines.duckdb import DuckDB
from evalframe.features import long, progress, short
from evalframe.features.prefixes import padded, prefix_ends, query_frames
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from tests.oracles import progress as oracle
from tests.protocols.robometer_frozen.scoring import evaluated, tables, value
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories


@pytest.mark.parametrize("n_frames", [*range(60), 100, 1000, 12345])
def test_prefix_ends_are_truncated_and_reach_the_last_frame(n_frames: int) -> None:
    ends = prefix_ends(n_frames)
    assert list(ends) == oracle.prefix_ends(n_frames)
    assert len(ends) == max(0, min(8, n_frames - 1))
    assert all(a < b for a, b in pairwise(ends))
    if n_frames > 1:
        assert (ends[0], ends[-1]) == (1, n_frames - 1) if n_frames > 2 else ends == (1,)


def test_a_query_shows_the_whole_prefix_or_eight_frames_of_it() -> None:
    assert query_frames(0) == (0,)
    assert query_frames(7) == tuple(range(8))
    assert query_frames(8) == tuple(np.rint(np.linspace(0, 8, 8)).astype(int))
    assert padded(query_frames(2)) == (0, 1, 2, 2, 2, 2, 2, 2)
    for end in range(300):
        frames = query_frames(end)
        assert (frames[0], frames[-1], len(frames)) == (0, end, min(8, end + 1))
        assert len(padded(frames)) == 8


grid = st.integers(0, 20).map(lambda i: Fraction(i, 20))
sequences = st.lists(st.tuples(grid, grid), min_size=1, max_size=8)


def rows(points: list[tuple[Fraction, Fraction]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trace": [0] * len(points),
            "progress": [float(p) for p, _ in points],
            "target": [float(t) for _, t in points],
        },
        schema={"trace": pl.UInt32, "progress": pl.Float64, "target": pl.Float64},
    )


@given(points=sequences.filter(lambda points: len(points) >= 5))
def test_both_ways_of_computing_features_agree(points: list[tuple[Fraction, Fraction]]) -> None:
    one = short.features(rows(points), len(points), with_target=True).row(0, named=True)
    other = long.features(rows(points), with_target=True).row(0, named=True)
    assert set(one) == set(other)
    for name, left in one.items():
        flat = [left, other[name]] if not isinstance(left, list) else [*left, *other[name]]
        half = len(flat) // 2
        for a, b in zip(flat[:half], flat[half:], strict=True):
            assert (a is b is None) or isclose(a, b, rel_tol=1e-12, abs_tol=1e-13), name


@given(points=sequences)
def test_features_are_those_of_exact_arithmetic(points: list[tuple[Fraction, Fraction]]) -> None:
    found = short.features(rows(points), len(points), with_target=True).row(0, named=True)
    v = [p for p, _ in points]
    for i in range(len(v) - 4):
        trend, spread = oracle.trend_and_spread(v[i : i + 5])
        if spread == 0:
            assert found["window_trend"][i] is found["window_pearson"][i] is None
            continue
        assert isclose(found["window_trend"][i], trend, abs_tol=1e-15)
        assert isclose(found["window_pearson"][i], float(trend) / sqrt(spread), abs_tol=1e-13)
    exact = oracle.filter_scores([oracle.Point(i, p, p) for i, p in enumerate(v)])
    for name in ("final", "delta", "slope"):
        expected, column = exact[name], found.get(f"filter_{name}")
        assert (column is None) == (expected is None)
        assert expected is None or isclose(column, expected, abs_tol=1e-14)


@settings(max_examples=200)
@given(v=st.lists(st.integers(-30, 30), min_size=5, max_size=5), places=st.integers(1, 3))
def test_window_decisions_are_those_of_exact_decimals(v: list[int], places: int) -> None:
    """The correlation is exactly 0 or exactly -0.2 often enough here that round-off would decide without units."""
    exact = [Fraction(i, 10**places) for i in v]
    found = short.features(rows([(p, Fraction(0)) for p in exact]), 5, with_target=False).row(0, named=True)
    trend, pearson = found["window_trend"][0], found["window_pearson"][0]
    falls = 0 if trend is None else round(trend * 10**12)
    steep = 0 if pearson is None else round(pearson * 10**12)
    assert (falls <= 0) is oracle.pearson_at_most(exact, Fraction(0))
    assert (steep <= -200_000_000_000) is oracle.pearson_at_most(exact, Fraction(-1, 5))


def test_exact_limits_occur_and_round_off_would_decide_them() -> None:
    """Two hundred thousand windows of tenths: what plain floats get wrong, and what units get right."""
    draws = np.random.default_rng(7).integers(0, 11, (200_000, 5))
    v = draws / 10
    found = short.features(
        pl.DataFrame({"trace": np.repeat(np.arange(len(v)), 5), "progress": v.ravel(), "target": 0.0}),
        5,
        with_target=False,
    )
    trend = found["window_trend"].list.first().fill_null(0.0).to_numpy()
    exact = 2 * (draws[:, 4] - draws[:, 0]) + draws[:, 3] - draws[:, 1]
    assert ((trend <= 0) != (exact <= 0)).any()
    assert np.array_equal(np.rint(trend * 1e12) <= 0, exact <= 0)


def test_spearman_of_ties() -> None:
    given_ = [(Fraction(p), Fraction(t)) for p, t in zip([1, 1, 1, 1, 2], [5, 4, 3, 2, 1], strict=True)]
    assert short.features(rows(given_), 5, with_target=True)["spearman"][0] == pytest.approx(-0.7071067811865476)
    constant = [(Fraction(54, 10), t) for _, t in given_]
    assert short.features(rows(constant), 5, with_target=True)["spearman"][0] is None
    assert long.features(rows(constant), with_target=True)["spearman"][0] is None


@pytest.mark.parametrize("size", [1, 20, 100])
@pytest.mark.parametrize("mixed", [False, True])
def test_features_do_not_depend_on_how_many_points_are_worked_on_together(
    size: int, mixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = trajectories(1, max_points=14, per_outcome=8)
    rows, targets = trace_rows(world), target_rows(world)
    if not mixed:
        rows, targets = rows.sort("trajectory_id", "prefix_index"), targets.sort("trajectory_id", "frame_index")
    whole = tables(rows, targets)["progress_features"]
    parts: list[pl.DataFrame] = []
    of_some = progress._of_some
    monkeypatch.setattr(progress, "_PART", size)
    monkeypatch.setattr(progress, "_of_some", lambda *part: parts.append(of_some(*part)) or parts[-1])
    assert tables(rows, targets)["progress_features"].equals(whole)
    assert (len(parts) > 1) is not mixed


STATES = ("progress_errors", "failure_counts", "failure_scores", "filter_hits_by_trajectory")


@pytest.mark.parametrize("seed", range(3))
def test_states_of_shards_add_up_to_the_whole_bit_for_bit(seed: int) -> None:
    world = trajectories(seed, max_points=14, per_outcome=6)
    run = tables(trace_rows(world), target_rows(world))
    whole = evaluated(run, "robometer-ind", top_k="3")
    features = run["progress_features"]
    shards = [
        features.filter(pa.array([i % 3 == k for i in features["trajectory_index"].to_pylist()])) for k in range(3)
    ]
    ind = protocol("robometer-ind")
    parameters = ind.settings({"top_k": "3"})
    with DuckDB(threads=1) as engine:
        parts = []
        for shard in shards:
            engine.bind("progress_features", shard)
            parts.append(engine.evaluate(plan(catalogue(), STATES, parameters=parameters)))
        merged = {}
        for name in STATES:
            relation = catalogue()[name]
            engine.bind("parts", pa.concat_tables([part[name] for part in parts]))
            sums = ", ".join(f"sum({column}) AS {column}" for column in relation.merge or ())
            grain = ", ".join(relation.grain)
            merged[name] = engine.query(f"SELECT {grain}, {sums} FROM parts GROUP BY {grain}")
        for name, table in merged.items():
            engine.bind(name, table)
        values = engine.evaluate(plan(catalogue(), ind.metrics, parameters=parameters, given=frozenset(STATES)))
    for metric in ind.metrics:
        for stratum in ("all", "task=task 0"):
            assert value(values[metric].to_pylist(), stratum)["value"] == value(whole[metric], stratum)["value"], metric
