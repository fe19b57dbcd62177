"""Percentile intervals from bootstrap replicates, with the undefined ones accounted for."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalframe.stats.merging import Weights
from evalframe.stats.quantiles import quantile

IntervalReason = Literal["no_clusters", "one_cluster", "unstable_replicates"]

# A 95 % interval leaves these shares of the replicates outside.
LOWER, UPPER = 0.025, 0.975
# A share of undefined replicates above this leaves an interval of the well-behaved ones only: not an interval.
MAX_UNDEFINED_SHARE = 0.05
# Below this many clusters percentile intervals are too short; at 20 they cover about 92 %.
FEW_CLUSTERS = 20
# A class missing from more than this share of replicates makes class-wise extremes depend on the draw, not the data.
MAX_MISSING_SHARE = 0.01


class Interval(NamedTuple):
    """Bounds of a 95 % interval, or the reason why there are none. `undefined` of `replicates` were dropped."""

    low: float | None
    high: float | None
    replicates: int
    undefined: int
    reason: IntervalReason | None = None
    flags: tuple[str, ...] = ()


def percentile_interval(changes: NDArray[np.float64], clusters: int) -> Interval:
    """Linear percentiles of the replicates `changes` [B] (NaN: undefined there), drawn over `clusters`."""
    defined = changes[~np.isnan(changes)]
    undefined = int(changes.size - defined.size)
    flags = ("few_clusters",) if clusters < FEW_CLUSTERS else ()
    reason = _why_not(clusters, undefined, int(changes.size))
    if reason is not None:
        return Interval(None, None, int(changes.size), undefined, reason, flags)
    low, high = quantile(defined, LOWER, "linear"), quantile(defined, UPPER, "linear")
    return Interval(low, high, int(changes.size), undefined, None, flags)


def _why_not(clusters: int, undefined: int, replicates: int) -> IntervalReason | None:
    if clusters == 0:
        return "no_clusters"
    if clusters == 1:
        return "one_cluster"
    return "unstable_replicates" if undefined > MAX_UNDEFINED_SHARE * replicates or undefined == replicates else None


def replicates_without(weights: Weights, present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each of K things, in how many of the replicates `weights` [b, C] no cluster that has it was drawn.

    `present` [C, K] says which cluster has which. Sums over blocks of replicates.
    """
    drawn = weights.astype(np.float64, copy=False) @ present.astype(np.float64)
    return np.asarray((drawn == 0.0).sum(axis=0), dtype=np.int64)
