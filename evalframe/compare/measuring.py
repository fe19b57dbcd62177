"""Everything that is computed about the sides of a comparison at once: states, point estimates, a resampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from evalframe.compare.cells import Cell
from evalframe.compare.points import Point, Points, points
from evalframe.compare.reached import recall_metric
from evalframe.compare.sampling import Sampler
from evalframe.compare.uncertainty import Resampler

if TYPE_CHECKING:
    from evalframe.compare.clustering import Clustering
    from evalframe.compare.request import Request
    from evalframe.compare.reselecting import Reselection
    from evalframe.compare.sides import Side
    from evalframe.compare.states import Reader
    from evalframe.protocols import Protocol
    from evalframe.relations import Relation


class Measured:
    """Point estimates of `sides` by run, metric and cell, and the resampler of their changes."""

    points: Points
    resampler: Resampler
    reselection: Reselection | None
    """Intervals with thresholds chosen anew, where a metric is read at a threshold and clusters are the protocol's."""
    cluster: str
    """What is resampled, in the field's word."""

    def __init__(
        self,
        reader: Reader,
        protocol: Protocol,
        metrics: Sequence[str],
        every_metric: Sequence[str],
        sides: Sequence[Side],
        request: Request,
    ) -> None:
        """every_metric: all that the runs have; their states say which clusters there are, whatever is asked for."""
        catalogue, engine = reader.catalogue, reader.engine
        beside = [recall for metric in metrics if (recall := recall_metric(metric)) in every_metric]
        shown = tuple(dict.fromkeys((*metrics, *(name for name in beside if name is not None))))
        cut = [state.name for state in catalogue.cluster_states(*dict.fromkeys((*shown, *every_metric)))]
        self.clustering = self._clustering(reader, protocol, cut, sides, request)
        states = reader.read(cut, sides) if self.clustering is None else self.clustering.read(reader, cut, sides)
        needed = catalogue.tables(*shown, given=frozenset(cut))
        runs = [side.run_id for side in sides]
        dimensions: dict[str, pa.Table] = {name: reader.table(name, runs) for name in needed}
        self.points = points(engine, catalogue, shown, sides, states, dimensions)
        sampler = Sampler(engine, catalogue, states, dimensions, self.points)
        self.resampler = Resampler(sampler, self.points, replicates=request.replicates, seed=request.seed)
        by_protocol = request.cluster is None or request.cluster == protocol.cluster
        self.reselection = None
        if by_protocol and any("recall" in catalogue[metric].grain for metric in metrics):
            from evalframe.compare.reselecting import Reselection

            self.reselection = Reselection.of(
                reader, sides, metrics, self.points, replicates=request.replicates, seed=request.seed
            )
        unit = self.reselection.test_unit() if self.reselection is not None else None
        self.cluster = unit or request.cluster or protocol.cluster

    @staticmethod
    def _clustering(
        reader: Reader, protocol: Protocol, names: Sequence[str], sides: Sequence[Side], request: Request
    ) -> Clustering | None:
        """The clusters asked for, where they are not the protocol's."""
        if request.cluster is None or request.cluster == protocol.cluster:
            return None
        from evalframe.compare.clustering import clustering

        return clustering(reader, protocol, request.cluster, names, sides)

    def point(self, side: Side, relation: Relation, cell: Cell) -> Point | None:
        """The point estimate of one side in one cell; None where it has none."""
        return self.points[side.run_id].get(relation.name, {}).get(cell)
