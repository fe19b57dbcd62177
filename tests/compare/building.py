"""Small stores of window classification runs, built from plain tuples, and the same runs as the oracle sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from evalframe.contracts import contract
from evalframe.protocols import protocol
from evalframe.relations import Catalogue
from evalframe.store import Store
from evalframe.verbs.score import Run, score
from tests.oracles import classification as oracle

CLASSES = ("sit", "stand", "walk")
METRICS = ("macro_f1", "accuracy", "balanced_accuracy", "worst_class_f1")


class Item(NamedTuple):
    """One window: its id (None: items have none), who, the true class and the predicted one (None: failed)."""

    sample_id: str | None
    participant: str
    target: int
    predicted: int | None


def items(count: int, participants: int, *, skill: float, seed: int, world: int = 0) -> list[Item]:
    """`count` windows; labels and participants depend on `world` alone, predictions on `seed` and `skill`."""
    labels, model = np.random.default_rng(world), np.random.default_rng([seed, 7])
    people = labels.integers(0, participants, count)
    truth = labels.integers(0, len(CLASSES), count)
    ease = model.normal(0.0, 0.15, participants)
    right = model.random(count) < skill + ease[people]
    guess = np.where(right, truth, (truth + model.integers(1, len(CLASSES), count)) % len(CLASSES))
    return [
        Item(f"w{i:04d}", f"p{p:02d}", int(t), int(g))
        for i, (p, t, g) in enumerate(zip(people, truth, guess, strict=True))
    ]


def add_run(
    store: Store,
    run_id: str,
    rows: Sequence[Item],
    *,
    classes: Sequence[str] = CLASSES,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    taint: str | None = None,
    dataset: str = "windows",
    relations: Catalogue | None = None,
) -> None:
    """Score `rows` under wisp-har into `store`."""
    columns: dict[str, list[Any]] = {
        "run_id": [run_id] * len(rows),
        "item_index": list(range(len(rows))),
        "sample_id": [row.sample_id for row in rows],
        "participant": [row.participant for row in rows],
        "time": [None] * len(rows),
        "class_index": [row.target for row in rows],
    }
    guesses = {
        "run_id": columns["run_id"],
        "item_index": columns["item_index"],
        "class_index": [row.predicted for row in rows],
    }
    vocabulary = {
        "run_id": [run_id] * len(classes),
        "class_index": list(range(len(classes))),
        "class": list(classes),
    }
    tables = {
        name: pa.table(data, schema=contract(name).arrow_schema())
        for name, data in (
            ("class_labels", columns),
            ("class_predictions", guesses),
            ("class_vocabulary", vocabulary),
        )
    }
    score(
        Run(run_id, "wisp", dataset, tables, {"rows": repr(rows)}, tags or {}),
        protocol("wisp-har"),
        settings,
        store=store,
        taint=taint,
        relations=relations,
    )


def by_participant(rows: Sequence[Item]) -> dict[str, list[oracle.Window]]:
    """The windows of each participant, as the oracles take them."""
    found: dict[str, list[oracle.Window]] = {}
    for row in rows:
        found.setdefault(row.participant, []).append(oracle.Window(row.participant, row.target, row.predicted))
    return found


def value(metric: str, windows: Sequence[oracle.Window], policy: oracle.Policy = "wrong") -> float | None:
    """The metric of some windows by its oracle."""
    exact = getattr(oracle, metric)(windows, len(CLASSES), policy)
    return None if exact is None else float(exact)
