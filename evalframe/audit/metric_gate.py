"""metric_equivalence: saved predictions rescored against the frozen record. Torch has no part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import pyarrow as pa

from evalframe.audit.files import Files
from evalframe.audit.findings import Finding, Gate
from evalframe.audit.inventory import Model
from evalframe.audit.recorded import FROZEN, Record, recorded_table
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import EvalframeError
from evalframe.protocols.base import Protocol
from evalframe.protocols.wisp_har import FROZEN_TOLERANCE
from evalframe.relations import Catalogue, plan
from evalframe.sources.classification import SavedPredictions
from evalframe.underway import counted

GATE: Gate = "metric_equivalence"
SUBJECT = "frozen_record"
WINDOWS_AT_ONCE = 2_000_000
"""Many models are rescored by one query; this bounds how much of them is held."""


def metric_gate(
    models: Sequence[Model],
    files: Files,
    frozen: Mapping[str, Record],
    why_not: Mapping[str, str],
    *,
    protocol: Protocol,
    relations: Catalogue,
    tolerance: str,
    on_read: Callable[[SavedPredictions], None] | None = None,
) -> Iterator[Finding]:
    """One finding per model. why_not: models whose frozen record does not count, with the reason.

    tolerance: canonical decimal. on_read: called with the predictions of every model that was rescored.
    """
    read = _read(models, files, frozen, why_not, protocol.metrics)
    with DuckDB() as engine:
        engine.bind("frozen_results", recorded_table(frozen.values(), FROZEN))
        for _, group in groupby(_portions(read), key=lambda item: item[0]):
            held: list[SavedPredictions] = []
            for _, outcome in group:
                if isinstance(outcome, Finding):
                    yield outcome
                else:
                    held.append(outcome)
            yield from _rescored(engine, held, frozen, protocol, relations, tolerance)
            for saved in counted("models sealed", held):
                if on_read is not None:
                    on_read(saved)


def _read(
    models: Sequence[Model],
    files: Files,
    frozen: Mapping[str, Record],
    why_not: Mapping[str, str],
    metrics: Sequence[str],
) -> Iterator[Finding | SavedPredictions]:
    for model in counted("models rescored", models):
        name = model.model_id
        lacking = [metric for metric in metrics if name in frozen and metric not in frozen[name].values]
        reason = why_not.get(name)
        if reason is None and model.predictions is None:
            reason = "the inventory names no saved predictions"
        elif reason is None and name not in frozen:
            reason = "the frozen catalogue has no record of it"
        elif reason is None and lacking:
            reason = f"the frozen record has no {', '.join(lacking)}"
        if reason is not None:
            yield Finding(name, GATE, SUBJECT, "not_run", reason)
            continue
        try:
            saved = files.predictions(model)
        except EvalframeError as error:
            yield Finding(name, GATE, SUBJECT, "failed", f"{error.what}: {error.found}")
            continue
        assert saved is not None
        yield saved


def _portions(outcomes: Iterator[Finding | SavedPredictions]) -> Iterator[tuple[int, Finding | SavedPredictions]]:
    """Numbers the portions that are rescored together."""
    portion = windows = 0
    for outcome in outcomes:
        if isinstance(outcome, SavedPredictions):
            windows += len(outcome.tables["class_labels"])
            if windows > WINDOWS_AT_ONCE:
                portion, windows = portion + 1, len(outcome.tables["class_labels"])
        yield portion, outcome


def _rescored(
    engine: DuckDB,
    held: Sequence[SavedPredictions],
    frozen: Mapping[str, Record],
    protocol: Protocol,
    relations: Catalogue,
    tolerance: str,
) -> Iterator[Finding]:
    if not held:
        return
    for table in held[0].tables:
        engine.bind(table, pa.concat_tables([saved.tables[table] for saved in held]))
    settings = {**protocol.settings(), FROZEN_TOLERANCE.name: tolerance}
    found = engine.evaluate(plan(relations, ["rescored_against_frozen"], parameters=settings))
    differing: dict[str, list[str]] = {}
    for row in found["rescored_against_frozen"].to_pylist():
        told = f"{row['metric']} is {row['observed']!r} and recorded as {row['expected']!r}"
        differing.setdefault(row["run_id"], []).append(told)
    for saved in held:
        wrong = differing.get(saved.run_id, [])
        n = len(frozen[saved.run_id].values)
        reason = "; ".join(wrong) or None
        yield Finding(saved.run_id, GATE, SUBJECT, "failed" if wrong else "passed", reason, n, len(wrong))
