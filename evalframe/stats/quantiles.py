"""Quantiles with the interpolation named: unnamed, two libraries answer 2 and 2.5 for the median of 1, 2, 3, 4."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Interpolation = Literal["linear", "lower", "higher", "nearest", "midpoint"]


def quantile(values: NDArray[np.float64], q: float, interpolation: Interpolation) -> float | None:
    """The `q`-quantile of `values` (finite, any order); None for no values. Bit for bit what numpy.quantile gives.

    With h = q (n - 1): `linear` interpolates between the neighbours of position h, `lower` and `higher` take one,
    `nearest` the nearer (a half goes to the even position), `midpoint` their mean.
    """
    # Not numpy.quantile: it loads numpy.ma, which takes longer than the comparison of two small runs.
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"a quantile lies in [0, 1], not at {q}")
    if values.size == 0:
        return None
    if not np.isfinite(values).all():
        raise ValueError("quantile of values that are not all finite: drop and count the undefined ones first")
    position = q * (values.size - 1)
    low, high = math.floor(position), math.ceil(position)
    ordered = np.partition(values, (low, high))
    below, above, share = float(ordered[low]), float(ordered[high]), position - low
    if interpolation in ("linear", "midpoint"):
        share = 0.5 if interpolation == "midpoint" else share
        # From the nearer end, so that neither end is missed by round-off.
        return below + (above - below) * share if share < 0.5 else above - (above - below) * (1.0 - share)
    if interpolation == "nearest":
        return below if share < 0.5 or (share == 0.5 and low % 2 == 0) else above
    return below if interpolation == "lower" else above
