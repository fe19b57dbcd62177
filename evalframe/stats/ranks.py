"""Metrics of ranked items under replicate weights, from counts per unit and score group.

Equal scores form one group and are never split, so no answer depends on the order of rows. A unit is one cluster of one
side, as in `merging`. Every function takes weights [b, units], whole numbers in either type, and gives [b] values, NaN
where the metric is undefined.

Each metric needs cumulative counts after some of the groups only (its stops): precision changes where a positive is,
a coverage budget can be exhausted where an error is. With few units the cumulative counts of a whole block of stops
are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Concatenate, ParamSpec, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evalframe.stats.merging import Weights

Floats = NDArray[np.float64]
_Reals = NDArray[np.floating]
Counts = NDArray[np.int64]

# Cells of one block of replicates x stops: a few arrays of this size stay in the cache of one core.
_BLOCK_CELLS = 262_144
# Replicates of one block: with more, blocks have too few stops for a matrix product to be worth its call.
_BLOCK_REPLICATES = 1_024
# A matrix product does this many multiplications in the time in which gathering handles one row.
_DENSE_ADVANTAGE = 200
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

    def content(self) -> tuple[bytes, ...]:
        """Equal for equal counts."""
        return tuple(each.tobytes() for each in (self.unit, self.group, self.marked, self.total, self.unranked))


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


_Options = ParamSpec("_Options")
_Kernel: TypeAlias = Callable[Concatenate[ScoreGroups, Weights, _Options], Floats]


def _by_blocks(kernel: _Kernel[_Options]) -> _Kernel[_Options]:
    """The same kernel, block of replicates after block."""

    def blockwise(groups: ScoreGroups, weights: Weights, /, *args: _Options.args, **options: _Options.kwargs) -> Floats:
        starts = range(0, max(1, len(weights)), _BLOCK_REPLICATES)
        parts = [kernel(groups, weights[start : start + _BLOCK_REPLICATES], *args, **options) for start in starts]
        return np.concatenate(parts, axis=-1)

    blockwise.__doc__ = kernel.__doc__
    return blockwise


@_by_blocks
def average_precision(groups: ScoreGroups, weights: Weights) -> Floats:
    """Step average precision: sum over groups of the share of positives in it x precision after it."""
    area, positives = np.zeros(len(weights)), np.zeros(len(weights))
    for block in _cumulative(groups, weights, _stops_at_marked(groups)):
        area += _sum_of_products(block.marked_added(), block.marked_share())
        positives = block.marked[:, -1].astype(np.float64)
    return _divide(area, positives)


@_by_blocks
def roc_auc(groups: ScoreGroups, weights: Weights) -> Floats:
    """Probability that a positive outranks a negative, a tie counting half."""
    pairs, positives, items = (np.zeros(len(weights)) for _ in range(3))
    for block in _cumulative(groups, weights, _every_group(groups)):
        negatives = block.total_added() - block.marked_added()
        # Twice the positives that outrank: those above the group, and half of those in it.
        pairs += _sum_of_products(negatives, block.marked[:, 1:] + block.marked[:, :-1]) / 2.0
        positives, items = (each[:, -1].astype(np.float64) for each in (block.marked, block.total))
    return _divide(pairs, positives * (items - positives))


@_by_blocks
def coverages_at_error(groups: ScoreGroups, weights: Weights, budgets: Sequence[Fraction]) -> Floats:
    """Largest share of items accepted, in whole groups from the top, with errors / accepted <= budget; 0 if none.

    [budgets, b]. `marked` are errors. Decided on integers: errors x denominator <= numerator x accepted.
    """
    accepted = np.zeros((len(budgets), len(weights)))
    for block in _cumulative(groups, weights, _stops_before_marked(groups)):
        total, errors = (each.astype(np.float64) for each in (block.total, block.marked))
        for most, budget in zip(accepted, budgets, strict=True):
            within = errors * budget.denominator <= budget.numerator * total
            np.maximum(most, np.where(within, total, 0.0).max(axis=1), out=most)
    return _divide(accepted, np.broadcast_to(_items(groups, weights), accepted.shape))


def coverage(accepted: Floats) -> Floats:
    """Accepted / items, from the three rows that `risk_and_most_confident` gives for a fraction."""
    return _divide(np.where(accepted[0] > 0, accepted[0], np.nan), accepted[2])


def unmarked_share(accepted: Floats) -> Floats:
    """Share of the accepted that is not marked, from the same three rows: accuracy where marked are errors."""
    return _divide(accepted[0] - accepted[1], accepted[0])


@_by_blocks
def risk_and_most_confident(groups: ScoreGroups, weights: Weights, fractions: Sequence[Fraction]) -> Floats:
    """AURC, then three rows per fraction on its most confident items, [1 + 3 x fractions, b]. `marked` are errors.

    AURC: sum over groups of items added x error rate after the group, over all items; undefined where no item has a
    score. The most confident items are those whose score reaches the max(1, ceil(fraction x items))-th largest, or the
    smallest where fewer rank; the rows: how many they are, how many of them are marked, and all items.
    All need the counts after every group, and cumulating those is nearly all the work.
    """
    items = _items(groups, weights)
    ranked = items - weights.astype(np.float64, copy=False) @ groups.unranked
    area, seen = np.zeros(len(weights)), np.zeros(len(weights))
    places = [np.minimum(np.maximum(np.ceil(items * f.numerator / f.denominator), 1.0), ranked) for f in fractions]
    found = np.zeros((len(fractions), 2, len(weights)))
    for block in _cumulative(groups, weights, _every_group(groups)):
        area += _sum_of_products(block.total_added(), block.marked_share())
        seen = block.total[:, -1].astype(np.float64)
        for (total, marked), place in zip(found, places, strict=True):
            reached = block.total[:, 1:] >= place[:, None]
            rows = np.flatnonzero(reached.any(axis=1) & (total < place))
            first = reached[rows].argmax(axis=1)
            total[rows], marked[rows] = block.total[rows, first + 1], block.marked[rows, first + 1]
    risk = _divide(np.where(seen > 0, area, np.nan), items)
    return np.stack([risk, *(row for total, marked in found for row in (total, marked, items))])


@_by_blocks
def marked_in_top(groups: ScoreGroups, weights: Weights, k: int) -> Floats:
    """Marked items among the top `k`, a tied group at the cut giving its share; NaN with fewer than k items."""
    found, ranked = np.zeros(len(weights)), np.zeros(len(weights))
    for block in _cumulative(groups, weights, _every_group(groups)):
        size = block.total_added()
        places = np.clip(k - block.total[:, :-1], 0.0, size)
        found += _sum_of_products(block.marked_added(), np.divide(places, np.maximum(size, 1.0), dtype=np.float64))
        ranked = block.total[:, -1].astype(np.float64)
    return np.where(ranked >= k, found, np.nan)


@dataclass(frozen=True, slots=True)
class _Block:
    """Cumulative weighted counts [b, s + 1]: before the first of a run of stops, and after each of them.

    In whichever float type holds them exactly; so are their differences, and products are not.
    """

    total: _Reals
    marked: _Reals

    def marked_share(self) -> Floats:
        """marked / total after each stop [b, s]; 0 before the first item, where nothing is weighed by it."""
        share: Floats = np.divide(self.marked[:, 1:], np.maximum(self.total[:, 1:], 1.0), dtype=np.float64)
        return share

    def total_added(self) -> _Reals:
        """Items that each stop adds [b, s]."""
        return self.total[:, 1:] - self.total[:, :-1]

    def marked_added(self) -> _Reals:
        """Marked items that each stop adds [b, s]."""
        return self.marked[:, 1:] - self.marked[:, :-1]


def _sum_of_products(first: _Reals, second: _Reals) -> Floats:
    """Row by row, in float64."""
    sums: Floats = np.einsum("bs,bs->b", first, second, dtype=np.float64)
    return sums


def _items(groups: ScoreGroups, weights: Weights) -> Floats:
    each = np.bincount(groups.unit, groups.total, minlength=groups.units) + groups.unranked
    return weights.astype(np.float64, copy=False) @ each


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


def _cumulative(groups: ScoreGroups, weights: Weights, stop_of_group: Counts) -> Iterator[_Block]:
    """Cumulative counts after each stop (`stop_of_group` never falls), in blocks of stops. None without rows."""
    if groups.unit.size == 0:
        return
    stop = stop_of_group[groups.group]
    stops = int(stop[-1]) + 1
    width = max(16, _BLOCK_CELLS // max(1, len(weights)))
    edges = np.searchsorted(stop, np.arange(0, stops + width, width))
    dense = groups.units * stops <= _DENSE_ADVANTAGE * groups.unit.size
    factors = weights.astype(_float_for(groups, weights), copy=False)
    added = _dense if dense else _gathered
    before = [np.zeros(len(weights), factors.dtype) for _ in range(2)]
    for i, first in enumerate(range(0, stops, width)):
        rows = slice(int(edges[i]), int(edges[i + 1]))
        place, wide = stop[rows] - first, min(width, stops - first)
        inside = added(factors, groups.unit[rows], place, [groups.total[rows], groups.marked[rows]], wide)
        total, marked = (
            np.column_stack([start, start[:, None] + each]) for start, each in zip(before, inside, strict=True)
        )
        before = [total[:, -1], marked[:, -1]]
        yield _Block(total, marked)


def _float_for(groups: ScoreGroups, weights: Weights) -> DTypeLike:
    """The narrower float type in which every cumulative count is exact."""
    largest = float(_items(groups, weights).max(initial=0.0))
    return np.float32 if largest < _EXACT_FLOAT32 else np.float64


def _dense(factors: _Reals, unit: Counts, place: Counts, counts: Sequence[Counts], wide: int) -> Iterator[_Reals]:
    """Each of `counts` added up over a block of rows, from 0 on [b, wide]: one product with those of every unit."""
    units = factors.shape[1]
    for each in counts:
        cells = np.bincount(unit * wide + place, each, minlength=units * wide).reshape(units, wide)
        yield factors @ np.cumsum(cells, axis=1).astype(factors.dtype)


def _gathered(factors: _Reals, unit: Counts, place: Counts, counts: Sequence[Counts], wide: int) -> Iterator[_Reals]:
    """The same by adding up the rows one by one: better with more units than stops."""
    drawn = factors.take(unit, axis=1)
    last = np.searchsorted(place, np.arange(wide), side="right") - 1
    for each in counts:
        yield np.cumsum(drawn * each.astype(factors.dtype), axis=1).take(last, axis=1)
