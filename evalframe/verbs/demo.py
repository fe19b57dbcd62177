"""The first hour: sample data of two systems, scored, ranked, compared, refused, queried. The same every time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.verbs import demo_data
from evalframe.verbs.opened import Store, open_store
from evalframe.verbs.outputs import write_bytes
from evalframe.verbs.results import Rows

_WINDOWS = {"cnn": (0.74, 1), "gru": (0.79, 2), "gru-wide": (0.80, 3)}
_QUESTIONS = {"kev-base": (0.3, 4), "kev-tuned": (0.45, 5)}
_QUERY = (
    "SELECT run_id, class, support, recall FROM class_report WHERE run_id IN ('cnn', 'gru') AND recall < 0.75"
    " ORDER BY recall LIMIT 5"
)


@dataclass(frozen=True)
class Step:
    """One command of the tour: what it shows, how it is typed, what it found, its exit code where that is a verdict."""

    title: str
    command: str
    result: Rows
    exit_code: int | None = None


def demo(folder: Path) -> Iterator[Step]:
    """Run the tour in `folder`, a step at a time. Files and runs that are there already stay as they are."""
    data, results = folder / "data", folder / "store"
    yield from _scored(data, results)
    store = open_store(results)
    named = f"--store {results}"
    yield Step(
        "Which run is best, and which cannot be told from it?",
        f"evalframe leaderboard {named} --protocol wisp-har --metric macro_f1",
        store.leaderboard(protocol="wisp-har", metric="macro_f1"),
    )
    yield _compared(
        store, named, "Is gru-wide better than cnn? Participants are resampled, not windows.", "cnn", "gru-wide"
    )
    yield _compared(
        store, named, "The same predictions under another policy answer another question.", "gru", "gru-excluding"
    )
    yield Step("Ask anything in SQL.", f'evalframe sql "{_QUERY}" {named}', store.sql(_QUERY))


def _scored(data: Path, store: Path) -> Iterator[Step]:
    from evalframe.verbs import kev, wisp

    def windows(run: str, source: str, settings: dict[str, str]) -> Step:
        path = data / f"{source}.npz"
        skill, seed = _WINDOWS[source]
        write_bytes(path, demo_data.windows(skill=skill, seed=seed))
        scored = wisp.score(
            path, store=store, run_id=run, settings=settings, tags={"method": source, "dataset": "demo"}
        )
        more = "".join(f" --set {name}={value}" for name, value in settings.items())
        return Step(
            "Score saved predictions of activity windows.",
            f"evalframe wisp score --predictions {path} --output {run}.json --store {store} --run-id {run}{more}",
            scored,
        )

    steps = [windows(run, run, {}) for run in _WINDOWS]
    windows("gru-excluding", "gru", {"failed": "excluded"})
    yield steps[0]
    for run, (skill, seed) in _QUESTIONS.items():
        path = data / f"{run}.jsonl"
        write_bytes(path, demo_data.questions(skill=skill, seed=seed))
        scored = kev.score(rows=path, store=store, run_id=run, tags={"model": run, "dataset": "demo"})
    yield Step(
        "Score a model's answers to multiple-choice questions.",
        f"evalframe kev score --rows {path} --output {run}.json --store {store} --run-id {run}",
        Rows(_headline(scored.table)),
    )


def _headline(values: pa.Table) -> pa.Table:
    """The primary numbers of the headline population."""
    primary = pc.field("metric").isin(["accuracy", "nll", "ece"]) & (pc.field("stratum") == "headline")
    return values.filter(primary).select(["metric", "stratum", "value", "status", "n_items"])


def _compared(store: Store, named: str, title: str, baseline: str, candidate: str) -> Step:
    found = store.compare(baseline, candidate)
    command = f"evalframe compare {named} --baseline {baseline} --candidate {candidate}"
    return Step(title, command, found, found.exit_code)
