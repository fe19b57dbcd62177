"""Our side of a parity check: the shipped relations over the same batches, one run a batch, all in one plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalframe.audit.parity_inputs import Batch
from evalframe.contracts import conform, contract
from evalframe.contracts.shards import in_memory
from evalframe.engines.duckdb import DuckDB
from evalframe.relations import catalogue, plan
from evalframe.sources.choice import rows_run

Values = Mapping[str, Sequence[float | None]]
"""metric -> its value on each batch in stratum `all`; None where it is undefined."""


def values(kind: str, batches: Sequence[Batch], metrics: Sequence[str], parameters: Mapping[str, str]) -> Values:
    """The metrics (relation names) of each batch under `parameters`, the settings of one protocol."""
    tables = _TABLES[kind](batches)
    relations = catalogue()
    given = frozenset(tables) & frozenset(relations.relations)
    with DuckDB(threads=1) as engine:
        for name, table in tables.items():
            engine.bind(name, table)
        answers = engine.evaluate(plan(relations, metrics, parameters=parameters, given=given))
    return {metric: _by_batch(answers[metric], len(batches)) for metric in metrics}


def _by_batch(rows: pa.Table, batches: int) -> list[float | None]:
    found = {row["run_id"]: row["value"] for row in rows.to_pylist() if row["stratum"] == "all"}
    return [found[str(batch)] for batch in range(batches)]


def _choices(batches: Iterable[Batch]) -> dict[str, pa.Table]:
    runs = [rows_run(batch["rows"], str(place)) for place, batch in enumerate(batches)]
    # A data set is a row's identity, not its run's: the same questions may stand in two batches.
    seen: set[str] = set()
    parts: dict[str, list[pa.Table]] = {}
    for run in runs:
        for name, table in in_memory(run.tables).items():
            if "run_id" in table.column_names or run.dataset_id not in seen:
                parts.setdefault(name, []).append(table)
        seen.add(run.dataset_id)
    return {name: pa.concat_tables(tables) for name, tables in parts.items()}


def _windows(batches: Iterable[Batch]) -> dict[str, pa.Table]:
    labels, predictions, vocabulary = [], [], []
    for place, batch in enumerate(batches):
        run = str(place)
        for index, (truth, predicted) in enumerate(zip(batch["y_true"], batch["y_pred"], strict=True)):
            # Each window is a participant of its own: no metric here looks at clusters.
            labels.append({"run_id": run, "item_index": index, "participant": str(index), "class_index": truth})
            predictions.append({"run_id": run, "item_index": index, "class_index": predicted})
        vocabulary += [{"run_id": run, "class_index": label, "class": str(label)} for label in batch["labels"]]
    return {
        name: _contracted(name, rows)
        for name, rows in (
            ("class_labels", labels),
            ("class_predictions", predictions),
            ("class_vocabulary", vocabulary),
        )
    }


def _contracted(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    schema = contract(name).arrow_schema()
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return conform(contract(name), pa.table(columns, schema=schema))


def _failures(batches: Iterable[Batch]) -> dict[str, pa.Table]:
    """failure_calls as the relation yields it; a call is a score of at least one half."""
    rows = [
        {
            "run_id": str(place),
            "trajectory_id": str(index),
            "task": "task",
            "is_failure": failed,
            "called_failure": score >= 0.5,
            "failed": False,
            "has_window": True,
            "failure_score": score,
        }
        for place, batch in enumerate(batches)
        for index, (failed, score) in enumerate(zip(batch["y_true"], batch["y_score"], strict=True))
    ]
    return {"failure_calls": pa.Table.from_pylist(rows)}


_TABLES: Mapping[str, Callable[[Sequence[Batch]], dict[str, pa.Table]]] = {
    "choices": _choices,
    "windows": _windows,
    "failures": _failures,
}
KINDS = tuple(_TABLES)
