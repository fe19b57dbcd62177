"""Which runs of a leaderboard cannot be told from its best: paired intervals of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalframe.compare.measuring import Measured
from evalframe.compare.request import Request
from evalframe.compare.states import Reader
from evalframe.underway import counted
from evalframe.verbs.sides import SideReader

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.engines.duckdb import DuckDB
    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue
    from evalframe.stats.intervals import Interval
    from evalframe.store import Store


def intervals_from_best(
    engine: DuckDB,
    store: Store,
    catalogue: Catalogue,
    protocol: Protocol,
    metric: str,
    fingerprint: str,
    cell: Cell,
    runs: Sequence[str],
    replicates: int,
) -> dict[str, Interval]:
    """95 % intervals of run - best for every run but the first of `runs`, which is the best.

    fingerprint: of the metric whose values were ranked; where the installed definition is another, there are none.
    """
    sides = SideReader(store, catalogue).read(runs, protocol.label)
    best, *others = (sides[run] for run in runs)
    if any(side.prints.get(metric) != fingerprint for side in sides.values()):
        return {}
    request = Request(best.run_id, tuple(side.run_id for side in others), replicates=replicates)
    every = tuple(name for name in protocol.metrics if name in best.prints)
    reader = Reader(store, catalogue, engine)
    measured = Measured(reader, protocol, [metric], every, list(sides.values()), request)
    return {
        side.run_id: measured.resampler.interval(best, side, metric, cell) for side in counted("runs compared", others)
    }
