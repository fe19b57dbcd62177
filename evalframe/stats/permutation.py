"""The paired cluster swap test: under no difference the two sides of any cluster could have been exchanged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalframe.stats.draws import SwapMethod

# Statistics that differ by less are the same number reached by another order of summation.
TIE = 1e-12


class SwapTest(NamedTuple):
    """`extreme` of `draws` were at least as far from zero as the observed change; `min_p` is the least p possible."""

    p_value: float | None
    min_p: float
    method: SwapMethod
    extreme: int
    draws: int


def swap_test(observed: float | None, changes: NDArray[np.float64], clusters: int, method: SwapMethod) -> SwapTest:
    """Two-sided p of |`observed`| among |`changes`| [n], the changes recomputed under each swap pattern.

    Ties within 1e-12 count as extreme, and so does a draw in which the change is undefined (NaN). With all patterns
    p = c / 2^C; with random ones p = (1 + c) / (1 + n), never 0. An undefined observed change has no p.
    """
    n = int(changes.size)
    exact = method == "swap_exact"
    min_p = min(1.0, 2.0 ** (1 - clusters)) if exact else 1.0 / (1 + n)
    if observed is None:
        return SwapTest(None, min_p, method, 0, n)
    below = np.abs(changes) < abs(observed) - TIE  # NaN compares false: undefined is extreme
    extreme = n - int(np.count_nonzero(below))
    return SwapTest(extreme / n if exact else (1 + extreme) / (1 + n), min_p, method, extreme, n)
