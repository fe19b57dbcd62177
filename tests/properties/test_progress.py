"""Progress, failure and filtering agree with the loops of the oracle on random traces full of ties and constants."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import progress as oracle
from tests.protocols.robometer_frozen.scoring import evaluated, tables, value
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories

World = list[oracle.Trajectory]
Found = dict[str, list[dict[str, Any]]]

PROTOCOLS = {"ind": "robometer-ind", "ood": "robometer-ood"}


def close(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-14)


def together(worlds: Sequence[World], label: str, **settings: str) -> Iterator[tuple[World, Found]]:
    """Each world with the rows of its own run and data set, all evaluated at once."""
    made = [tables(trace_rows(world, run_id=f"run {i}"), target_rows(world)) for i, world in enumerate(worlds)]
    found = evaluated({name: pa.concat_tables([one[name] for one in made]) for name in made[0]}, label, **settings)
    for i, world in enumerate(worlds):
        yield world, {name: [row for row in rows if row["run_id"] == f"run {i}"] for name, rows in found.items()}


def worlds_of(
    max_points: tuple[int, ...], grid: tuple[int, ...], count: int = 5, **more: Any
) -> st.SearchStrategy[list[World]]:
    """Worlds of different shapes, for one evaluation: planning it costs as much for one run as for all of them."""
    one = st.builds(
        partial(trajectories, **more),
        st.integers(0, 10**6),
        max_points=st.sampled_from(max_points),
        grid=st.sampled_from(grid),
    )
    return st.lists(one, min_size=count, max_size=count)


@settings(max_examples=5)
@given(worlds=worlds_of((4, 8, 14), (2, 5, 20)))
def test_progress_errors_are_those_of_the_oracle(worlds: list[World]) -> None:
    for world, found in together(worlds, "robometer-ind", top_k="1"):
        agree_on_errors(world, found)


def agree_on_errors(world: World, found: Found) -> None:
    rows = {row["trajectory_id"]: row for row in found["progress_calls"]}
    assert set(rows) == {t.id for t in world}
    for t in world:
        row = rows[t.id]
        assert row["status"] == oracle.status(t)
        scored = oracle.status(t) == "scored"
        assert close(row["mse"], float(oracle.mse(t)) if scored else None), t
        assert close(row["mae"], float(oracle.mae(t)) if scored else None), t
        assert close(row["spearman"], oracle.spearman(t) if scored else None), t
    for stratum in ("all", "task=task 1"):
        here = [t for t in world if stratum in ("all", f"task={t.task}")]
        scored = [t for t in here if oracle.status(t) == "scored"]
        ranks = [rho for t in scored if (rho := oracle.spearman(t)) is not None]
        mse, spearman = value(found["progress_mse"], stratum), value(found["progress_spearman"], stratum)
        assert close(mse["value"], fmean(float(oracle.mse(t)) for t in scored) if scored else None)
        assert close(spearman["value"], fmean(ranks) if ranks else None)
        failed = sum(oracle.status(t) == "failed" for t in here)
        assert (mse["n_items"], mse["n_failed"], mse["denominator"]) == (len(here), failed, len(scored))
        assert spearman["n_excluded"] + spearman["denominator"] == len(here)


@pytest.mark.parametrize("rule", ["ind", "ood"])
@pytest.mark.parametrize("window", ["any", "last"])
@settings(max_examples=2)
@given(worlds=worlds_of((5, 8, 14), (5, 20), max_frames=20))
def test_failure_calls_are_those_of_the_oracle(rule: str, window: str, worlds: list[World]) -> None:
    for world, found in together(worlds, PROTOCOLS[rule], top_k="1", window=window):
        agree_on_calls(world, found, rule, window)


def agree_on_calls(world: World, found: Found, rule: str, window: str) -> None:
    rows = {row["trajectory_id"]: row for row in found["failure_calls"]}
    calls = {t.id: oracle.call(t, rule, window) for t in world}
    for t in world:
        row, expected = rows[t.id], calls[t.id]
        if expected is None:
            assert row["called_failure"] is None
            continue
        assert row["called_failure"] is expected["called"], t
        assert row["fired_window"] == expected["fired_window"], t
        assert row["because"] == expected["because"], t
    called = [(t.outcome == "failure", calls[t.id]["called"]) for t in world if calls[t.id]]
    tp, fp = called.count((True, True)), called.count((False, True))
    fn, tn = called.count((True, False)), called.count((False, False))
    ratio = {
        "failure_precision": (tp, tp + fp),
        "failure_recall": (tp, tp + fn),
        "failure_f1": (2 * tp, 2 * tp + fp + fn),
        "failure_accuracy": (tp + tn, tp + fp + fn + tn),
    }
    for name, (numerator, denominator) in ratio.items():
        row = value(found[name])
        assert (row["numerator"], row["denominator"]) == (numerator, denominator)
        assert row["value"] == (numerator / denominator if denominator else None)
    scores = oracle.failure_scores(world)
    assert close(value(found["failure_roc_auc"])["value"], oracle.roc_auc(scores))
    assert close(value(found["failure_ap"])["value"], oracle.average_precision(scores))


@settings(max_examples=6)
@given(
    k=st.integers(1, 12),
    whole=worlds_of((3, 8, 14), (2, 10), 2, per_outcome=5, failing=0.0),
    failing=worlds_of((3, 8, 14), (2, 10), 2, per_outcome=5, failing=0.3),
)
def test_filtering_is_that_of_the_oracle(k: int, whole: list[World], failing: list[World]) -> None:
    for world, found in together(whole + failing, "robometer-ood", top_k=str(k)):
        agree_on_filtering(world, found, k)


def agree_on_filtering(world: World, found: Found, k: int) -> None:
    tasks = sorted({t.task for t in world})
    pools = {task: [t for t in world if t.traces.get(task)] for task in tasks}
    for score in oracle.SCORES:
        rows = found[f"top_k_{score}"]
        per_task = [oracle.top_k(world, task, score, k) for task in tasks]
        for task, expected in zip(tasks, per_task, strict=True):
            row = value(rows, f"task={task}")
            enough = len(pools[task]) >= k
            assert close(row["value"], float(expected) if enough else None), (score, task)
            assert row["n_excluded"] == len(world) - len(pools[task])
        overall = value(rows)
        enough = all(len(pool) >= k for pool in pools.values())
        assert close(overall["value"], float(sum(per_task) / len(per_task)) if enough else None), score
    shares = {}
    for row in found["filter_ranks"]:
        key = (row["query_task"], row["score"])
        shares[key] = shares.get(key, 0.0) + row["share_above_cut"]
    assert all(close(total, min(k, len(pools[task]))) for (task, _), total in shares.items())


@pytest.mark.parametrize("seed", range(3))
def test_row_order_changes_nothing(seed: int) -> None:
    world = trajectories(seed, max_points=14)
    plain = evaluated(tables(trace_rows(world), target_rows(world)), "robometer-ind", top_k="2")
    shuffled = evaluated(
        tables(
            trace_rows(world).sample(fraction=1, shuffle=True, seed=seed),
            target_rows(random.Random(seed).sample(world, len(world))),
        ),
        "robometer-ind",
        top_k="2",
    )
    for name, rows in plain.items():
        assert sorted(map(repr, rows)) == sorted(map(repr, shuffled[name])), name
