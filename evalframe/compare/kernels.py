"""Fast ways to evaluate some known metrics under weights. None is a definition: each is used only where it gives what
the metric's own SQL gave on the very data, and the SQL answers where it does not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.stats.merging import Weights

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.resampling import SampledState

Values = NDArray[np.float64]
Kernel = Callable[[Weights], Values]
"""Weights [b, units], whole numbers as floats, to values: [b] of one cell, [b, cells] of several; NaN: undefined."""


def as_floats(weights: Weights) -> Values:
    """The weights as float64, without a copy where they are."""
    return weights.astype(np.float64, copy=False)


@dataclass(frozen=True)
class Material:
    """What a kernel may read.

    states: the per-cluster states of the runs of a sample. parameters: the protocol's settings. dimensions: the small
    tables of the first run. relation: rows, by name, of a relation made of small tables only, for every run.
    """

    runs: Sequence[str]
    states: Mapping[str, SampledState]
    parameters: Mapping[str, str]
    dimensions: Mapping[str, pa.Table]
    relation: Callable[[str], pa.Table]
    _made: dict[Hashable, Any] = field(default_factory=dict)

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What several kernels of a sample use, made for the first of them."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


class Latest:
    """What a function gave for the weights it was last asked about: several metrics ask about the same."""

    def __init__(self, function: Callable[[Weights], Any]) -> None:
        self._function = function
        self._weights: Weights | None = None
        self._found: Any = None

    def __call__(self, weights: Weights) -> Any:
        if weights is not self._weights:
            self._found, self._weights = self._function(weights), weights
        return self._found


def kernel_for(metric: str, cells: Sequence[Cell], material: Material) -> Kernel | None:
    """The kernel of `metric` (a relation name) for these cells, or None where there is none."""
    # Not before they are needed: a comparison of the metrics of one system loads those of no other.
    from evalframe.compare.class_kernels import CLASS_WISE

    build: Callable[[Material, Cell], Kernel] | None = CLASS_WISE.get(metric)
    if build is None:
        from evalframe.compare.rank_kernels import RANKED

        build = RANKED.get(metric)
    if build is None:
        return None
    parts = [build(material, cell) for cell in cells]
    return lambda weights: np.stack([part(weights) for part in parts], axis=1)
