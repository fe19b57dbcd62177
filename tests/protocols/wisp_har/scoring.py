"""Scores windows through the shipped relations, for tests that compare the outcome with something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalframe.contracts import conform, contract
from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from tests.oracles.classification import Window

METRICS = protocol("wisp-har/1").metrics


def tables(runs: Mapping[str, Sequence[Window]], classes: int) -> dict[str, pa.Table]:
    """The contracted tables of some runs, each over the same vocabulary c0, c1, ..."""
    rows = [(run, index, window) for run, windows in runs.items() for index, window in enumerate(windows)]
    ids = {
        "run_id": pa.array([run for run, _, _ in rows], pa.large_string()),
        "item_index": pa.array([index for _, index, _ in rows], pa.int64()),
    }
    labels = {
        **ids,
        "sample_id": pa.nulls(len(rows), pa.large_string()),
        "participant": pa.array([window.participant for _, _, window in rows], pa.large_string()),
        "time": pa.nulls(len(rows), pa.float64()),
        "class_index": pa.array([window.target for _, _, window in rows], pa.int16()),
    }
    predictions = {**ids, "class_index": pa.array([window.predicted for _, _, window in rows], pa.int16())}
    vocabulary = {
        "run_id": pa.array(np.repeat(list(runs), classes), pa.large_string()),
        "class_index": pa.array(list(range(classes)) * len(runs), pa.int16()),
        "class": pa.array([f"c{index}" for index in range(classes)] * len(runs), pa.large_string()),
    }
    made = {"class_labels": labels, "class_predictions": predictions, "class_vocabulary": vocabulary}
    return {name: conform(contract(name), pa.table(columns)) for name, columns in made.items()}


def evaluate(
    given: Mapping[str, pa.Table], outputs: Sequence[str] = METRICS, **settings: str
) -> dict[str, list[dict[str, Any]]]:
    """The rows of relations over tables, or over relations already computed, under wisp-har with `settings`."""
    with DuckDB(threads=2) as engine:
        for name, table in given.items():
            engine.bind(name, table)
        computed = frozenset(given) & frozenset(catalogue().relations)
        parameters = protocol("wisp-har").settings(settings)
        answers = engine.evaluate(plan(catalogue(), outputs, parameters=parameters, given=computed))
    return {name: answers[name].to_pylist() for name in outputs}


def values(given: Mapping[str, pa.Table], run: str = "r", **settings: str) -> dict[str, float | None]:
    """The four metrics of one run in stratum 'all'."""
    rows = evaluate(given, **settings)
    return {
        metric: next(row["value"] for row in rows[metric] if (row["run_id"], row["stratum"]) == (run, "all"))
        for metric in METRICS
    }
