"""An interval says how many replicates it rests on, or why there is none."""

import numpy as np
import pytest
from scipy import stats

from evalframe.stats.draws import bootstrap_weights
from evalframe.stats.intervals import percentile_interval, replicates_without


def test_the_bounds_are_the_linear_percentiles() -> None:
    changes = np.random.default_rng(3).normal(size=1000)
    interval = percentile_interval(changes, clusters=100)
    assert (interval.low, interval.high) == tuple(np.percentile(changes, [2.5, 97.5]))
    assert (interval.replicates, interval.undefined, interval.reason, interval.flags) == (1000, 0, None, ())


def test_undefined_replicates_are_dropped_and_counted() -> None:
    changes = np.r_[np.full(50, np.nan), np.arange(950.0)]
    interval = percentile_interval(changes, clusters=100)
    assert interval.undefined == 50
    assert (interval.low, interval.high) == tuple(np.percentile(np.arange(950.0), [2.5, 97.5]))


def test_too_many_undefined_replicates_leave_no_interval() -> None:
    interval = percentile_interval(np.r_[np.full(51, np.nan), np.arange(949.0)], clusters=100)
    assert (interval.low, interval.high, interval.undefined, interval.reason) == (None, None, 51, "unstable_replicates")


def test_no_defined_replicate_at_all_is_unstable() -> None:
    assert percentile_interval(np.full(3, np.nan), clusters=30).reason == "unstable_replicates"


@pytest.mark.parametrize(("clusters", "reason"), [(0, "no_clusters"), (1, "one_cluster")])
def test_without_two_clusters_there_is_no_interval_of_zero_width(clusters: int, reason: str) -> None:
    interval = percentile_interval(np.zeros(10), clusters)
    assert (interval.low, interval.high, interval.reason) == (None, None, reason)


@pytest.mark.parametrize(("clusters", "flags"), [(2, ("few_clusters",)), (19, ("few_clusters",)), (20, ())])
def test_few_clusters_are_flagged(clusters: int, flags: tuple[str, ...]) -> None:
    assert percentile_interval(np.arange(10.0), clusters).flags == flags


def test_scipy_gives_the_same_interval_of_a_mean_over_equal_clusters() -> None:
    values = np.random.default_rng(8).normal(size=40)
    peer = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    ours = percentile_interval(np.concatenate([w @ values / 40 for w in bootstrap_weights(40, 20_000, 0)]), 40)
    assert ours.low == pytest.approx(peer.low, abs=0.01)
    assert ours.high == pytest.approx(peer.high, abs=0.01)


def test_a_class_that_one_cluster_alone_holds_is_missing_when_that_cluster_is() -> None:
    weights = np.array([[2, 0], [1, 1], [0, 2]])
    present = np.array([[True, True], [False, True]])
    assert replicates_without(weights, present).tolist() == [1, 0]
