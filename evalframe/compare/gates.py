"""`--fail-if-worse METRIC[:X[:ci]]`: a regression check on the rows of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalframe.compare.rows import PROPORTION
from evalframe.errors import UsageError

_ROUND_OFF = 1e-12
"""What a subtraction may add: 0.79 - 0.8 is a worsening of one percentage point, not of more."""


@dataclass(frozen=True)
class Gate:
    """Fails when `metric` worsens by more than `margin`: by the point estimate, or unless the interval rules it out.

    margin is in the metric's unit, percentage points for proportions.
    """

    metric: str
    margin: float = 0.0
    by_interval: bool = False

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read `METRIC`, `METRIC:X`, `METRIC:X:ci` or `METRIC:ci`, in which X is 0. UsageError for anything else."""
        metric, *rest = text.split(":")
        by_interval = rest[-1:] == ["ci"]
        given = (rest[:-1] if by_interval else rest) or ["0"]
        try:
            margin = float(given[0] or ("0" if by_interval else "nan"))
        except ValueError:
            margin = math.nan
        if not metric or len(given) > 1 or not 0 <= margin < math.inf:
            raise UsageError(
                "the regression check cannot be read",
                expected="METRIC, METRIC:X or METRIC:X:ci with X a worsening of at least 0",
                found=repr(text),
                where="--fail-if-worse",
                hint="--fail-if-worse macro_f1:0.5:ci",
            )
        return cls(metric, margin, by_interval)

    def verdict(self, rows: Iterable[Mapping[str, Any]]) -> GateResult:
        """Judge every row of the metric (each candidate, horizon and stratum). No row, or one without value, fails."""
        failures = [why for row in rows if (why := self._why(row)) is not None]
        found = [row for row in rows if row["metric"] == self.metric]
        if not found:
            failures = [f"{self.metric} is not among the compared metrics"]
        return GateResult(self, not failures, tuple(failures))

    def _why(self, row: Mapping[str, Any]) -> str | None:
        if row["metric"] != self.metric:
            return None
        at = f"{row['candidate_run']}: {self.metric} in {row['stratum']}"
        if row["better"] == "none":
            return f"{at} has no better direction"
        if row["change"] is None:
            return f"{at} has no change ({row['reason']})"
        sign = 1.0 if row["better"] == "higher" else -1.0
        margin = self.margin / 100.0 if row["unit"] == PROPORTION else self.margin
        limit = 0.0 - sign * margin  # from 0, so that it is never -0
        if not self.by_interval:
            gain = sign * row["change"]
            return (
                None if gain >= -margin - _ROUND_OFF else f"{at} moved by {row['change']:.6g}, the limit is {limit:.6g}"
            )
        if row["ci_low"] is None:
            return f"{at} has no interval ({row['reason']})"
        worst = row["ci_low"] if sign > 0 else -row["ci_high"]
        bounds = f"[{row['ci_low']:.6g}, {row['ci_high']:.6g}]"
        return None if worst > -margin + _ROUND_OFF else f"{at}: the interval {bounds} does not rule out {limit:.6g}"


class GateResult(NamedTuple):
    """Whether a gate passed, and every row that failed it in words."""

    gate: Gate
    passed: bool
    failures: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The gate, its margin and its failures."""
        return {
            "metric": self.gate.metric,
            "margin": self.gate.margin,
            "by_interval": self.gate.by_interval,
            "passed": self.passed,
            "failures": list(self.failures),
        }
