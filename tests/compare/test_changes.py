"""The rows of a comparison: changes by hand, intervals and tests by resampling whole windows in plain loops."""

import numpy as np
import pytest

from evalframe.compare import sampling
from evalframe.store import Store
from evalframe.verbs.compare import Comparison, compare
from tests.compare.building import METRICS, Item, add_run, by_participant, items, value
from tests.oracles import statistics as oracle


def row(found: Comparison, metric: str, **at: object) -> dict:  # type: ignore[type-arg]
    """The one row of a metric."""
    rows = [r for r in found.to_pylist() if r["metric"] == metric and all(r[k] == v for k, v in at.items())]
    assert len(rows) == 1
    return rows[0]


def test_the_change_and_its_counts_by_hand(store: Store) -> None:
    add_run(store, "a", [Item("1", "p", 0, 0), Item("2", "p", 0, 1), Item("3", "q", 1, 1), Item("4", "q", 1, 0)])
    add_run(store, "b", [Item("1", "p", 0, 0), Item("2", "p", 0, 0), Item("3", "q", 1, 1), Item("4", "q", 1, 0)])
    found = row(compare(store, "a", ["b"]), "accuracy")
    assert (found["baseline"], found["candidate"], found["change"], found["change_pp"]) == (0.5, 0.75, 0.25, 25.0)
    assert (found["baseline_numerator"], found["baseline_denominator"]) == (2.0, 4.0)
    assert (found["candidate_numerator"], found["candidate_denominator"]) == (3.0, 4.0)
    assert (found["unit"], found["better"], found["stratum"]) == ("proportion", "higher", "all")
    assert (found["cluster"], found["n_clusters"], found["method"]) == ("participant", 2, "swap_exact")
    assert (found["p_value"], found["min_p"]) == (1.0, 0.5)
    assert found["relative_reduction"] is None


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize(("participants", "replicates"), [(5, 60), (8, 40)])
def test_intervals_and_tests_are_those_of_resampled_windows(
    store: Store, monkeypatch: pytest.MonkeyPatch, kernels: bool, participants: int, replicates: int
) -> None:
    if not kernels:
        monkeypatch.setattr(sampling, "kernel_for", lambda *_: None)
    first, second = (items(60, participants, skill=s, seed=i) for i, s in enumerate((0.6, 0.75)))
    add_run(store, "a", first)
    add_run(store, "b", second)
    found = compare(store, "a", ["b"], replicates=replicates, seed=3)
    left, right = by_participant(first), by_participant(second)
    drawn = oracle.drawn_clusters(list(left), replicates, seed=3)
    for metric in METRICS:
        changes = [
            value(metric, oracle.resampled_rows(right, ids)) - value(metric, oracle.resampled_rows(left, ids))  # type: ignore[operator]
            for ids in drawn
        ]
        got = row(found, metric)
        bounds = np.percentile(changes, [2.5, 97.5])
        assert (got["ci_low"], got["ci_high"]) == pytest.approx(tuple(bounds), abs=1e-12), metric
        assert got["ci_low_pp"] == pytest.approx(100 * bounds[0], abs=1e-10)
        assert got["p_value"] == pytest.approx(_p(metric, left, right, replicates), abs=1e-15), metric
        assert got["method"] == ("swap_exact" if 2**participants <= replicates else "swap_mc")


def _p(metric: str, left: dict, right: dict, replicates: int) -> float:  # type: ignore[type-arg]
    if 2 ** len(left) <= replicates:
        return float(oracle.exact_swap_p(left, right, lambda rows: value(metric, rows)))
    ids = sorted(left)
    patterns = np.random.default_rng([3, 1]).integers(0, 2, size=(replicates, len(ids)))

    def change(pattern: np.ndarray) -> float:
        swapped = frozenset(c for c, s in zip(ids, pattern, strict=True) if s)
        sides = [value(metric, rows) for rows in oracle.swapped_rows(left, right, swapped)]
        return abs(sides[1] - sides[0])  # type: ignore[operator]

    observed = change(np.zeros(len(ids)))
    extreme = sum(change(pattern) >= observed - 1e-12 for pattern in patterns)
    return (1 + extreme) / (1 + replicates)


def test_both_ways_of_evaluating_give_the_same_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run(store, "a", items(400, 25, skill=0.6, seed=1))
    add_run(store, "b", items(400, 25, skill=0.65, seed=2))
    fast = compare(store, "a", ["b"], replicates=300).to_pylist()
    monkeypatch.setattr(sampling, "kernel_for", lambda *_: None)
    slow = compare(store, "a", ["b"], replicates=300).to_pylist()
    for one, other in zip(fast, slow, strict=True):
        assert one.keys() == other.keys()
        for name, expected in other.items():
            if isinstance(expected, float):
                assert one[name] == pytest.approx(expected, abs=1e-12), name
            else:
                assert one[name] == expected, name


def test_a_kernel_that_disagrees_is_not_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run(store, "a", items(200, 25, skill=0.6, seed=1))
    add_run(store, "b", items(200, 25, skill=0.65, seed=2))
    expected = compare(store, "a", ["b"], replicates=100, metrics=["accuracy"]).to_pylist()
    monkeypatch.setattr(sampling, "kernel_for", lambda *_: lambda weights: np.full((len(weights), 1), 0.5))
    assert compare(store, "a", ["b"], replicates=100, metrics=["accuracy"]).to_pylist() == expected


def test_the_draws_do_not_depend_on_what_else_is_asked(store: Store) -> None:
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        add_run(store, name, items(200, 22, skill=0.6, seed=seed))
    alone = row(compare(store, "a", ["c"], replicates=200, metrics=["accuracy"]), "accuracy")
    among = row(compare(store, "a", ["b", "c"], replicates=200), "accuracy", candidate_run="c")
    assert (alone["ci_low"], alone["ci_high"], alone["p_value"]) == (
        among["ci_low"],
        among["ci_high"],
        among["p_value"],
    )


def test_many_runs_at_once(store: Store) -> None:
    names = [f"r{number}" for number in range(8)]
    for number, name in enumerate(names):
        add_run(store, name, items(40, 5, skill=0.7, seed=number))
    found = compare(store, names[0], names[1:], replicates=50, metrics=["accuracy"])
    rows = [r for r in found.to_pylist() if r["metric"] == "accuracy"]
    assert [r["candidate_run"] for r in rows] == names[1:]
    assert found.outcome.family["m"] == 7
    assert found.exit_code == 0


def test_the_same_request_gives_the_same_table(store: Store) -> None:
    add_run(store, "a", items(100, 6, skill=0.6, seed=1))
    add_run(store, "b", items(100, 6, skill=0.7, seed=2))
    found = compare(store, "a", ["b"], replicates=64).table
    assert compare(store, "a", ["b"], replicates=64).table.equals(found)
    assert not compare(store, "a", ["b"], replicates=63).table.equals(found)
