"""Rows for charts from the star schema: a few numbers per run, never the facts themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.compare.reading import reading
from evalframe.errors import printable

Rows = list[dict[str, Any]]
FAILED = "(failed)"
_Z = 1.959963984540054


def reliability_rows(fact_bin: pa.Table, protocol: str, fingerprint: str, stratum: str, runs: Sequence[str]) -> Rows:
    """Bins with answers: mean confidence, share of right answers, Wilson 95 % interval of it (answers independent)."""
    rows = []
    for row in _bins(fact_bin, protocol, fingerprint, stratum, runs):
        low, high = wilson(row["correct"], row["n"])
        rows.append(
            {
                "run": printable(row["run_id"]),
                "confidence": row["confidence_sum"] / row["n"],
                "accuracy": row["correct"] / row["n"],
                "low": low,
                "high": high,
                "n": row["n"],
            }
        )
    return rows


def risk_coverage_rows(fact_bin: pa.Table, protocol: str, fingerprint: str, stratum: str, runs: Sequence[str]) -> Rows:
    """Errors among the answers of the most confident bins, a point per bin from the top down, from the bins' sums."""
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in _bins(fact_bin, protocol, fingerprint, stratum, runs):
        by_run.setdefault(row["run_id"], []).append(row)
    rows = []
    for run, bins in by_run.items():
        total, accepted, correct = sum(row["n"] for row in bins), 0, 0
        for row in sorted(bins, key=lambda row: -row["bin"]):
            accepted, correct = accepted + row["n"], correct + row["correct"]
            point = {"coverage": accepted / total, "risk": 1 - correct / accepted, "from_confidence": row["lo"]}
            rows.append({"run": printable(run), **point})
    return rows


def _bins(fact_bin: pa.Table, protocol: str, fingerprint: str, stratum: str, runs: Sequence[str]) -> Rows:
    found: Rows = fact_bin.filter(
        (pc.field("protocol") == protocol)
        & (pc.field("protocol_fingerprint") == fingerprint)
        & (pc.field("stratum") == stratum)
        & (pc.field("n") > 0)
        & pc.field("run_id").isin(list(runs))
    ).to_pylist()
    return found


def trace_rows(traces: pa.Table, calls: pa.Table) -> Rows:
    """Own-task traces of some trajectories of one run with the failure call made on each.

    traces, calls: rows of the contracts progress_traces and failure_calls.
    """
    known = {row["trajectory_id"]: row for row in calls.to_pylist()}
    rows = []
    for row in traces.sort_by([("trajectory_index", "ascending"), ("prefix_index", "ascending")]).to_pylist():
        call = known.get(row["trajectory_id"])
        if call is None or row["query_task"] != call["task"]:
            continue
        if row["progress"] is None:
            continue
        right = call["called_failure"] == call["is_failure"]
        rows.append(
            {
                "trajectory": printable(row["trajectory_id"]),
                "frame": row["frame_index"],
                "progress": row["progress"],
                "outcome": call["outcome"],
                "call": "not called" if call["called_failure"] is None else f"called {'right' if right else 'wrong'}ly",
            }
        )
    return rows


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; n > 0."""
    share, spread = hits / n, _Z * _Z / n
    centre = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def confusion_rows(counted: pa.Table, classes: Sequence[str]) -> tuple[Rows, list[str], list[str]]:
    """Cells of one run, then the true and the predicted classes in order.

    counted: target_class, predicted_class and n of what is counted. classes: the vocabulary in its order; absent
    classes are rows and columns of zeros. Failed items are a last column.
    """
    counts: dict[tuple[str, str], int] = {}
    for row in counted.to_pylist():
        cell = (printable(row["target_class"]), printable(row["predicted_class"] or FAILED))
        counts[cell] = counts.get(cell, 0) + row["n"]
    targets = [printable(name) for name in classes]
    predictions = [*targets, *([FAILED] if any(p == FAILED for _, p in counts) else [])]
    support = {target: sum(counts.get((target, p), 0) for p in predictions) for target in targets}
    rows = [
        {
            "target": target,
            "predicted": predicted,
            "n": (n := counts.get((target, predicted), 0)),
            "share": n / support[target] if support[target] else 0.0,
        }
        for target in targets
        for predicted in predictions
    ]
    return rows, targets, predictions


def forest_rows(rows: Iterable[Mapping[str, Any]], limit: int) -> dict[str, Rows]:
    """Unit -> rows of a forest plot: changes with an interval, proportions in percentage points.

    Additional tests repeat a change and are left out. At most `limit` rows per unit, in the order given.
    """
    units: dict[str, Rows] = {}
    shown = [r for r in rows if r["change"] is not None and r["ci_low"] is not None and "additional" not in r["flags"]]
    several = len({row["candidate_run"] for row in shown}) > 1
    for row in shown:
        points = row["change_pp"] is not None
        change, low, high = (row[f"{name}_pp" if points else name] for name in ("change", "ci_low", "ci_high"))
        unit = "percentage points" if points else str(row["unit"]).replace("_", " ")
        label = _label(row) + (f" · {printable(row['candidate_run'], 60)}" if several else "")
        made = units.setdefault(unit, [])
        if len(made) < limit:
            made.append({"label": label, "change": change, "low": low, "high": high, "verdict": reading(row)})
    return units


def _label(row: Mapping[str, Any]) -> str:
    parts = [row["metric"], *(f"{row['horizon_s']:g} s" for _ in [0] if row["horizon_s"] is not None)]
    if row["stratum"] != "all":
        parts.append(f"({printable(row['stratum'], 40)})")
    return " ".join(parts)


def horizon_rows(values: Iterable[Mapping[str, Any]], metric: str, stratum: str, recall: float) -> Rows:
    """Defined values of one metric at one wanted recall, by run and horizon."""
    return [
        {"run": printable(row["run_id"]), "horizon_s": row["horizon_s"], "value": row["value"]}
        for row in values
        if row["metric"] == metric
        and row["stratum"] == stratum
        and row["recall"] == recall
        and row["horizon_s"] is not None
        and row["value"] is not None
    ]
