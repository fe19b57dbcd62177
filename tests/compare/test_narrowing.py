"""Only what is asked for is resampled, and never less than a metric reads."""

from __future__ import annotations

from pathlib import Path

from evalframe.compare.cells import Cell
from evalframe.compare.request import Request
from evalframe.compare.resampling import Narrowing
from evalframe.relations import catalogue
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import add_run, items

ALL_HORIZONS = """/* ---
name: response_share
layer: metric
title: Share of responses over all horizons
inputs: [floor_event_counts]
grain: [run_id, stratum]
unit: proportion
better: none
denominator: data
parameters: []
definition: Scored responses of all horizons together, divided by the scored candidates.
--- */
SELECT
    run_id,
    stratum,
    CAST(sum(n_positive) AS DOUBLE) / CAST(sum(n_positive + n_negative) AS DOUBLE) AS value,
    CAST(sum(n_positive) AS BIGINT) AS numerator,
    CAST(sum(n_positive + n_negative) AS BIGINT) AS denominator,
    CAST(sum(n_candidates) AS BIGINT) AS n_items,
    CAST(0 AS BIGINT) AS n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    'ok' AS status,
    CAST(NULL AS VARCHAR) AS reason
FROM floor_event_counts
WHERE kind = 'response' AND population = 'observed'
GROUP BY run_id, stratum
"""


def test_what_is_asked_for_twice_is_asked_for_once(store: Store) -> None:
    """A row that stood twice would be two members of Holm's family, and double its p."""
    for name in ("a", "b"):
        add_run(store, name, items(40, 6, skill=0.7, seed=ord(name)))
    once = compare(store, "a", ["b"], replicates=20, metrics="accuracy", strata="all")
    twice = compare(store, "a", ["b"], replicates=20, metrics=["accuracy"] * 2, strata=["all"] * 2)
    assert twice.to_pylist() == once.to_pylist()
    assert twice.outcome.family == once.outcome.family
    assert Request("a", ("b",), horizons=(1.0, 2.0, 1.0), recalls=(0.8, 0.8)).horizons == (1.0, 2.0)


def test_cells_without_a_horizon_keep_every_horizon() -> None:
    narrow = Narrowing.to([Cell("all", 1.0, 0.8), Cell("task=a", 2.0, 0.8)])
    assert narrow == Narrowing(frozenset({"all", "task=a"}), frozenset({1.0, 2.0}), frozenset({0.8}))
    assert Narrowing.to([Cell("all", 1.0, 0.8), Cell("all")]) == Narrowing(frozenset({"all"}), None, None)


def test_a_metric_over_all_horizons_beside_one_horizon_of_others(forecasts: Store, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "response_share.sql").write_text(ALL_HORIZONS)
    catalogue(own)
    found = compare(
        forecasts,
        "a",
        ["b"],
        replicates=20,
        horizons=[1.0],
        metrics=["response_share", "response_ap", "yield_recall"],
        relations=own,
    )
    rows = {row["metric"]: row for row in found.to_pylist()}
    assert {metric: row["horizon_s"] for metric, row in rows.items()} == {
        "response_share": None,
        "response_ap": 1.0,
        "yield_recall": 1.0,
    }
    share = rows["response_share"]
    counts = [r for r in forecasts.read("floor_events", runs=["a"]).to_pylist() if r["kind"] == "response"]
    scored = [r["outcome"] for r in counts if r["role"] == "evaluation" and r["state"] == "scored"]
    assert (share["baseline"], share["change"], share["status"]) == (sum(scored) / len(scored), 0.0, "ok")
