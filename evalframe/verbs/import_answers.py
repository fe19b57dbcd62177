"""Answers from elsewhere, scored and sealed under a protocol of ours; what every importer shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.protocols import protocol as protocol_of
from evalframe.sources.marks import Mark, mark_tables
from evalframe.store import Store
from evalframe.verbs.score import Run, Scored, score

ANSWERS = "kev-answers/1"


@dataclass(frozen=True)
class Asked:
    """What holds for the whole import. run_id: null where the files name their runs. policy: protocol of choices."""

    store: Store
    run_id: str | None
    tags: Mapping[str, str]
    settings: Mapping[str, str]
    policy: str


def score_marks(
    marks: Sequence[Mark],
    name: str,
    where: str,
    inputs: Mapping[str, Any],
    tags: Mapping[str, str],
    asked: Asked,
    taint: str | None = None,
) -> Scored:
    """Score and seal one run of marked answers. taint: why its numbers must not be taken for a result."""
    protocol = protocol_of(ANSWERS)
    dataset_id, tables = mark_tables(marks, name, where)
    run = Run(name, protocol.system, dataset_id, tables, inputs, tags)
    return score(run, protocol, asked.settings, store=asked.store, taint=taint)


def row_of(path: Path, scored: Scored, stratum: str, n: int) -> dict[str, Any]:
    """The row that says what became of a file of n answers."""
    return {
        "source": path.name,
        "run_id": scored.run_id,
        "protocol": scored.identity.protocol.label,
        "stratum": stratum,
        "n": n,
        "accuracy": scored.value("accuracy", stratum),
        "outcome": scored.outcome,
    }
