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
from functools import partial
from typing import Concatenate, ParamSpec, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalframe.stats.merging import Weights

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Replicates and stops of one block: long rows hide what a call costs, and a few blocks stay in a core's cache.
_BLOCK_REPLICATES = 4_096
_BLOCK_STOPS = 64
# A matrix product does this many multiplications in the time in which one row is added.
_DENSE_ADVANTAGE = 5
# With fewer replicates, a call for each row costs more than what it adds.
_FEW_REPLICATES = 64


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
        positives = block.marked[-1].copy()
    return _divide(area, positives)


@_by_blocks
def roc_auc(groups: ScoreGroups, weights: Weights) -> Floats:
    """Probability that a positive outranks a negative, a tie counting half."""
    pairs, positives, items = (np.zeros(len(weights)) for _ in range(3))
    for block in _cumulative(groups, weights, _every_group(groups)):
        negatives = block.total_added() - block.marked_added()
        # Twice the positives that outrank: those above the group, and half of those in it.
        pairs += _sum_of_products(negatives, block.marked[1:] + block.marked[:-1]) / 2.0
        positives, items = block.marked[-1].copy(), block.total[-1].copy()
    return _divide(pairs, positives * (items - positives))


def coverage(accepted: Floats) -> Floats:
    """Accepted / items, from the three rows that `selective` gives for a fraction."""
    return _divide(np.where(accepted[0] > 0, accepted[0], np.nan), accepted[2])


def unmarked_share(accepted: Floats) -> Floats:
    """Share of the accepted that is not marked, from the same three rows: accuracy where marked are errors."""
    return _divide(accepted[0] - accepted[1], accepted[0])


@_by_blocks
def selective(
    groups: ScoreGroups, weights: Weights, fractions: Sequence[Fraction], budgets: Sequence[Fraction]
) -> Floats:
    """What accepting in falling confidence yields, [1 + 3 x fractions + budgets, b]. `marked` are errors.

    First AURC: sum over groups of items added x error rate after the group, over all items; undefined where no item has
    a score. Then three rows per fraction on its most confident items, those whose score reaches the
    max(1, ceil(fraction x items))-th largest, or the smallest where fewer rank: how many they are, how many of them are
    marked, and all items. Then a row per budget: the largest share of items accepted, in whole groups from the top,
    with errors / accepted <= budget, decided on integers; 0 if none.

    All need the counts after every group, and cumulating those is nearly all the work.
    """
    items = _items(groups, weights)
    ranked = items - weights.astype(np.float64, copy=False) @ groups.unranked
    area = np.zeros(len(weights))
    places = [np.minimum(np.maximum(np.ceil(items * f.numerator / f.denominator), 1.0), ranked) for f in fractions]
    found = np.zeros((len(fractions), 2, len(weights)))
    within = np.zeros((len(budgets), len(weights)))
    for block in _cumulative(groups, weights, _every_group(groups)):
        area += _sum_of_products(block.total_added(), block.marked_share())
        for (total, marked), place in zip(found, places, strict=True):
            reached = np.flatnonzero((block.total[0] < place) & (block.total[-1] >= place))
            first = 1 + (block.total[1:, reached] >= place[reached]).argmax(axis=0)
            total[reached], marked[reached] = block.total[first, reached], block.marked[first, reached]
        for most, budget in zip(within, budgets, strict=True):
            np.maximum(most, block.most_within(budget), out=most)
    risk = _divide(np.where(ranked > 0, area, np.nan), items)
    accepted = (row for total, marked in found for row in (total, marked, items))
    return np.stack([risk, *accepted, *(_divide(most, items) for most in within)])


@_by_blocks
def marked_in_top(groups: ScoreGroups, weights: Weights, k: int) -> Floats:
    """Marked items among the top `k`, a tied group at the cut giving its share; NaN with fewer than k items."""
    found, ranked = np.zeros(len(weights)), np.zeros(len(weights))
    for block in _cumulative(groups, weights, _every_group(groups)):
        size = block.total_added()
        places = np.clip(k - block.total[:-1], 0.0, size)
        found += _sum_of_products(block.marked_added(), places / np.maximum(size, 1.0))
        ranked = block.total[-1].copy()
    return np.where(ranked >= k, found, np.nan)


@dataclass(frozen=True, slots=True)
class _Block:
    """Cumulative weighted counts [s + 1, b]: before the first of a run of stops, and after each of them."""

    total: Floats
    marked: Floats

    def marked_share(self) -> Floats:
        """marked / total after each stop [s, b]; 0 before the first item, where nothing is weighed by it."""
        total = self.total[1:]
        return self.marked[1:] / (total if total[0].all() else np.maximum(total, 1.0))

    def total_added(self) -> Floats:
        """Items that each stop adds [s, b]."""
        return self.total[1:] - self.total[:-1]

    def marked_added(self) -> Floats:
        """Marked items that each stop adds [s, b]."""
        return self.marked[1:] - self.marked[:-1]

    def most_within(self, budget: Fraction) -> Floats | float:
        """The most items after a stop at which marked <= budget x total; 0 where there is none."""
        # Both only grow, so in most blocks not even the first count of marked items and the last of all are within it.
        if (self.marked[0] * budget.denominator > budget.numerator * self.total[-1]).all():
            return 0.0
        within = self.marked[1:] * budget.denominator <= budget.numerator * self.total[1:]
        most: Floats = np.where(within, self.total[1:], 0.0).max(axis=0)
        return most


def _sum_of_products(first: Floats, second: Floats) -> Floats:
    """Replicate by replicate."""
    sums: Floats = np.einsum("sb,sb->b", first, second)
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


def _cumulative(groups: ScoreGroups, weights: Weights, stop_of_group: Counts) -> Iterator[_Block]:
    """Cumulative counts after each stop (`stop_of_group` never falls), in blocks of stops. None without rows.

    A block is there until the next one is asked for, which takes its place.
    """
    if groups.unit.size == 0:
        return
    stop = stop_of_group[groups.group]
    stops = int(stop[-1]) + 1
    edges = np.searchsorted(stop, np.arange(0, stops + _BLOCK_STOPS, _BLOCK_STOPS))
    factors = np.ascontiguousarray(weights.T, dtype=np.float64)
    add: Callable[[Counts, Counts, Counts, Floats], None]
    if groups.units * stops <= _DENSE_ADVANTAGE * groups.unit.size:
        add = partial(_add_products, factors)
    elif len(weights) < _FEW_REPLICATES:
        add = partial(_add_at_once, factors)
    else:
        add = partial(_add_rows, list(factors))
    total, marked = (np.zeros((_BLOCK_STOPS + 1, len(weights))) for _ in range(2))
    for first, start, end in zip(range(0, stops, _BLOCK_STOPS), edges, edges[1:], strict=False):
        wide = min(_BLOCK_STOPS, stops - first)
        for counts, into in ((groups.total, total), (groups.marked, marked)):
            add(groups.unit[start:end], stop[start:end] - first, counts[start:end], into[: wide + 1])
        yield _Block(total[: wide + 1], marked[: wide + 1])
        total[0], marked[0] = total[wide], marked[wide]


def _add_products(factors: Floats, unit: Counts, place: Counts, counts: Counts, into: Floats) -> None:
    """Add the rows of a block up, from `into[0]` on: one product with the counts of every unit."""
    units, wide = len(factors), len(into) - 1
    cells = np.bincount(place * units + unit, counts, minlength=units * wide).reshape(wide, units)
    np.matmul(np.cumsum(cells, axis=0), factors, out=into[1:])
    into[1:] += into[0]


def _add_at_once(factors: Floats, unit: Counts, place: Counts, counts: Counts, into: Floats) -> None:
    """The same by adding up all rows in one call."""
    added = np.cumsum(factors[unit] * counts[:, None], axis=0)
    last = np.searchsorted(place, np.arange(len(into) - 1), side="right") - 1
    np.add(into[0], added[last], out=into[1:])


def _add_rows(factors: Sequence[Floats], unit: Counts, place: Counts, counts: Counts, into: Floats) -> None:
    """The same row by row, each for all replicates."""
    before = list(into)
    after = before[1:]
    last = -1
    for at, each, count in zip(place.tolist(), unit.tolist(), counts.tolist(), strict=True):
        so_far = after[at] if at == last else before[at]
        if count == 1:
            np.add(so_far, factors[each], out=after[at])
        elif count:
            np.add(so_far, factors[each] * count, out=after[at])
        elif at != last:
            after[at][:] = so_far
        last = at
