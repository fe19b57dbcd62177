"""McNemar's test on paired right and wrong answers, by exact integer binomial tails."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import NamedTuple


class McNemar(NamedTuple):
    """`b`: pairs that only the first side has right; `c`: only the second. Two-sided p-values."""

    b: int
    c: int
    exact: float
    mid_p: float


def mcnemar(b: int, c: int) -> McNemar:
    """Exact and mid-p of `b` against `c` discordant pairs under a fair coin; no discordant pair gives 1.

    Both are quotients of integers, rounded once. A p below the smallest double is given as the smallest double: it is
    never 0.
    """
    if b < 0 or c < 0:
        raise ValueError(f"counts of discordant pairs are not negative: {b}, {c}")
    exact, mid_p = _two_sided(b + c, min(b, c))
    return McNemar(b, c, exact, mid_p)


@lru_cache(maxsize=65_536)
def _two_sided(n: int, m: int) -> tuple[float, float]:
    """p of at most `m` heads in `n` fair tosses, doubled: exact (capped at 1) and with half of the point `m`."""
    tail, point = _tail(n, m), math.comb(n, m)
    whole = 1 << n
    return _ratio(min(2 * tail, whole), whole), _ratio(2 * tail - point, whole)


def _tail(n: int, m: int) -> int:
    """sum of C(n, i) for i <= m, for m <= n/2, by whichever of the two sides of the middle has fewer terms."""
    if n == 2 * m:
        return ((1 << n) + math.comb(n, m)) // 2
    if m + 1 <= n - 2 * m - 1:
        return _sum_binomials(n, 0, m)
    return ((1 << n) - _sum_binomials(n, m + 1, n - m - 1)) // 2


def _sum_binomials(n: int, first: int, last: int) -> int:
    """sum of C(n, i) for first <= i <= last; 0 when there is none."""
    if last < first:
        return 0
    term = math.comb(n, first)
    total = term
    for i in range(first, last):
        term = term * (n - i) // (i + 1)
        total += term
    return total


def _ratio(part: int, whole: int) -> float:
    return max(part / whole, sys.float_info.min * sys.float_info.epsilon)
