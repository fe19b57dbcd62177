"""Small contracted tables for the store's tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from evalframe.contracts import contract
from evalframe.store import Store

PROTOCOL = "wisp-har/1"
FIRST, SECOND = "ef1-" + "1" * 64, "ef1-" + "2" * 64


def table(name: str, rows: int, /, **columns: Any) -> pa.Table:
    """Rows of a contract table: a list is a column, anything else the value of every row, what is not named null."""
    schema = contract(name).arrow_schema()
    arrays = [
        pa.array(columns[f.name] if isinstance(columns.get(f.name), list) else [columns.get(f.name)] * rows, f.type)
        for f in schema
    ]
    return pa.table(arrays, schema=schema)


def predictions(run_id: str, classes: list[int | None]) -> pa.Table:
    """`class_predictions` of one run."""
    items = list(range(len(classes)))
    return table("class_predictions", len(items), run_id=run_id, item_index=items, class_index=classes)


def values(run_id: str, numbers: Mapping[str, float], fingerprint: str = FIRST) -> pa.Table:
    """`metric_values` of one run, a row per metric."""
    return table(
        "metric_values",
        len(numbers),
        run_id=run_id,
        protocol=PROTOCOL,
        protocol_fingerprint=fingerprint,
        metric=list(numbers),
        metric_fingerprint=fingerprint,
        data_digest="d" * 64,
        stratum="all",
        value=list(numbers.values()),
        status="ok",
        tainted=False,
        unit="proportion",
        better="higher",
        origin="recomputed",
    )


def write_run(store: Store, run_id: str, classes: list[int | None] | None = None, **different: Any) -> str:
    """Seal a run of three predictions, or of those given."""
    given = predictions(run_id, [0, 1, 2] if classes is None else classes)
    facts: dict[str, Any] = {"system": "wisp", "dataset_id": "data", "inputs": {"sha256": "a"}, "tags": {}}
    return store.write_run(run_id, tables={"class_predictions": given}, **{**facts, **different})


def write_results(
    store: Store, run_id: str, numbers: Mapping[str, float] | None = None, fingerprint: str = FIRST, **different: Any
) -> str:
    """Seal results of one metric, or of those given."""
    given = values(run_id, {"accuracy": 0.5} if numbers is None else numbers, fingerprint)
    facts: dict[str, Any] = {"protocol": PROTOCOL, "inputs": {"data": "d"}, "tables": {"metric_values": given}}
    return store.write_results(run_id, protocol_fingerprint=fingerprint, **{**facts, **different})


def comparison(baseline: str, candidate: str) -> pa.Table:
    """`comparisons` of one row."""
    return table(
        "comparisons",
        1,
        comparison_id="c",
        protocol=PROTOCOL,
        protocol_fingerprint=FIRST,
        verdict="comparable",
        baseline_run=baseline,
        candidate_run=candidate,
        metric="accuracy",
        stratum="all",
        status="ok",
        flags=[[]],
        replicates_undefined=0,
    )


def sizes(store: Store) -> list[int]:
    """The different numbers of predictions that runs are seen to have."""
    counts = store.read("class_predictions").group_by("run_id").aggregate([("item_index", "count")])
    return sorted(set(counts["item_index_count"].to_pylist()))
