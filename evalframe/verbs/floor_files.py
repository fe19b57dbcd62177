"""The files of a floor evaluation: a row per run and horizon, from metric values, counts and operating points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from evalframe.protocols.easycom_floor.recalls import Recall
from evalframe.verbs.score import Scored

REPORT = "floor_event_report"

_COUNTS = (
    "n_response_candidates",
    "n_response",
    "n_no_response",
    "n_response_censored",
    "n_response_invalid",
    "n_response_empty_window",
    "n_response_truncated",
    "n_short_resume",
    "n_yield_candidates",
    "n_yield",
    "n_continue",
    "n_yield_censored",
    "n_yield_invalid",
    "n_yield_empty_window",
    "n_yield_truncated",
)
_RATES = (
    "no_response_trigger_rate_at_recall",
    "short_resume_trigger_rate_at_recall",
    "continue_false_stop_rate_at_recall",
)
Row = dict[str, Any]


class RunRows:
    """The rows of one scored run. name: what the files call it."""

    def __init__(self, name: str, scored: Scored, recalls: Sequence[Recall]) -> None:
        self.name = name
        self.tainted = any(scored.table["tainted"].to_pylist())
        self._recalls = recalls
        self._timing = scored.identity.parameters["decision_timing"]
        self._cross_fitted = scored.identity.parameters["calibration_mode"] == "cross_fitted"
        self._points = scored.relations["operating_points"].to_pylist()
        self._reports = scored.relations[REPORT].to_pylist()
        self._metrics = {
            (row["metric"], row["stratum"], row["horizon_s"], row["recall"]): row for row in scored.to_pylist()
        }

    def events(self) -> list[Row]:
        """Stratum `all`, every candidate: the primary evaluation."""
        return [self._row(report) for report in self._of("observed") if report["stratum"] == "all"]

    def secondary(self) -> list[Row]:
        """Only candidates whose whole horizon lies inside their recording."""
        return [self._row(report, "_full_horizon") for report in self._of("full_horizon") if report["stratum"] == "all"]

    def strata(self) -> list[Row]:
        """Every addressee stratum with its exposure; none without annotation."""
        return [
            {**self._row(report), **self._exposure(report["stratum"], report["horizon_s"])}
            for report in self._of("observed")
            if report["stratum"] != "all"
        ]

    def frames(self) -> list[Row]:
        """The framewise diagnostic, a row per step."""
        found = []
        for step, horizon_s in enumerate(sorted({key[2] for key in self._metrics if key[0] == "framewise_ap"}), 1):
            row = self._metrics["framewise_ap", "all", horizon_s, None]
            n_rows = row["n_items"] - row["n_excluded"]
            found.append(
                {
                    "run": self.name,
                    "step": step,
                    "horizon_s": horizon_s,
                    "n_rows": n_rows,
                    "n_positive": int(row["denominator"]),
                    "ap": row["value"],
                }
            )
        return found

    def thresholds(self) -> list[Row]:
        """Every operating point; with the fold it serves, where thresholds are cross-fitted, and with the reason where
        there is none."""
        shown = ("kind", "horizon_s", "recall", "threshold", "n_positives")
        return [
            {
                "run": self.name,
                **({"fold": point["fold"]} if self._cross_fitted else {}),
                **{k: point[k] for k in shown},
                **({"reason": "no_calibration_positives"} if point["threshold"] is None else {}),
            }
            for point in self._points
        ]

    def _of(self, population: str) -> Iterator[Row]:
        ordered = sorted(self._reports, key=lambda report: (report["stratum"], report["horizon_s"]))
        return (report for report in ordered if report["population"] == population)

    def _row(self, report: Row, suffix: str = "") -> Row:
        stratum, horizon_s = report["stratum"], report["horizon_s"]
        row: Row = {"run": self.name}
        if stratum != "all":
            row["stratum"] = stratum
        row |= {"decision_timing": self._timing, "horizon_s": horizon_s}
        row |= {name: report[name] for name in _COUNTS}
        for name in ("response_ap", "yield_ap"):
            row[name + suffix] = self._metric(name + suffix, stratum, horizon_s, None)["value"]
        row["tainted"] = self.tainted
        for recall in self._recalls:
            row |= self._at_recall(recall, stratum, horizon_s, suffix)
        return row

    def _at_recall(self, recall: Recall, stratum: str, horizon_s: float, suffix: str) -> Row:
        def metric(name: str) -> Row:
            return self._metric(name + suffix, stratum, horizon_s, float(recall.exact))

        q = f"{recall.label}{suffix}"
        entry, restart, stop = (metric(name) for name in _RATES)
        return {
            f"response_threshold_at_recall_{q}": self._threshold("response", horizon_s, recall),
            f"response_recall_{q}": metric("response_recall")["value"],
            f"no_response_trigger_rate_at_recall_{q}": entry["value"],
            f"no_response_trigger_count_at_recall_{q}": _count(entry),
            f"short_resume_trigger_rate_at_recall_{q}": restart["value"],
            f"short_resume_trigger_count_at_recall_{q}": _count(restart),
            f"yield_threshold_at_recall_{q}": self._threshold("yield", horizon_s, recall),
            f"yield_recall_{q}": metric("yield_recall")["value"],
            f"continue_false_stop_rate_at_recall_{q}": stop["value"],
            f"continue_false_stop_count_at_recall_{q}": _count(stop),
        }

    def _threshold(self, kind: str, horizon_s: float, recall: Recall) -> float | None:
        """Null with cross-fitting, where each fold has its own."""
        if self._cross_fitted:
            return None
        wanted = {"kind": kind, "horizon_s": horizon_s, "recall": float(recall.exact)}
        (point,) = (p for p in self._points if all(p[key] == value for key, value in wanted.items()))
        threshold: float | None = point["threshold"]
        return threshold

    def _exposure(self, stratum: str, horizon_s: float) -> Row:
        """Minutes at which a false entry or a false stop could have happened, and how many did per minute."""
        entries, stops = "false_entries_per_minute_at_recall", "false_stops_per_minute_at_recall"
        values: Row = {}
        minutes: dict[str, float] = {}
        for recall in self._recalls:
            for name in (entries, stops):
                found = self._metric(name, stratum, horizon_s, float(recall.exact))
                minutes[name] = found["denominator"]
                values[f"{name}_{recall.label}"] = found["value"]
        return {
            "exposure_minutes": minutes[entries] + minutes[stops],
            "entry_exposure_minutes": minutes[entries],
            "stop_exposure_minutes": minutes[stops],
            **values,
        }

    def _metric(self, name: str, stratum: str, horizon_s: float, recall: float | None) -> Row:
        return self._metrics[name, stratum, horizon_s, recall]


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Rows of one kind as a table; a column that is null throughout is one of doubles."""
    table = pa.Table.from_pylist(list(rows))
    return table.cast(
        pa.schema([pa.field(f.name, pa.float64()) if pa.types.is_null(f.type) else f for f in table.schema])
    )


def _count(metric: Row) -> int | None:
    """The triggers of a rate; null where there is no threshold."""
    return None if metric["numerator"] is None else int(metric["numerator"])
