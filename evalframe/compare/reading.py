"""What the interval of a change says in a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BETTER, WORSE, UNCLEAR = "better", "worse", "not separable"


def reading(row: Mapping[str, Any]) -> str:
    """By the 95 % interval alone: better or worse where all of it lies on one side of no change.

    row: of table `comparisons`, with an interval. A metric with no better side is never separable.
    """
    sign = {"higher": 1, "lower": -1}.get(row["better"], 0)
    if sign == 0 or row["ci_low"] <= 0 <= row["ci_high"]:
        return UNCLEAR
    return BETTER if sign * row["ci_low"] > 0 else WORSE
