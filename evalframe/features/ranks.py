"""Spearman's correlation in integers: exact sums, one division.

The centred rank of a value, doubled, is the number of smaller values minus the number of larger ones: average ranks of
ties without ranking. All sums are integers, so the result does not depend on order or on how rows are grouped.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from evalframe.features.points import Points

Ranks = Sequence[npt.NDArray[np.int16]]
"""Doubled centred ranks of few values: their products and sums stay far below what 16 bits hold."""


def centred_ranks(v: Points) -> Ranks:
    """Doubled centred ranks of up to eight values."""
    found = np.zeros((len(v), len(v[0])), np.int8)
    for i in range(len(v)):
        for j in range(i):
            above = (v[i] > v[j]).view(np.int8) - (v[i] < v[j]).view(np.int8)
            found[i] += above
            found[j] -= above
    return list(found.astype(np.int16))


def rising_ranks(v: Points) -> Ranks | None:
    """`centred_ranks` as one row for all where the values rise in every row: no pair need be compared. Else None."""
    if not all(bool((before < after).all()) for before, after in pairwise(v)):
        return None
    return [np.array([2 * i - (len(v) - 1)], np.int16) for i in range(len(v))]


def product(a: Ranks, b: Ranks) -> npt.NDArray[np.int16]:
    """Sum of a*b over the values."""
    found = np.zeros_like(a[0])
    for left, right in zip(a, b, strict=True):
        found += left * right
    return found


def correlation(
    product: npt.NDArray[np.integer], left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]
) -> npt.NDArray[np.float64]:
    """Correlation from the integer sums of a*b, a*a and b*b of centred ranks; NaN where a side is constant."""
    scale = np.sqrt(left.astype(np.float64) * right.astype(np.float64))
    scale[scale == 0] = np.nan
    return np.clip(product.astype(np.float64) / scale, -1.0, 1.0)
