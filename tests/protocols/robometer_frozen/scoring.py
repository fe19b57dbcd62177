"""Rows in the file forms -> values, through the relations and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from evalframe.sources import progress as source


def tables(traces: pl.DataFrame, targets: pl.DataFrame) -> Mapping[str, pa.Table]:
    """The contracted tables of one run with one step."""
    known = source.targets(targets, "targets")
    (one,) = source.traces(traces, known, "traces").values()
    return source.run_tables(one, known)


def evaluated(
    run: Mapping[str, pa.Table], label: str, outputs: Sequence[str] | None = None, **settings: str
) -> dict[str, list[dict[str, Any]]]:
    """The rows of `outputs` (default: the metrics and stored relations of the protocol), by relation."""
    chosen = protocol(label)
    wanted = outputs or (*chosen.metrics, *chosen.stored)
    with DuckDB(threads=1) as engine:
        for name, table in run.items():
            engine.bind(name, table)
        answers = engine.evaluate(plan(catalogue(), wanted, parameters=chosen.settings(settings)))
    return {name: table.to_pylist() for name, table in answers.items()}


def value(rows: Sequence[Mapping[str, Any]], stratum: str = "all") -> Mapping[str, Any]:
    """The one row of a stratum."""
    (row,) = [row for row in rows if row["stratum"] == stratum]
    return row
