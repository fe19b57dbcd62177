"""Progress runs as they are reported: what each phase of a step says, and metrics.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalframe.contracts.shards import Rows as TableRows
from evalframe.contracts.shards import batches_of
from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import Protocol
from evalframe.relations import Catalogue, plan

Rows = Collection[Mapping[str, Any]]
Answers = Mapping[str, Rows]


class InOrder(Collection[Mapping[str, Any]]):
    """Rows of trajectories in their order, which need not fit into memory."""

    def __init__(self, rows: TableRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for batch in batches_of(self._rows, self._rows.column_names):
            for start in range(0, len(batch), _SOME):
                yield from batch.slice(start, _SOME).to_pylist()

    def __contains__(self, row: object) -> bool:
        return any(one == row for one in self)


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

_SOME = 1 << 12
"""Rows that are Python objects at a time."""

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
    return {**progress_head(found), "trajectories": list(progress_trajectories(found))}


def progress_head(found: Answers) -> dict[str, Any]:
    """progress.json without its trajectories."""
    return {
        **_progress_values(found),
        "progress_mae": _row(found["progress_mae"])["value"],
        "by_task": _by_task(found, ("progress_mse", "progress_spearman")),
    }


def progress_trajectories(found: Answers) -> Iterator[dict[str, Any]]:
    """Those of progress.json."""
    return ({name: row[name] for name in _PROGRESS_DETAIL} for row in _by_trajectory(found["progress_calls"]))


def failure_body(found: Answers) -> dict[str, Any]:
    """What failure.json says: rates, counts, ranking, and each trajectory's call with what made it."""
    return {**failure_head(found), "trajectories": list(failure_trajectories(found))}


def failure_head(found: Answers) -> dict[str, Any]:
    """failure.json without its trajectories."""
    return {**_failure_values(found), "by_task": _by_task(found, FAILURE[:6])}


def failure_trajectories(found: Answers) -> Iterator[dict[str, Any]]:
    """Those of failure.json."""
    return ({name: row[name] for name in _FAILURE_DETAIL} for row in _by_trajectory(found["failure_calls"]))


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
    measured = {
        name: _row(rows) for name, rows in found.items() if rows and {"status", "value"} <= set(next(iter(rows)))
    }
    body["undefined"] = {name: row["reason"] for name, row in sorted(measured.items()) if row["status"] != "ok"}
    return body


def _progress_values(found: Answers) -> dict[str, Any]:
    calls = found["progress_calls"]
    status = Counter((row["status"], row["spearman"] is None) for row in calls)
    return {
        "progress_mse": _row(found["progress_mse"])["value"],
        "progress_spearman": _row(found["progress_spearman"])["value"],
        "n_trajectories": len(calls),
        "n_scored": status["scored", True] + status["scored", False],
        "n_too_few_points": status["too_few_points", True] + status["too_few_points", False],
        "n_missing": status["missing", True] + status["missing", False],
        "n_failed": status["failed", True] + status["failed", False],
        "n_spearman_undefined": status["scored", True],
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


def _by_trajectory(rows: Rows) -> Iterable[Mapping[str, Any]]:
    return rows if isinstance(rows, InOrder) else sorted(rows, key=lambda row: row["trajectory_index"])
