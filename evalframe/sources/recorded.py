"""Values that another tool published, as tables: `metric_values` for what is known of them, `recorded_results` for all.

Nothing is filled in: no fingerprint, since nobody computed them here, and null wherever the file says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from evalframe.contracts import contract, from_rows

ORIGIN = "sidecar"
"""Provenance, never an authority: no leaderboard and no verdict takes these values for ours."""

UNKNOWN_UNIT = "unknown"
NO_VALUE = "metric_absent"
"""Why a published value is null: its file names the metric and gives no number."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One published value. evaluation: what was evaluated, in the file's words. details: the result as it stands there,
    JSON text."""

    metric: str
    stratum: str
    value: float | None
    details: str
    evaluation: str | None = None
    unit: str = UNKNOWN_UNIT
    better: str = "none"
    status: str = ""
    reason: str | None = None
    tainted: bool = False
    taint_reason: str | None = None
    horizon_s: float | None = None
    recall: float | None = None
    step: int | None = None
    numerator: float | None = None
    denominator: float | None = None
    n_items: int | None = None
    n_excluded: int | None = None
    n_failed: int | None = None
    standard_error: float | None = None
    interval_low: float | None = None
    interval_high: float | None = None
    confidence_level: float | None = None
    n_samples: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells one value of a run from another."""
        return self.metric, self.stratum, self.horizon_s, self.recall, self.step


@dataclass(frozen=True)
class Published:
    """The results of one file. run_id: whose they are, where the file says it. head: what it says besides, as JSON."""

    source: str
    sha256: str
    format: str
    results: Sequence[Result]
    run_id: str | None = None
    system: str | None = None
    claimed_protocol: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    head: Mapping[str, Any] = field(default_factory=dict)

    def metric_values(self, run_id: str) -> pa.Table:
        """Rows of `metric_values` with origin sidecar and no fingerprint."""
        return from_rows(contract("metric_values"), (self._value(result, run_id) for result in self.results))

    def recorded_results(self, run_id: str) -> pa.Table:
        """Rows of `recorded_results`."""
        table = contract("recorded_results")
        stamps = {"run_id": run_id, "source": self.source, "source_digest": self.sha256, "format": self.format}
        rows = [
            {**{name: getattr(result, name, None) for name in table.names}, **stamps, "result_index": index}
            for index, result in enumerate(self.results)
        ]
        return from_rows(table, rows)

    def _value(self, result: Result, run_id: str) -> dict[str, Any]:
        names = contract("metric_values").names
        known = {name: getattr(result, name) for name in names if hasattr(result, name)}
        status = result.status or ("undefined" if result.value is None else "ok")
        return {
            **known,
            "run_id": run_id,
            "status": status,
            "reason": result.reason or (None if status == "ok" else NO_VALUE),
            "origin": ORIGIN,
            "claimed_protocol": self.claimed_protocol,
            "source_digest": self.sha256,
        }
