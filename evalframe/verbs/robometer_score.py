"""Saved progress traces -> errors, failure calls and filtering, per step; files and a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts.shards import Rows as TableRows
from evalframe.contracts.shards import Spool
from evalframe.errors import UsageError
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.sources.fields import file_sha256
from evalframe.sources.progress import TARGETS as TARGET_COLUMNS
from evalframe.sources.progress_streams import SpooledTargets, SpooledTraces, read_run
from evalframe.store import Store
from evalframe.underway import counted
from evalframe.verbs import robometer_report as report
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import named, said_once
from evalframe.verbs.outputs import Make, made_sha256, to_json, write_made, write_text
from evalframe.verbs.results import Rows
from evalframe.verbs.robometer_output import MANIFEST, TARGETS, TRACES, Output, manifest_text
from evalframe.verbs.robometer_steps import (
    SYSTEM,
    TRACE_COLUMNS,
    AnyTargets,
    Question,
    Traces,
    answers_of,
    check_pools,
    parquet_of,
    pools_of,
    question,
    scored_step,
    spooled_step,
    step_files,
)
from evalframe.verbs.score import Scored
from evalframe.verbs.spooling import spooled

_COMMAND = "robometer score"


@dataclass(frozen=True, repr=False)
class ProgressScores(Rows):
    """The metric rows of every step (table `metric_values`). bodies: metrics.json of each step.

    steps: each step's scores and, where they fit into memory, per-trajectory tables.
    """

    asked: Question
    steps: Mapping[int, Scored]
    bodies: Mapping[int, Mapping[str, Any]]
    command: str = _COMMAND

    def headlines(self) -> list[str]:
        """Every step with the protocol and the start of its fingerprint."""
        return [line for scored in self.steps.values() for line in scored.headlines()]

    def shown(self) -> pa.Table:
        """The values over all trajectories, beside their counts."""
        overall = self.table.filter(pc.equal(self.table["stratum"], "all"))
        return overall.select(["run_id", "metric", "value", "status", "reason", "n_items", "n_excluded", "n_failed"])

    def body(self) -> dict[str, Any]:
        """metrics.json of every step, by step."""
        return {
            "run_id": self.asked.run_id,
            "parameters": dict(self.asked.identity.parameters),
            "steps": {str(step): body for step, body in self.bodies.items()},
        }

    def to_json(self) -> str:
        """The body as one JSON object."""
        return to_json(self.command, self.body(), self.asked.identity.to_json())


@loosely
def score(
    traces: Path | str,
    targets: Path | str,
    *,
    protocol: str,
    output: Path | str | None = None,
    top_k: int | None = None,
    window: str | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    store: Path | str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    force: bool = False,
) -> ProgressScores:
    """Score saved traces (Parquet) against targets (Parquet) under a robometer protocol.

    output: folder for `steps/`, as `evaluate` writes it. top_k, window, settings: protocol parameters. store: folder to
    seal each step in, as run `<run-id>@<step>`. run_id: default that of the traces. Raises InputError (exit 2),
    ContractError (exit 4, among them a pool smaller than k) or StoreConflict (exit 4); nothing is written then.
    """
    chosen = protocol_of(protocol)
    if chosen.system != SYSTEM:
        raise _other_protocol(protocol)
    options = {"top_k": None if top_k is None else str(top_k), "window": window}
    parameters = chosen.settings(said_once(chosen, settings, options))
    with spooled() as spool:
        known, steps = read_run(Path(targets), Path(traces), spool)
        name = named(run_id, _run_of(next(iter(steps.values()))), tags)
        asked = question(chosen, parameters, catalogue(relations), known, name)
        for rows in steps.values():
            check_pools(pools_of(rows), asked, where=str(traces))

        inputs = {"traces_sha256": file_sha256(Path(traces)), "targets_sha256": file_sha256(Path(targets))}
        folder = None if output is None else Output(Path(output))
        manifest = "" if folder is None else _manifest(asked, inputs)
        if folder is not None and not force:
            folder.check(manifest)

        opened = None if store is None else Store.open(store, create=True)
        scored, found = {}, {}
        for step, rows in counted("steps", sorted(steps.items())):
            scored[step], calls = _scored(
                asked,
                step,
                rows,
                spool,
                inputs=inputs,
                tags=tags or {},
                store=opened,
                origin="rescored_saved_predictions",
            )
            found[step] = answers_of(scored[step], calls)
        bodies = {step: report.metrics_body(answers) for step, answers in found.items()}
        if folder is not None:
            _write(folder, asked, found, steps, manifest, force=force)
    return ProgressScores(pa.concat_tables([one.table for one in scored.values()]), asked, scored, bodies)


def _scored(
    asked: Question, step: int, rows: Traces, spool: Spool, **more: Any
) -> tuple[Scored, Mapping[str, TableRows]]:
    if isinstance(rows, SpooledTraces):
        return spooled_step(asked, step, rows, spool, **more)
    return scored_step(asked, step, rows, **more), {}


def _other_protocol(protocol: str) -> UsageError:
    return UsageError(
        f"{protocol} is no robometer protocol",
        expected="robometer-ind, robometer-ood or robometer-filtering-top50",
        found=protocol,
        where="--protocol",
        hint="--protocol robometer-ind",
    )


def _manifest(asked: Question, inputs: Mapping[str, str]) -> str:
    body = {
        "made_by": _COMMAND,
        "run_id": asked.run_id,
        "parameters": dict(asked.identity.parameters),
        "dataset_id": asked.targets.dataset_id,
        "n_trajectories": len(asked.targets.labels),
        "tasks": asked.targets.tasks,
        **inputs,
        "targets_parquet_sha256": made_sha256(_target_file(asked.targets)),
    }
    return manifest_text(body, asked.identity.to_json())


def _write(
    folder: Output,
    asked: Question,
    found: Mapping[int, report.Answers],
    steps: Mapping[int, Traces],
    manifest: str,
    *,
    force: bool,
) -> None:
    """The tree of an evaluation; every step's metrics.json after its other files."""
    write_made(folder.root / TARGETS, _target_file(asked.targets), force=force)
    write_text(folder.root / MANIFEST, manifest, force=force)
    for step, answers in found.items():
        place = folder.step(step)
        place.write_made(TRACES, _trace_file(steps[step]), replace=force)
        for name, make in step_files(asked, answers, _COMMAND).items():
            place.write_made(name, make, replace=force)


def _target_file(known: AnyTargets) -> Make:
    if isinstance(known, SpooledTargets):
        return parquet_of(known.table, TARGET_COLUMNS)
    return parquet_of(known.table.sort("trajectory_id", "frame_index").to_arrow(), TARGET_COLUMNS)


def _trace_file(rows: Traces) -> Make:
    if isinstance(rows, SpooledTraces):
        return parquet_of(rows.table, TRACE_COLUMNS)
    return parquet_of(rows.sort("trajectory_id", "query_task", "prefix_index").to_arrow(), TRACE_COLUMNS)


def _run_of(rows: Traces) -> str:
    return rows.run_id if isinstance(rows, SpooledTraces) else str(rows["run_id"][0])
