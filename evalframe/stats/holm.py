"""Holm's step-down correction over the members of a family that can be tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class HolmFamily(NamedTuple):
    """Adjusted p-values in the order given; None where there was nothing to test. `m` counts the tested members."""

    adjusted: tuple[float | None, ...]
    m: int


def holm(p_values: Sequence[float | None]) -> HolmFamily:
    """Adjust `p_values`; a member whose p is None is untestable: it stays in its place and does not count in m.

    The k-th smallest of m is multiplied by m - k + 1, made no smaller than the one before it, and capped at 1.
    """
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    if any(not 0.0 <= p <= 1.0 for p, _ in tested):
        raise ValueError("a p-value lies in [0, 1]; give None for a member that cannot be tested")
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for k, (p, i) in enumerate(tested):
        running = max(running, min(1.0, (len(tested) - k) * p))
        adjusted[i] = running
    return HolmFamily(tuple(adjusted), len(tested))
