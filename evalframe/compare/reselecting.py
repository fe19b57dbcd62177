"""Error rates at an operating point with the threshold chosen anew in each replicate.

The plain interval keeps the thresholds as they were selected. Here the calibration units are resampled too, from draws
of their own, every replicate chooses its thresholds from them, and the rate is read there on the resampled clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.compare.columns import floats, integers
from evalframe.stats.draws import bootstrap_weights
from evalframe.stats.intervals import Interval, percentile_interval
from evalframe.stats.thresholds import ScoredUnits

if TYPE_CHECKING:
    from evalframe.compare.cells import Cell
    from evalframe.compare.points import Points
    from evalframe.compare.sides import Side
    from evalframe.compare.states import Reader

SOURCE = "floor_events"
ROLES = "floor_roles"
_FULL_HORIZON = "_full_horizon"
# Draws for choosing thresholds anew are a stream of their own beside the seed's.
_STREAM = 2
_TOLERANCE = 1e-12

Weights = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rate:
    """Events whose share at the threshold is a metric: of one kind, with or without outcome, short pauses only."""

    kind: str
    outcome: bool
    short: bool = False


RATES = {
    "response_recall": Rate("response", True),
    "no_response_trigger_rate_at_recall": Rate("response", False),
    "short_resume_trigger_rate_at_recall": Rate("response", False, short=True),
    "yield_recall": Rate("yield", True),
    "continue_false_stop_rate_at_recall": Rate("yield", False),
}


def rate_of(metric: str) -> Rate | None:
    """What the metric is a share of; None for metrics without a threshold."""
    return RATES.get(metric.removesuffix(_FULL_HORIZON))


@dataclass(frozen=True)
class Reselected:
    """The interval with thresholds chosen anew, and the calibration units that were resampled for it."""

    interval: Interval
    unit: str
    units: int


class Reselection:
    """Reselects thresholds for pairs of runs. Both sides share the draws of calibration units, as they do of clusters.

    events: rows of `floor_events` of every run. roles: rows of `floor_roles`, since a calibration unit without events
    is a unit still: were it left out, every draw would hold more events than chance gives.
    """

    def __init__(self, events: pa.Table, roles: pa.Table, points: Points, *, replicates: int, seed: int) -> None:
        self._events = events
        self._roles = self._in_role(roles, "calibration")
        self._points = points
        self._replicates = replicates
        self._seed = seed

    @classmethod
    def of(
        cls,
        reader: Reader,
        sides: Sequence[Side],
        metrics: Sequence[str],
        points: Points,
        *,
        replicates: int,
        seed: int,
    ) -> Reselection | None:
        """For `sides`, where a metric of theirs is read at a threshold; else None."""
        if not any(rate_of(metric) for metric in metrics):
            return None
        found = reader.read([SOURCE, ROLES], sides)
        return cls(found[SOURCE], found[ROLES], points, replicates=replicates, seed=seed)

    def test_unit(self) -> str | None:
        """What the evaluated clusters are (session or segment), where all runs agree."""
        units = pc.unique(self._in_role(self._events, "evaluation")["cluster_unit"]).to_pylist()
        return str(units[0]) if len(units) == 1 else None

    def interval(
        self, baseline: Side, candidate: Side, metric: str, cell: Cell, clusters: Sequence[str]
    ) -> Reselected | None:
        """The interval of candidate - baseline; None where whole runs do not give the values that their SQL gave."""
        rate = rate_of(metric)
        if rate is None or cell.recall is None or not clusters:
            return None
        sides = []
        for side in (baseline, candidate):
            mine = self._events.filter(pc.equal(self._events["run_id"], side.run_id))
            mine = mine.filter(pc.and_(pc.equal(mine["kind"], rate.kind), pc.equal(mine["horizon_s"], cell.horizon_s)))
            sides.append((side, mine))
        calibration = pa.concat_tables([self._in_role(mine, "calibration") for _, mine in sides])
        if not calibration.num_rows:
            return None
        mine = pc.is_in(self._roles["run_id"], pa.array([baseline.run_id, candidate.run_id], pa.large_string()))
        named = self._roles.filter(pc.and_(mine, pc.is_valid(self._roles["cluster_id"])))
        units = sorted({*calibration["cluster_id"].to_pylist(), *named["cluster_id"].to_pylist()})
        kinds = sorted(set(calibration["cluster_unit"].to_pylist()))
        found = [_Side(side, mine, rate, metric, cell, clusters, units) for side, mine in sides]
        whole = (np.ones((1, len(clusters)), dtype=np.int64), np.ones((1, len(units)), dtype=np.int64))
        for one in found:
            point = self._points[one.run_id][metric][cell].value
            value = one.values(*whole)[0]
            if point is None or not abs(value - point) <= _TOLERANCE:
                return None
        drawn = zip(
            bootstrap_weights(len(clusters), self._replicates, self._seed, _cells(clusters, units)),
            bootstrap_weights(len(units), self._replicates, [self._seed, _STREAM], _cells(units, clusters)),
            strict=True,
        )
        changes = [found[1].values(*weights) - found[0].values(*weights) for weights in drawn]
        interval = percentile_interval(np.concatenate(changes), len(clusters))
        return Reselected(interval, "+".join(kinds), len(units))

    @staticmethod
    def _in_role(events: pa.Table, role: str) -> pa.Table:
        return events.filter(pc.equal(events["role"], role))


class _Side:
    """One run's events of one kind and horizon: scores to choose thresholds from and to hold against them, by fold."""

    def __init__(
        self,
        side: Side,
        events: pa.Table,
        rate: Rate,
        metric: str,
        cell: Cell,
        clusters: Sequence[str],
        units: Sequence[str],
    ) -> None:
        self.run_id = side.run_id
        self._recall = Fraction(str(cell.recall))
        scored = events.filter(pc.equal(events["state"], "scored"))
        chosen_from = scored.filter(pc.and_(pc.equal(scored["role"], "calibration"), scored["outcome"]))
        held = scored.filter(pc.and_(pc.equal(scored["role"], "evaluation"), pc.equal(scored["outcome"], rate.outcome)))
        if metric.endswith(_FULL_HORIZON):
            held = held.filter(pc.invert(held["truncated"]))
        if rate.short:
            held = held.filter(_short(held, side))
        if cell.stratum != "all":
            held = held.filter(pc.fill_null(pc.equal(held["stratum"], cell.stratum), False))
        folds = sorted(set(events.filter(pc.equal(events["role"], "evaluation"))["fold"].to_pylist()))
        self._folds = [
            (_by_unit(_of(chosen_from, "fold", fold), units), _by_unit(_of(held, "fold", fold), clusters))
            for fold in folds
        ]

    def values(self, test: Weights, calibration: Weights) -> Floats:
        """The rate under weights over clusters and over calibration units, [b]; NaN where undefined."""
        reached, total = np.zeros(len(test)), np.zeros(len(test))
        for chosen_from, held in self._folds:
            thresholds = chosen_from.threshold(calibration, self._recall)
            reached += np.where(np.isnan(thresholds), np.nan, held.triggered(test, thresholds))
            total += held.total(test)
        rate: Floats = np.divide(reached, total, out=np.full(len(test), np.nan), where=total > 0)
        return rate


def _short(events: pa.Table, side: Side) -> pa.Array:
    """Events after which the others start again within the limit, in whole microseconds."""
    row, limit = (
        int(Decimal(side.parameters[name]) * 1_000_000) for name in ("row_seconds", "midturn_pause_max_seconds")
    )
    pause = pc.multiply(pc.subtract(events["competing_row"], events["boundary_row"]), row)
    return pc.fill_null(pc.less_equal(pause, limit), False)


def _of(table: pa.Table, column: str, value: str) -> pa.Table:
    return table.filter(pc.equal(table[column], value))


def _by_unit(events: pa.Table, units: Sequence[str]) -> ScoredUnits:
    place = pc.index_in(events["cluster_id"], value_set=pa.array(units, events["cluster_id"].type))
    return ScoredUnits.of(integers(place), floats(events["score"]), len(units))


def _cells(mine: Sequence[str], others: Sequence[str]) -> int:
    """Cells of a block such that draws over `mine` and over `others` come in blocks of equally many replicates."""
    return max(1, 2_000_000 // max(len(mine), len(others))) * len(mine)
