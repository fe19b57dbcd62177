"""Runs in order, among those that answer one question."""

from pathlib import Path

import pytest

from evalframe.contracts import contract, from_rows
from evalframe.errors import UnknownName, UsageError
from evalframe.store import Store
from evalframe.verbs.compare import compare
from evalframe.verbs.leaderboard import leaderboard
from tests.compare.building import Item, add_run, items


def answers(right: int, of: int = 40) -> list[Item]:
    return [Item(f"w{i:02d}", f"p{i % 10}", i % 2, i % 2 if i < right else 1 - i % 2) for i in range(of)]


def test_best_first_and_equal_values_share_a_rank(store: Store) -> None:
    for name, right in (("low", 10), ("twin", 30), ("other-twin", 30), ("top", 35)):
        add_run(store, name, answers(right))
    rows = leaderboard(store, metric="accuracy").to_pylist()
    assert [(r["rank"], r["run_id"], r["value"]) for r in rows] == [
        (1, "top", 35 / 40),
        (2, "other-twin", 30 / 40),
        (2, "twin", 30 / 40),
        (4, "low", 10 / 40),
    ]
    assert [r["from_best"] for r in rows] == pytest.approx([0.0, -0.125, -0.125, -0.625])


def test_who_is_tied_with_the_best_is_what_compare_says(store: Store) -> None:
    rows = items(300, 25, skill=0.8, seed=1)
    slips = [i for i, row in enumerate(rows) if row.target == row.predicted][:2]
    add_run(store, "a", rows)
    add_run(store, "b", [r._replace(predicted=(r.target + 1) % 3) if i in slips else r for i, r in enumerate(rows)])
    add_run(store, "c", items(300, 25, skill=0.4, seed=3))
    board = leaderboard(store, metric="accuracy")
    best, *others = board.to_pylist()
    assert (best["tied_with_best"], best["from_best_low"]) == (True, None)
    for row in others:
        found = compare(store, best["run_id"], [row["run_id"]], replicates=2_000, metrics=["accuracy"]).to_pylist()[0]
        assert (row["from_best_low"], row["from_best_high"]) == (found["ci_low"], found["ci_high"])
        assert row["tied_with_best"] is (found["ci_low"] <= 0 <= found["ci_high"])
    assert [row["tied_with_best"] for row in others] == [True, False]
    assert "not separable from the best: the 95 %" in repr(board)


def test_other_questions_stand_on_other_boards(store: Store) -> None:
    add_run(store, "a", answers(30))
    add_run(store, "b", answers(20))
    add_run(store, "excluding", answers(35), settings={"failed": "excluded"})
    add_run(store, "other-windows", answers(38, of=38))
    board = leaderboard(store, metric="accuracy")
    found = [(r["board"], r["rank"], r["run_id"]) for r in board.to_pylist()]
    assert found == [(1, 1, "a"), (1, 2, "b"), (2, 1, "excluding"), (3, 1, "other-windows")]
    assert "3 boards" in repr(board)


def test_a_run_scored_under_two_settings_stands_on_both_boards(store: Store) -> None:
    add_run(store, "a", answers(30))
    add_run(store, "a", answers(30), settings={"failed": "excluded"})
    add_run(store, "b", answers(20))
    rows = leaderboard(store, metric="accuracy").to_pylist()
    assert [(r["board"], r["rank"], r["run_id"]) for r in rows] == [(1, 1, "a"), (1, 2, "b"), (2, 1, "a")]


def test_a_parameter_that_a_metric_does_not_read_splits_nothing(store: Store) -> None:
    """Boards are made of metric fingerprints, not of protocol fingerprints."""
    add_run(store, "a", answers(30))
    fingerprints = {r["metric_fingerprint"] for r in leaderboard(store, metric="accuracy").to_pylist()}
    stored = {r["metric_fingerprint"] for r in store.read("metric_values").to_pylist() if r["metric"] == "accuracy"}
    assert fingerprints == stored


def test_tainted_runs_are_left_out_and_counted(store: Store) -> None:
    add_run(store, "a", answers(30))
    add_run(store, "bent", answers(40), taint="in sample")
    board = leaderboard(store, metric="accuracy")
    assert [r["run_id"] for r in board.to_pylist()] == ["a"]
    assert board.n_tainted == 1
    assert "1 tainted run is left out" in repr(board)


def test_means_over_a_tag(store: Store) -> None:
    for method, right in (("x", 20), ("x", 30), ("y", 28)):
        add_run(store, f"{method}{right}", answers(right), tags={"method": method})
    rows = leaderboard(store, metric="accuracy", by="method").to_pylist()
    assert [(r["method"], r["value"], r["n_runs"]) for r in rows] == [("y", 28 / 40, 1), ("x", 25 / 40, 2)]
    assert leaderboard(store, metric="accuracy", where={"method": "y"}).to_pylist()[0]["run_id"] == "y28"


def record_values(store: Store, run: str) -> None:
    """Accuracy of `run` in a frozen catalogue, .9, and in a sidecar, .99."""
    row = {
        "run_id": run,
        "metric": "accuracy",
        "stratum": "all",
        "value": 0.9,
        "status": "ok",
        "tainted": False,
        "unit": "proportion",
        "better": "higher",
        "origin": "frozen_catalogue",
        "claimed_protocol": "wisp-har/1",
        "source_digest": "0" * 64,
    }
    sidecar = {**row, "value": 0.99, "origin": "sidecar", "source_digest": "1" * 64}
    table = from_rows(contract("metric_values"), [row, sidecar])
    store.write_record("metric_values", "catalogue", table, inputs={"sha256": "0"}, runs=[run])


def test_a_recorded_value_is_the_authority(store: Store) -> None:
    add_run(store, "a", answers(30))
    add_run(store, "b", answers(20))
    record_values(store, "b")
    rows = leaderboard(store, metric="accuracy").to_pylist()
    assert [(r["run_id"], r["value"], r["origin"]) for r in rows] == [
        ("b", 0.9, "frozen_catalogue"),
        ("a", 0.75, "rescored_saved_predictions"),
    ]
    found = compare(store, "a", ["b"], replicates=20, metrics=["accuracy"]).to_pylist()[0]
    assert (found["candidate"], found["candidate_frozen"], found["baseline_frozen"]) == (0.5, 0.9, None)
    assert "differs_from_frozen" in found["flags"]


def test_values_that_are_only_recorded_are_counted_where_nothing_was_scored(store: Store) -> None:
    record_values(store, "b")
    with pytest.raises(UsageError) as refused:
        leaderboard(store)
    assert refused.value.found == "1 of which only recorded values are known"
    assert "FROM metric_values" in refused.value.hint


def test_what_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="no results"):
        leaderboard(store)
    add_run(store, "a", answers(30))
    with pytest.raises(UnknownName, match="macro_f2"):
        leaderboard(store, metric="macro_f2")
    with pytest.raises(UsageError, match="team"):
        leaderboard(store, by="team")


def test_a_users_own_metric_is_ranked_and_compared(store: Store, tmp_path: Path) -> None:
    from evalframe.relations import catalogue

    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "error_rate.sql").write_text(
        """/* ---
name: error_rate
layer: metric
title: Error rate
inputs: [class_counts_by_cluster]
grain: [run_id, stratum]
unit: proportion
better: lower
denominator: data
parameters: []
definition: Windows that are not recognised, divided by all windows.
--- */
SELECT
    run_id,
    stratum,
    CAST(sum(items) - sum(hits) AS DOUBLE) / CAST(sum(items) AS DOUBLE) AS value,
    sum(items) - sum(hits) AS numerator,
    sum(items) AS denominator,
    CAST(sum(items) AS BIGINT) AS n_items,
    CAST(0 AS BIGINT) AS n_excluded,
    CAST(sum(failed) AS BIGINT) AS n_failed,
    'ok' AS status,
    CAST(NULL AS VARCHAR) AS reason
FROM class_counts_by_cluster
GROUP BY run_id, stratum
"""
    )
    for name, right in (("a", 30), ("b", 20)):
        add_run(store, name, answers(right), relations=catalogue(folder))
    rows = leaderboard(store, metric="error_rate", relations=folder).to_pylist()
    assert [(r["run_id"], r["value"]) for r in rows] == [("a", 0.25), ("b", 0.5)]
    found = compare(store, "a", ["b"], replicates=1024, metrics=["error_rate", "accuracy"], relations=folder)
    own, accuracy = found.to_pylist()[:2]
    assert (own["change"], own["relative_reduction"]) == (0.25, -1.0)
    assert own["p_value"] == accuracy["p_value"]
    assert (own["ci_low"], own["ci_high"]) == pytest.approx((-accuracy["ci_high"], -accuracy["ci_low"]))
