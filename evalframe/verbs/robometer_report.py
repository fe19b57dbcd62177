"""Progress runs as they are reported: what each phase of a step says, and metrics.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import Protocol
from evalframe.relations import Catalogue, plan

Rows = Sequence[Mapping[str, Any]]
Answers = Mapping[str, Rows]

PROGRESS = ("progress_mse", "progress_spearman", "progress_mae", "progress_calls")
FAILURE = (
    "failure_precision",
    "failure_recall",
    "failure_f1",
    "failure_accuracy",
    "failure_roc_auc",
    "failure_ap",
    "failure_counts",
    "failure_calls",
)
SCORES = ("pearson", "final", "delta", "slope", "late_mean_delta")

_CELLS = ("tp", "fp", "fn", "tn", "n_no_window")
_RATES = ("precision", "recall", "f1", "accuracy")
_PROGRESS_DETAIL = ("trajectory_id", "task", "outcome", "status", "n_points", "n_failed", "mse", "mae", "spearman")
_FAILURE_DETAIL = (
    "trajectory_id",
    "task",
    "outcome",
    "status",
    "called_failure",
    "because",
    "n_windows",
    "fired_window",
    "fired_window_pearson",
    "final_value",
    "failure_score",
)


def filtering_relations(protocol: Protocol) -> tuple[str, ...]:
    """The filtering metrics of a protocol, and where each query task's cut lies."""
    return (*(name for name in protocol.metrics if name.startswith("top_k_")), "filter_cuts")


def evaluated(
    tables: Mapping[str, pa.Table], relations: Catalogue, parameters: Mapping[str, str], outputs: Sequence[str]
) -> dict[str, Rows]:
    """The rows of `outputs` over the tables of one run."""
    with DuckDB() as engine:
        for name, table in tables.items():
            engine.bind(name, table)
        answers = engine.evaluate(plan(relations, outputs, parameters=parameters))
    return {name: table.to_pylist() for name, table in answers.items()}


def progress_body(found: Answers) -> dict[str, Any]:
    """What progress.json says: the means, how many trajectories stand behind them, and each trajectory."""
    calls = _by_trajectory(found["progress_calls"])
    return {
        **_progress_values(found),
        "progress_mae": _row(found["progress_mae"])["value"],
        "by_task": _by_task(found, ("progress_mse", "progress_spearman")),
        "trajectories": [{name: row[name] for name in _PROGRESS_DETAIL} for row in calls],
    }


def failure_body(found: Answers) -> dict[str, Any]:
    """What failure.json says: rates, counts, ranking, and each trajectory's call with what made it."""
    calls = _by_trajectory(found["failure_calls"])
    return {
        **_failure_values(found),
        "by_task": _by_task(found, FAILURE[:6]),
        "trajectories": [{name: row[name] for name in _FAILURE_DETAIL} for row in calls],
    }


def filtering_body(found: Answers, top_k: int) -> dict[str, Any]:
    """What filtering.json says: top-k correctness per score, overall and per query task, and each pool."""
    cuts = [row for row in found["filter_cuts"] if row["stratum"] == "all"]
    return {
        "k": top_k,
        "top_k": _top_k_values(found),
        "by_task": _by_task(found, [name for name in found if name.startswith("top_k_")]),
        "pools": {row["query_task"]: {"n": row["n_pool"], "n_failed": row["n_failed"]} for row in cuts},
    }


def metrics_body(found: Answers) -> dict[str, Any]:
    """What metrics.json says, of the metrics that the protocol has. Undefined ones are null, their reason beside."""
    body: dict[str, Any] = {}
    if "progress_mse" in found:
        body |= _progress_values(found) | _failure_values(found)
    body["top_k"] = _top_k_values(found)
    measured = {name: _row(rows) for name, rows in found.items() if rows and "status" in rows[0] and "value" in rows[0]}
    body["undefined"] = {name: row["reason"] for name, row in sorted(measured.items()) if row["status"] != "ok"}
    return body


def _progress_values(found: Answers) -> dict[str, Any]:
    calls = found["progress_calls"]
    return {
        "progress_mse": _row(found["progress_mse"])["value"],
        "progress_spearman": _row(found["progress_spearman"])["value"],
        "n_trajectories": len(calls),
        "n_scored": _count(calls, "scored"),
        "n_too_few_points": _count(calls, "too_few_points"),
        "n_missing": _count(calls, "missing"),
        "n_failed": _count(calls, "failed"),
        "n_spearman_undefined": sum(row["status"] == "scored" and row["spearman"] is None for row in calls),
    }


def _failure_values(found: Answers) -> dict[str, Any]:
    counts = _row(found["failure_counts"])
    return {
        "failure": {
            **{name: _row(found[f"failure_{name}"])["value"] for name in _RATES},
            **{name: counts[name] for name in _CELLS},
        },
        "failure_roc_auc": _row(found["failure_roc_auc"])["value"],
        "failure_ap": _row(found["failure_ap"])["value"],
    }


def _top_k_values(found: Answers) -> dict[str, float | None]:
    return {name: _row(found[f"top_k_{name}"])["value"] for name in SCORES if f"top_k_{name}" in found}


def _by_task(found: Answers, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = {}
    for name in names:
        for row in found[name]:
            if row["stratum"] != "all":
                tasks.setdefault(row["stratum"].removeprefix("task="), {})[name] = row["value"]
    return tasks


def _row(rows: Rows) -> Mapping[str, Any]:
    (row,) = [row for row in rows if row["stratum"] == "all"]
    return row


def _count(calls: Rows, status: str) -> int:
    return sum(row["status"] == status for row in calls)


def _by_trajectory(rows: Rows) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: row["trajectory_index"])
