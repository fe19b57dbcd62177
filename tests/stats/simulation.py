"""Simulated comparisons of two equally good models: how often the test rejects and the interval covers zero.

Clusters differ in size and in how hard they are, and each model has its own luck with each cluster, so that items of
one cluster are not independent. Both models draw from one distribution: the true change of every metric is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalframe.stats import confusion
from evalframe.stats.draws import bootstrap_weights, swap_method, swap_patterns
from evalframe.stats.intervals import percentile_interval
from evalframe.stats.permutation import swap_test

CLASSES = 3
Metric = Callable[[confusion.ClassCounts], NDArray[np.float64]]
METRICS: Mapping[str, Metric] = {"accuracy": confusion.accuracy, "macro_f1": confusion.macro_f1}


@dataclass(frozen=True)
class Rates:
    """Shares of `comparisons` simulated ones."""

    metric: str
    comparisons: int
    rejected: float
    covered: float

    def within(self, deviations: float = 4.0) -> bool:
        """Whether both shares lie within so many standard deviations of 5 % and 95 %."""
        margin = deviations * float(np.sqrt(0.05 * 0.95 / self.comparisons))
        return abs(self.rejected - 0.05) <= margin and abs(self.covered - 0.95) <= margin


def simulate(
    comparisons: int, *, clusters: int = 100, replicates: int = 999, by_item: bool = False, seed: int = 0
) -> list[Rates]:
    """Rates of `comparisons` comparisons of `clusters` clusters each. `by_item` resamples items as if independent."""
    rejected = dict.fromkeys(METRICS, 0)
    covered = dict.fromkeys(METRICS, 0)
    for number in range(comparisons):
        first, second = _two_models(np.random.default_rng([seed, number]), clusters, by_item=by_item)
        for name, metric in METRICS.items():
            p_value, low, high = _compared(metric, first, second, replicates, number)
            rejected[name] += p_value <= 0.05
            covered[name] += low <= 0.0 <= high
    return [Rates(name, comparisons, rejected[name] / comparisons, covered[name] / comparisons) for name in METRICS]


def _compared(
    metric: Metric, first: NDArray[np.float64], second: NDArray[np.float64], replicates: int, seed: int
) -> tuple[float, float, float]:
    """p and bounds of the change from per-unit counts [units, 3 x CLASSES] of both models."""

    def value(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return metric(confusion.ClassCounts(*np.split(counts.T, 3)))

    units = len(first)
    observed = float((value(second.sum(axis=0)[None]) - value(first.sum(axis=0)[None]))[0])
    boots = [value(w @ second) - value(w @ first) for w in bootstrap_weights(units, replicates, seed)]
    interval = percentile_interval(np.concatenate(boots), units)
    difference, whole = second - first, (first + second).sum(axis=0)
    swaps = []
    for pattern in swap_patterns(units, replicates, seed):
        left = first.sum(axis=0) + pattern @ difference
        swaps.append(value(whole - left) - value(left))
    test = swap_test(observed, np.concatenate(swaps), units, swap_method(units, replicates))
    assert test.p_value is not None
    assert interval.low is not None
    assert interval.high is not None
    return test.p_value, interval.low, interval.high


def _two_models(
    rng: np.random.Generator, clusters: int, *, by_item: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Support, hits and predictions per class of each unit, [units, 3 x CLASSES], for two models on the same items."""
    sizes = np.minimum(2 + rng.geometric(0.12, clusters), 60)
    cluster = np.repeat(np.arange(clusters), sizes)
    truth = (rng.integers(0, CLASSES, clusters)[cluster] + (rng.random(len(cluster)) < 0.6)) % CLASSES
    hardness = rng.normal(0.8, 1.0, clusters)
    unit = np.arange(len(cluster)) if by_item else cluster
    models = []
    for _ in range(2):
        ease = hardness + rng.normal(0.0, 0.8, clusters)
        right = rng.random(len(cluster)) < 1.0 / (1.0 + np.exp(-ease[cluster]))
        slip = rng.integers(1, CLASSES, len(cluster))
        guess = np.where(right, truth, (truth + slip) % CLASSES)
        counts = np.zeros((int(unit[-1]) + 1, 3 * CLASSES))
        np.add.at(counts, (unit, truth), 1.0)
        np.add.at(counts, (unit[right], CLASSES + truth[right]), 1.0)
        np.add.at(counts, (unit, 2 * CLASSES + guess), 1.0)
        models.append(counts)
    return models[0], models[1]


def full_simulation() -> None:
    """2,000 simulated comparisons: rejection near 5 %, coverage 93-97 % at 100 clusters; 20 are only printed."""
    comparisons = 2_000
    for rates in simulate(comparisons):
        print(f"100 clusters, {rates.metric}: rejected {rates.rejected:.3f}, covered {rates.covered:.3f}")
        assert abs(rates.rejected - 0.05) <= 0.02, rates
        assert 0.93 <= rates.covered <= 0.97, rates
    for rates in simulate(comparisons, clusters=20):
        print(f" 20 clusters, {rates.metric}: rejected {rates.rejected:.3f}, covered {rates.covered:.3f}")
    for rates in simulate(comparisons // 10, by_item=True):
        print(f"items as if independent, {rates.metric}: rejected {rates.rejected:.3f}, covered {rates.covered:.3f}")
        assert not rates.within(), rates
