"""Class-wise metrics under resampling: a class that few clusters hold comes and goes with the draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from evalframe.compare.columns import integers, places
from evalframe.stats.intervals import MAX_MISSING_SHARE, replicates_without

if TYPE_CHECKING:
    from evalframe.compare.resampling import SampledState
    from evalframe.stats.merging import Weights

STATE = "class_counts_by_cluster"
"""The state that tells how many items of which class a cluster holds."""
EXTREMES = frozenset({"worst_class_f1"})
"""Metrics that one missing class decides: no interval."""
CLASSWISE = EXTREMES | {"macro_f1", "balanced_accuracy"}
"""Metrics averaged over the classes that are there: flagged."""
MISSING = "class_missing_in_replicates"


def unsteady(state: SampledState, stratum: str, draws: Iterator[Weights], replicates: int) -> bool:
    """Whether a class that has items in `stratum` has none in more than 1 % of the bootstrap `draws`."""
    inside = (places(state.key_column("stratum"), [stratum]) == 0) & (state.column("items") > 0)
    _, index = np.unique(integers(state.key_column("class_index"))[inside], return_inverse=True)
    held = np.zeros((state.rows.units, int(index.max(initial=-1)) + 1), dtype=np.bool_)
    held[state.rows.unit[inside], index] = True
    missing = sum(replicates_without(weights, held) for weights in draws)
    return bool(np.any(missing > MAX_MISSING_SHARE * replicates))
