"""Kernels of the window classification metrics: class counts of all weightings in one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evalframe.compare.classes import STATE
from evalframe.compare.columns import integers, places
from evalframe.compare.kernels import Latest, as_floats
from evalframe.stats import confusion

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.kernels import Kernel, Material, Values
    from evalframe.stats.merging import Weights


class _Counts:
    """Counts per class under weights, in one product for all classes."""

    def __init__(self, material: Material, stratum: str) -> None:
        state = material.states[STATE]
        classes = len(material.dimensions["class_vocabulary"])
        inside = places(state.key_column("stratum"), [stratum]) == 0
        place = (state.rows.unit * classes + integers(state.key_column("class_index")))[inside]
        items = state.column("items")
        counted = items - state.column("failed") if material.parameters["failed"] == "excluded" else items
        tables = [
            np.bincount(place, column[inside], minlength=state.rows.units * classes).reshape(-1, classes)
            for column in (counted, state.column("hits"), state.column("predicted"))
        ]
        self._table = np.hstack(tables).astype(np.float64)

    def __call__(self, weights: Weights) -> confusion.ClassCounts:
        support, hits, predicted = np.split(self._table.T @ as_floats(weights).T, 3)
        return confusion.ClassCounts(support, hits, predicted)


def _class_wise(metric: Callable[[confusion.ClassCounts], Values], material: Material, cell: Cell) -> Kernel:
    counts = material.shared((STATE, cell.stratum), lambda: Latest(_Counts(material, cell.stratum)))
    return lambda weights: metric(counts(weights))


CLASS_WISE: Mapping[str, Callable[[Material, Cell], Kernel]] = {
    "accuracy": partial(_class_wise, confusion.accuracy),
    "macro_f1": partial(_class_wise, confusion.macro_f1),
    "balanced_accuracy": partial(_class_wise, confusion.balanced_accuracy),
    "worst_class_f1": partial(_class_wise, confusion.worst_class_f1),
}
