"""Whether what a comparison is narrowed to exists: dimensions that its metrics have, and values that they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalframe.compare.cells import DIMENSIONS
from evalframe.errors import UsageError

if TYPE_CHECKING:
    from evalframe.compare.points import Points
    from evalframe.compare.request import Request
    from evalframe.relations import Relation

_OPTIONS = {"stratum": "--stratum", "horizon_s": "--horizon", "recall": "--recall"}


def refuse_dimensions(request: Request, metrics: Sequence[Relation], others: Sequence[Relation]) -> None:
    """Raise UsageError where `request` names values of a dimension that none of `metrics` has.

    others: metrics that the runs have too; the hint names one with the dimension.
    """
    asked = {"stratum": request.strata, "horizon_s": request.horizons, "recall": request.recalls}
    for dimension, values in asked.items():
        if not values or any(dimension in metric.grain for metric in metrics):
            continue
        option = _OPTIONS[dimension]
        having = next((metric.published for metric in others if dimension in metric.grain), None)
        raise UsageError(
            f"none of the metrics has a {dimension}",
            expected=f"metrics by {dimension}, or no {option}",
            found="; ".join(f"{', '.join(names)} by {has or 'run'}" for has, names in _by_dimensions(metrics).items()),
            where=option,
            hint=f"leave out {option}" if having is None else f"--metric {having} {option} ...",
        )


def refuse_values(request: Request, points: Points) -> None:
    """Raise UsageError where `request` names a horizon or recall at which no run has a value.

    A stratum without a value is no error here: its row says that nothing was there.
    """
    cells = [cell for of_run in points.values() for of_metric in of_run.values() for cell in of_metric]
    for dimension, values in (("horizon_s", request.horizons), ("recall", request.recalls)):
        known = sorted({value for cell in cells if (value := getattr(cell, dimension)) is not None})
        strange = next((value for value in values if value not in known), None)
        if strange is not None:
            option = _OPTIONS[dimension]
            raise UsageError(
                f"no value has {dimension} {strange:g}",
                expected=", ".join(f"{value:g}" for value in known) or f"no {option}",
                found=f"{strange:g}",
                where=option,
                hint=f"{option} {known[0]:g}" if known else f"leave out {option}",
            )


def _by_dimensions(metrics: Sequence[Relation]) -> dict[str, list[str]]:
    """Published names by the dimensions they have."""
    found: dict[str, list[str]] = {}
    for metric in metrics:
        found.setdefault(" and ".join(d for d in DIMENSIONS if d in metric.grain), []).append(metric.published)
    return found
