"""Paired groups of runs: Wilcoxon's signed rank test with split zeros, and wins, ties and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

WilcoxonMethod = Literal["wilcoxon_exact", "wilcoxon_approx"]

# Differences equal but for round-off are equal: they share a rank, and 0.30000000000000004 - 0.3 is no win.
DECIMALS = 12
EXACT_PAIRS = 20


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Rank sums with zeros split between the sides. No pairs: p, min_p and method are None."""

    rank_plus: float
    rank_minus: float
    pairs: int
    zeros: int
    p_value: float | None
    min_p: float | None
    method: WilcoxonMethod | None


@dataclass(frozen=True, slots=True)
class WinTieLoss:
    """Pairs in which the second side is better, equal, worse."""

    wins: int
    ties: int
    losses: int


def rounded_differences(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """second - first, pair by pair, rounded to 12 decimals. Both finite and of one length."""
    if first.shape != second.shape or not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("paired groups hold finite values in equal number")
    return np.round(second - first, DECIMALS)


def win_tie_loss(differences: NDArray[np.float64], better: Literal["higher", "lower"]) -> WinTieLoss:
    """Count rounded `differences` (second - first) by sign, in the direction in which `better` says is better."""
    up, down = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    wins, losses = (up, down) if better == "higher" else (down, up)
    return WinTieLoss(wins, int(differences.size) - up - down, losses)


def average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of their ranks. Every rank is a multiple of one half."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_rank = (2 * last - counts + 1) / 2.0
    return np.asarray(mean_rank[inverse], dtype=np.float64)


def signed_rank(differences: NDArray[np.float64]) -> SignedRank:
    """Wilcoxon's two-sided test of rounded `differences`, zeros ranked too and their ranks split (zsplit).

    Up to 20 pairs the sign patterns of the nonzero differences are enumerated; beyond, scipy's normal approximation
    with tie correction.
    """
    n = int(differences.size)
    if n == 0:
        return SignedRank(0.0, 0.0, 0, 0, None, None, None)
    ranks = average_ranks(np.abs(differences))
    split = float(ranks[differences == 0].sum()) / 2.0
    plus = float(ranks[differences > 0].sum()) + split
    minus = float(ranks[differences < 0].sum()) + split
    zeros = int(np.count_nonzero(differences == 0))
    if n <= EXACT_PAIRS:
        p_value, min_p = _exact(ranks[differences != 0], plus - split)
        return SignedRank(plus, minus, n, zeros, p_value, min_p, "wilcoxon_exact")
    return SignedRank(plus, minus, n, zeros, _approximate(differences, zeros), None, "wilcoxon_approx")


def _exact(ranks: NDArray[np.float64], plus: float) -> tuple[float, float]:
    """Share of the 2^k sign patterns whose positive rank sum is as far from its mean as `plus`, and the least share.

    Twice a rank is an integer, so the patterns are counted by sum instead of one by one: `ways[s]` patterns have twice
    a positive rank sum of s. Far from the mean is decided on integers.
    """
    doubled = np.rint(2 * ranks).astype(np.int64)
    total = int(doubled.sum())
    ways = np.zeros(total + 1, dtype=np.int64)
    ways[0] = 1
    for step in doubled:
        ways[step:] = ways[step:] + ways[: total + 1 - step]
    # Distances are doubled once more: the mean of twice the sum is total / 2.
    distance = np.abs(2 * np.arange(total + 1, dtype=np.int64) - total)
    observed = abs(2 * round(2 * plus) - total)
    patterns = 2 ** len(doubled)
    as_far = int(ways[distance >= observed].sum())
    return as_far / patterns, int(ways[distance >= total].sum()) / patterns


def _approximate(differences: NDArray[np.float64], zeros: int) -> float:
    if zeros == differences.size:
        return 1.0  # nothing but ties: scipy divides zero by zero
    from scipy import stats

    test = stats.wilcoxon(differences, zero_method="zsplit", method="asymptotic", correction=False)
    return float(test.pvalue)
