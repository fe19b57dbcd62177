"""What the statistics mean, in plain Python: rows resampled, every pattern visited, fractions instead of floats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

Row = TypeVar("Row")
Key = TypeVar("Key", bound=Hashable)


def drawn_clusters(clusters: Sequence[str], replicates: int, seed: int) -> list[list[str]]:
    """The clusters drawn in each replicate, by the written recipe over the sorted ids."""
    ids = sorted(clusters)
    draws = np.random.default_rng(seed).integers(0, len(ids), size=(replicates, len(ids)))
    return [[ids[i] for i in row] for row in draws]


def resampled_rows(rows: Mapping[str, Sequence[Row]], drawn: Iterable[str]) -> list[Row]:
    """Every row of every drawn cluster, a cluster drawn twice giving its rows twice."""
    return [row for cluster in drawn for row in rows[cluster]]


def swapped_rows(
    first: Mapping[str, Sequence[Row]], second: Mapping[str, Sequence[Row]], swapped: frozenset[str]
) -> tuple[list[Row], list[Row]]:
    """Both sides' rows after exchanging the `swapped` clusters."""
    left = [row for cluster in sorted(first) for row in (second if cluster in swapped else first)[cluster]]
    right = [row for cluster in sorted(first) for row in (first if cluster in swapped else second)[cluster]]
    return left, right


def every_swap(clusters: Sequence[str]) -> list[frozenset[str]]:
    """All 2^C sets of clusters to exchange."""
    ids = sorted(clusters)
    signs = itertools.product((0, 1), repeat=len(ids))
    return [frozenset(c for c, s in zip(ids, each, strict=True) if s) for each in signs]


def exact_swap_p(
    first: Mapping[str, Sequence[Row]],
    second: Mapping[str, Sequence[Row]],
    metric: Callable[[Sequence[Row]], float | None],
) -> Fraction:
    """Share of all swaps whose |change| reaches the observed one within 1e-12; an undefined change reaches it."""

    def change(swapped: frozenset[str]) -> float | None:
        left, right = (metric(side) for side in swapped_rows(first, second, swapped))
        return None if left is None or right is None else right - left

    observed = change(frozenset())
    assert observed is not None
    swaps = every_swap(list(first))
    changes = [change(swapped) for swapped in swaps]
    return Fraction(sum(1 for x in changes if x is None or abs(x) >= abs(observed) - 1e-12), len(swaps))


def mcnemar_p(b: int, c: int) -> tuple[Fraction, Fraction]:
    """Exact two-sided and mid-p of a fair coin, from the whole distribution of b + c tosses."""
    n, m = b + c, min(b, c)
    point = [Fraction(math.comb(n, i), 2**n) for i in range(n + 1)]
    at_most = sum(point[: m + 1], Fraction(0))
    return min(Fraction(1), 2 * at_most), 2 * at_most - point[m]


def holm_by_closed_testing(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p: a hypothesis falls when every set that contains it falls under Bonferroni."""
    indices = range(len(p_values))
    subsets = [s for size in range(1, len(p_values) + 1) for s in itertools.combinations(indices, size)]
    return [max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in subsets if i in s) for i in indices]


def signed_rank_p(differences: Sequence[float]) -> Fraction:
    """Two-sided share of sign patterns of the nonzero differences as far from the mean, zeros ranked and split."""
    sizes = [abs(d) for d in differences]
    ranks = [Fraction(sum(x < s for x in sizes) * 2 + sum(x == s for x in sizes) + 1, 2) for s in sizes]
    nonzero = [(r, d > 0) for r, d in zip(ranks, differences, strict=True) if d != 0]
    mean = sum((r for r, _ in nonzero), Fraction(0)) / 2
    observed = abs(sum((r for r, up in nonzero if up), Fraction(0)) - mean)
    patterns = list(itertools.product((False, True), repeat=len(nonzero)))
    as_far = sum(
        abs(sum((r for (r, _), up in zip(nonzero, pattern, strict=True) if up), Fraction(0)) - mean) >= observed
        for pattern in patterns
    )
    return Fraction(as_far, len(patterns))


def linear_quantile(values: Sequence[float], q: Fraction) -> Fraction:
    """Interpolated between the neighbours of position q (n - 1)."""
    ordered = sorted(Fraction(v) for v in values)
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def merged(rows: Iterable[tuple[str, Key, float]], weights: Mapping[str, int], how: str) -> dict[Key, float]:
    """Rows (cluster, key, value) merged over the clusters of positive weight, a sum counting a cluster that often."""
    found: dict[Key, list[float]] = {}
    for cluster, key, value in rows:
        if weights[cluster] > 0:
            found.setdefault(key, []).extend([value] * weights[cluster])
    fold = {"sum": math.fsum, "min": min, "max": max}[how]
    return {key: fold(values) for key, values in found.items()}


def _accepted(items: Sequence[tuple[float, bool]]) -> list[tuple[int, int, int]]:
    """After each group of equal scores, from the top: (items in it, items so far, marked so far)."""
    steps: list[tuple[int, int, int]] = []
    for score in sorted({s for s, _ in items}, reverse=True):
        group = [marked for s, marked in items if s == score]
        so_far = [marked for s, marked in items if s >= score]
        steps.append((len(group), len(so_far), sum(so_far)))
    return steps


def average_precision(items: Sequence[tuple[float, bool]]) -> float | None:
    """Items (score, positive): sum over score groups of the recall gained x precision so far."""
    positives = sum(marked for _, marked in items)
    if positives == 0:
        return None
    total, before = Fraction(0), 0
    for _, items_so_far, positives_so_far in _accepted(items):
        total += Fraction(positives_so_far - before, positives) * Fraction(positives_so_far, items_so_far)
        before = positives_so_far
    return float(total)


def roc_auc(items: Sequence[tuple[float, bool]]) -> float | None:
    """Share of (positive, negative) pairs in which the positive has the higher score, a tie counting half."""
    positives = [s for s, marked in items if marked]
    negatives = [s for s, marked in items if not marked]
    if not positives or not negatives:
        return None
    won = sum(Fraction(2 * (p > n) + (p == n), 2) for p in positives for n in negatives)
    return float(won / (len(positives) * len(negatives)))


def coverage_at_error(items: Sequence[tuple[float, bool]], unranked: int, budget: Fraction) -> float | None:
    """Items (confidence, wrong): the largest share in whole groups from the top whose error rate is within budget."""
    n = len(items) + unranked
    if n == 0:
        return None
    fits = [so_far for _, so_far, errors in _accepted(items) if Fraction(errors, so_far) <= budget]
    return max(fits, default=0) / n


def area_under_risk_coverage(items: Sequence[tuple[float, bool]], unranked: int = 0) -> float | None:
    """Items (confidence, wrong): items added x error rate after the group, over all items; None of no ranked item."""
    if not items:
        return None
    area = sum((Fraction(size * errors, so_far) for size, so_far, errors in _accepted(items)), Fraction(0))
    return float(area / (len(items) + unranked))


def most_confident(
    items: Sequence[tuple[float, bool]], unranked: int, fraction: Fraction
) -> tuple[float, float] | None:
    """Items (confidence, wrong): coverage and accuracy of those that reach the max(1, ceil(fraction n))-th largest."""
    if not items:
        return None
    n = len(items) + unranked
    place = min(max(1, math.ceil(fraction * n)), len(items))
    cutoff = sorted((score for score, _ in items), reverse=True)[place - 1]
    accepted = [wrong for score, wrong in items if score >= cutoff]
    return len(accepted) / n, accepted.count(False) / len(accepted)


def marked_in_top(items: Sequence[tuple[float, bool]], k: int) -> float | None:
    """Items (score, marked): marked ones among the top k, a tied group at the cut giving its share of the places."""
    if len(items) < k:
        return None
    found, left = Fraction(0), k
    for score in sorted({s for s, _ in items}, reverse=True):
        group = [marked for s, marked in items if s == score]
        places = min(left, len(group))
        found += Fraction(places * sum(group), len(group))
        left -= places
    return float(found)


def threshold(scores: Sequence[float], recall: Fraction) -> float | None:
    """The ceil(recall x P)-th largest of P scores; None of none."""
    if not scores:
        return None
    return sorted(scores, reverse=True)[math.ceil(recall * len(scores)) - 1]
