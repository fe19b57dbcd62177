"""Fast ways to evaluate some known metrics under weights. None is a definition: each is used only where it gives what
the metric's own SQL gave on the very data, and the SQL answers where it does not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.stats import confusion

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.resampling import SampledState

Weights = NDArray[np.int64]
Values = NDArray[np.float64]
Kernel = Callable[[Weights], Values]
"""Weights [b, units] to values [b, cells], NaN where undefined."""


@dataclass(frozen=True)
class Sample:
    """What a kernel may read: the per-cluster states of the sample, the protocol's settings, the small tables."""

    states: Mapping[str, SampledState]
    parameters: Mapping[str, str]
    dimensions: Mapping[str, pa.Table]
    _made: dict[Hashable, Any] = field(default_factory=dict)

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What several kernels of the sample use, made for the first of them."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def kernel_for(metric: str, cells: Sequence[Cell], sample: Sample) -> Kernel | None:
    """The kernel of `metric` (a relation name) for these cells, or None where there is none."""
    build = _KERNELS.get(metric)
    if build is None:
        return None
    parts = [build(sample, cell) for cell in cells]
    return lambda weights: np.stack([part(weights) for part in parts], axis=1)


class _ClassCounts:
    """Counts per class under weights, worked out once for all metrics that ask about the same weights."""

    def __init__(self, sample: Sample, stratum: str) -> None:
        state = sample.states["class_counts_by_cluster"]
        classes = len(sample.dimensions["class_vocabulary"])
        inside = np.asarray(pc.equal(state.key_column("stratum"), stratum))
        place = (state.rows.unit * classes + np.asarray(state.key_column("class_index"), dtype=np.int64))[inside]
        items = state.column("items")
        counted = items - state.column("failed") if sample.parameters["failed"] == "excluded" else items
        tables = [
            np.bincount(place, column[inside], minlength=state.rows.units * classes).reshape(-1, classes)
            for column in (counted, state.column("hits"), state.column("predicted"))
        ]
        self._table = np.hstack(tables).astype(np.float64)
        self._latest: tuple[Weights, confusion.ClassCounts] | None = None

    def under(self, weights: Weights) -> confusion.ClassCounts:
        if self._latest is None or self._latest[0] is not weights:
            support, hits, predicted = np.split(weights.astype(np.float64) @ self._table, 3, axis=1)
            self._latest = (weights, confusion.ClassCounts(support, hits, predicted))
        return self._latest[1]


def _class_wise(metric: Callable[[confusion.ClassCounts], Values], sample: Sample, cell: Cell) -> Kernel:
    counts = sample.shared(("classes", cell.stratum), lambda: _ClassCounts(sample, cell.stratum))
    return lambda weights: metric(counts.under(weights))


_KERNELS: Mapping[str, Callable[[Sample, Cell], Kernel]] = {
    "accuracy": partial(_class_wise, confusion.accuracy),
    "macro_f1": partial(_class_wise, confusion.macro_f1),
    "balanced_accuracy": partial(_class_wise, confusion.balanced_accuracy),
    "worst_class_f1": partial(_class_wise, confusion.worst_class_f1),
}
