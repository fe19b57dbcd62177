"""Which recall stands beside an error rate: a false alarm rate means nothing without the recall it was bought with."""

from __future__ import annotations

from collections.abc import Mapping

from evalframe.compare.cells import Cell
from evalframe.compare.points import Point

_RECALL_OF = {
    "no_response_trigger_rate_at_recall": "response_recall",
    "short_resume_trigger_rate_at_recall": "response_recall",
    "false_entries_per_minute_at_recall": "response_recall",
    "continue_false_stop_rate_at_recall": "yield_recall",
    "false_stops_per_minute_at_recall": "yield_recall",
}
_VARIANT = "_full_horizon"


def recall_metric(metric: str) -> str | None:
    """The recall that belongs to an error rate; None for every other metric."""
    stem = metric.removesuffix(_VARIANT)
    recall = _RECALL_OF.get(stem)
    return recall if recall is None or stem == metric else recall + _VARIANT


def recall_reached(points: Mapping[str, Mapping[Cell, Point]], metric: str, cell: Cell) -> float | None:
    """The recall that one run reached where `metric` was read; `points` are that run's, by metric."""
    point = points.get(recall_metric(metric) or "", {}).get(cell)
    return None if point is None else point.value
