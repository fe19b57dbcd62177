"""Metrics of ranked items under replicate weights, from counts per unit and score group.

Equal scores form one group and are never split, so no answer depends on the order of rows. A unit is one cluster of one
side, as in `merging`. Every function takes weights [b, units] and gives [b] values, NaN where the metric is undefined.

Each metric needs cumulative counts after some of the groups only (its stops): precision changes where a positive is,
a coverage budget can be exhausted where an error is. With few units the cumulative counts of a whole block of stops
are one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Cells of one block of replicates x stops: a few arrays of this size stay in the cache of one core.
_BLOCK_CELLS = 262_144
# A matrix product does this many multiplications in the time in which gathering handles one row.
_DENSE_ADVANTAGE = 300
# float32 holds every integer up to here, so products of counts below it are exact at twice the speed.
_EXACT_FLOAT32 = 2**24


@dataclass(frozen=True, slots=True)
class ScoreGroups:
    """Counts of ranked items. Row i: `total[i]` items of `unit[i]` with the `group[i]`-th highest score, of which
    `marked[i]` are marked (positives, or errors). `unranked` [units] items have no score: in n, never accepted."""

    unit: Counts
    group: Counts
    marked: Counts
    total: Counts
    groups: int
    unranked: Counts

    @property
    def units(self) -> int:
        return len(self.unranked)


def score_groups(
    unit: Counts, score: Floats, marked: Counts, total: Counts, units: int, unranked: Counts | None = None
) -> ScoreGroups:
    """Rows [n] of (unit, score, marked, total) with equal scores gathered into groups, the highest first."""
    if not np.isfinite(score).all():
        raise ValueError("a score that is not finite has no rank: exclude and count it first")
    values, ascending = np.unique(score, return_inverse=True)
    group = len(values) - 1 - ascending.astype(np.int64)
    order = np.argsort(group, kind="stable")
    none = np.zeros(units, dtype=np.int64) if unranked is None else unranked
    return ScoreGroups(unit[order], group[order], marked[order], total[order], len(values), none)


def average_precision(groups: ScoreGroups, weights: Counts) -> Floats:
    """Step average precision: sum over groups of the share of positives in it x precision after it."""
    area = np.zeros(len(weights))
    positives = np.zeros(len(weights))
    for block in _cumulative(groups, weights, _stops_at_marked(groups)):
        gained = np.diff(block.marked, prepend=positives[:, None])
        area += np.einsum("bs,bs->b", gained, block.marked_share())
        positives = block.marked[:, -1]
    return _divide(area, positives)


def roc_auc(groups: ScoreGroups, weights: Counts) -> Floats:
    """Probability that a positive outranks a negative, a tie counting half."""
    pairs = np.zeros(len(weights))
    positives, negatives = np.zeros(len(weights)), np.zeros(len(weights))
    for block in _cumulative(groups, weights, _every_group(groups)):
        unmarked = block.total - block.marked
        won = np.diff(unmarked, prepend=negatives[:, None])
        above = np.concatenate([positives[:, None], block.marked[:, :-1]], axis=1)
        pairs += np.einsum("bs,bs->b", won, (above + block.marked) / 2.0)
        positives, negatives = block.marked[:, -1], unmarked[:, -1]
    return _divide(pairs, positives * negatives)


def coverage_at_error(groups: ScoreGroups, weights: Counts, budget: Fraction) -> Floats:
    """Largest share of items accepted, in whole groups from the top, with errors / accepted <= `budget`; 0 if none.

    `marked` are errors. Decided on integers: errors x denominator <= numerator x accepted.
    """
    accepted = np.zeros(len(weights))
    for block in _cumulative(groups, weights, _stops_before_marked(groups)):
        within = block.marked * budget.denominator <= budget.numerator * block.total
        np.maximum(accepted, np.where(within, block.total, 0.0).max(axis=1), out=accepted)
    return _divide(accepted, _items(groups, weights))


def area_under_risk_coverage(groups: ScoreGroups, weights: Counts) -> Floats:
    """AURC: sum over groups of items added x error rate after the group, over all items. `marked` are errors.

    Undefined where no item has a score.
    """
    area, seen = np.zeros(len(weights)), np.zeros(len(weights))
    for block in _cumulative(groups, weights, _every_group(groups)):
        area += np.einsum("bs,bs->b", np.diff(block.total, prepend=seen[:, None]), block.marked_share())
        seen = block.total[:, -1]
    return _divide(np.where(seen > 0, area, np.nan), _items(groups, weights))


@dataclass(frozen=True, slots=True)
class Accepted:
    """Items accepted from the top, those of them that are marked, and all items: [b] each."""

    total: Floats
    marked: Floats
    items: Floats

    def coverage(self) -> Floats:
        """Accepted / items."""
        return _divide(np.where(self.total > 0, self.total, np.nan), self.items)

    def unmarked_share(self) -> Floats:
        """Share of the accepted that is not marked: accuracy where `marked` are errors."""
        return _divide(self.total - self.marked, self.total)


def most_confident(groups: ScoreGroups, weights: Counts, fraction: Fraction) -> Accepted:
    """The items whose score reaches the max(1, ceil(fraction x items))-th largest, or the smallest where fewer rank."""
    items = _items(groups, weights)
    ranked = items - weights.astype(np.float64) @ groups.unranked
    place = np.maximum(np.ceil(items * fraction.numerator / fraction.denominator), 1.0)
    place = np.minimum(place, ranked)
    total, marked = np.zeros(len(weights)), np.zeros(len(weights))
    for block in _cumulative(groups, weights, _every_group(groups)):
        reached = (block.total >= place[:, None]) & (total < place)[:, None]
        first = reached.argmax(axis=1)
        here = reached.any(axis=1) & (total < place)
        rows = np.flatnonzero(here)
        total[rows], marked[rows] = block.total[rows, first[rows]], block.marked[rows, first[rows]]
    return Accepted(total, marked, items)


def marked_in_top(groups: ScoreGroups, weights: Counts, k: int) -> Floats:
    """Marked items among the top `k`, a tied group at the cut giving its share; NaN with fewer than k items."""
    found, above = np.zeros(len(weights)), np.zeros(len(weights))
    marked = np.zeros(len(weights))
    for block in _cumulative(groups, weights, _every_group(groups)):
        size = np.diff(block.total, prepend=above[:, None])
        hits = np.diff(block.marked, prepend=marked[:, None])
        places = np.clip(k - (block.total - size), 0.0, size)
        found += (hits * places / np.maximum(size, 1.0)).sum(axis=1)
        above, marked = block.total[:, -1], block.marked[:, -1]
    return np.where(above >= k, found, np.nan)


@dataclass(frozen=True, slots=True)
class _Block:
    """Cumulative weighted counts [b, s] after each of a run of stops, from the top of the ranking."""

    total: Floats
    marked: Floats

    def marked_share(self) -> Floats:
        """marked / total; 0 before the first item, where nothing is weighed by it."""
        return self.marked / np.maximum(self.total, 1.0)


def _items(groups: ScoreGroups, weights: Counts) -> Floats:
    each = np.bincount(groups.unit, groups.total, minlength=groups.units) + groups.unranked
    return weights.astype(np.float64) @ each


def _divide(part: Floats, whole: Floats) -> Floats:
    value: Floats = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return value


def _every_group(groups: ScoreGroups) -> Counts:
    return np.arange(groups.groups, dtype=np.int64)


def _stops_at_marked(groups: ScoreGroups) -> Counts:
    """The stop of each group when only groups that hold a marked item matter: a group without one joins the next."""
    holds = np.bincount(groups.group, groups.marked, minlength=groups.groups) > 0
    return np.asarray(np.cumsum(holds) - holds, dtype=np.int64)


def _stops_before_marked(groups: ScoreGroups) -> Counts:
    """The stop of each group when a new stretch starts at each group that holds a marked item.

    Inside a stretch errors stay and items grow, so if any group of it is within a budget its last one is.
    """
    holds = np.bincount(groups.group, groups.marked, minlength=groups.groups) > 0
    stretch = np.cumsum(holds)
    return np.asarray(stretch - (stretch[0] if stretch.size else 0), dtype=np.int64)


def _cumulative(groups: ScoreGroups, weights: Counts, stop_of_group: Counts) -> Iterator[_Block]:
    """Cumulative counts after each stop (`stop_of_group` never falls), in blocks of stops. None without rows."""
    if groups.unit.size == 0:
        return
    stop = stop_of_group[groups.group]
    stops = int(stop[-1]) + 1
    width = max(16, _BLOCK_CELLS // max(1, len(weights)))
    edges = np.searchsorted(stop, np.arange(0, stops + width, width))
    dense = groups.units * stops <= _DENSE_ADVANTAGE * groups.unit.size
    factors = weights.astype(_float_for(groups, weights))
    total, marked = np.zeros(len(weights)), np.zeros(len(weights))
    for i, first in enumerate(range(0, stops, width)):
        rows = slice(int(edges[i]), int(edges[i + 1]))
        place, wide = stop[rows] - first, min(width, stops - first)
        unit = groups.unit[rows]
        block = _Block(
            *(
                (_by_product if dense else _by_gathering)(factors, unit, place, counts[rows], wide) + before[:, None]
                for counts, before in ((groups.total, total), (groups.marked, marked))
            )
        )
        total, marked = block.total[:, -1], block.marked[:, -1]
        yield block


def _float_for(groups: ScoreGroups, weights: Counts) -> DTypeLike:
    """The narrower float type in which every cumulative count is exact."""
    largest = float(_items(groups, weights).max(initial=0.0))
    return np.float32 if largest < _EXACT_FLOAT32 else np.float64


def _by_product(factors: NDArray[np.floating], unit: Counts, place: Counts, counts: Counts, wide: int) -> Floats:
    units = factors.shape[1]
    table = np.bincount(unit * wide + place, counts, minlength=units * wide).reshape(units, wide)
    cumulative = np.cumsum(table, axis=1).astype(factors.dtype)
    return (factors @ cumulative).astype(np.float64)


def _by_gathering(factors: NDArray[np.floating], unit: Counts, place: Counts, counts: Counts, wide: int) -> Floats:
    cumulative = np.cumsum(factors[:, unit] * counts.astype(factors.dtype), axis=1, dtype=np.float64)
    last = np.searchsorted(place, np.arange(wide), side="right")
    return np.where(last > 0, cumulative[:, np.maximum(last, 1) - 1], 0.0)
