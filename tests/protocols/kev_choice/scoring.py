"""Choice runs through the relations, without a store: many runs in one evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from evalframe.sources.choice import ChoiceRun, rows_run

Values = dict[tuple[str, str, str], dict[str, Any]]
"""(run_id, metric, stratum) -> the row of metric_values, as far as the relations give it."""


def run(rows: Iterable[Mapping[str, Any]], run_id: str = "r") -> ChoiceRun:
    return rows_run(rows, run_id)


def values(
    runs: Sequence[ChoiceRun],
    policy: str = "kev-choice/2",
    settings: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    pooled: bool = True,
) -> Values:
    """Every metric of the protocol (or those named) of all runs, by published name."""
    chosen = protocol(policy)
    wanted = tuple(metrics) or chosen.metrics
    answers = evaluated(runs, wanted, policy, settings, pooled=pooled)
    return {
        (row["run_id"], catalogue()[metric].published, row["stratum"]): row
        for metric in wanted
        for row in answers[metric].to_pylist()
    }


def evaluated(
    runs: Sequence[ChoiceRun],
    outputs: Sequence[str],
    policy: str = "kev-choice/2",
    settings: Mapping[str, str] | None = None,
    given: Mapping[str, pa.Table] | None = None,
    pooled: bool = True,
) -> dict[str, pa.Table]:
    """The rows of relations over all runs; `given` are states that are supplied instead of computed."""
    given = given or {}
    wanted = plan(
        catalogue(),
        outputs,
        parameters=protocol(policy).settings(settings),
        given=frozenset(given),
        pooled=pooled,
    )
    sources = {**tables(runs), **given}
    with DuckDB(threads=1) as engine:
        for name in wanted.sources:
            engine.bind(name, sources[name])
        return engine.evaluate(wanted)


def tables(runs: Sequence[ChoiceRun]) -> dict[str, pa.Table]:
    """The tables of all runs, one under the other."""
    return {name: pa.concat_tables([one.tables[name] for one in runs]) for name in runs[0].tables}
