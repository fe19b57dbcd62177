"""Quantiles with the interpolation named: unnamed, two libraries answer 2 and 2.5 for the median of 1, 2, 3, 4."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Interpolation = Literal["linear", "lower", "higher", "nearest", "midpoint"]


def quantile(values: NDArray[np.float64], q: float, interpolation: Interpolation) -> float | None:
    """The `q`-quantile of `values` (finite, any order); None for no values.

    With h = q (n - 1): `linear` interpolates between the neighbours of position h, `lower` and `higher` take one,
    `nearest` the nearer (a half goes to the even position), `midpoint` their mean.
    """
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"a quantile lies in [0, 1], not at {q}")
    if values.size == 0:
        return None
    if not np.isfinite(values).all():
        raise ValueError("quantile of values that are not all finite: drop and count the undefined ones first")
    return float(np.quantile(values, q, method=interpolation))
