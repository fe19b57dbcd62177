"""Made-up releases: an inventory of models with saved predictions, sidecars and a frozen catalogue that agree.

Frozen values come from the oracle, in exact fractions. A test then plants what an audit or a gate must find.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from evalframe.audit.inventory import OPTIONAL, REQUIRED
from tests.oracles.classification import METRICS, Window

CLASSES = ("sit", "stand", "walk", "run", "climb", "lie", "row")


@dataclass
class Release:
    """A folder with inventory.csv and run_results.csv. lines, frozen, sidecars: what is to be written, by model."""

    folder: Path
    lines: dict[str, dict[str, str]] = field(default_factory=dict)
    frozen: dict[str, dict[str, Any]] = field(default_factory=dict)
    sidecars: dict[str, dict[str, Any]] = field(default_factory=dict)
    windows: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.csv"

    @property
    def catalogue(self) -> Path:
        return self.folder / "run_results.csv"

    def add(self, model_id: str, truth: np.ndarray, guess: np.ndarray, people: Iterable[str], **line: str) -> None:
        """One model with saved predictions; a guess of -1 is a failed window."""
        arrays = {
            "y_true": truth,
            "y_pred": np.maximum(guess, 0),
            "failed": guess < 0,
            "participant": np.asarray(list(people)),
            "time": np.arange(len(truth)) * 2.0,
            "classes": np.asarray(line.pop("classes", CLASSES)),
        }
        path = self.folder / f"{model_id}.npz"
        np.savez(path, **arrays)
        self.lines[model_id] = {
            "model_id": model_id,
            **dict.fromkeys((*REQUIRED[1:], *OPTIONAL), ""),
            "sidecar": f"{model_id}.json",
            "predictions": path.name,
            **line,
        }
        self.windows[model_id] = (truth, guess)
        self.frozen[model_id] = scores(truth, guess, len(arrays["classes"]))
        self.sidecars[model_id] = dict(self.frozen[model_id])

    def write(self) -> Release:
        """Write the inventory, the catalogue and the sidecars as they now stand."""
        _csv(self.inventory, (*REQUIRED, *OPTIONAL), self.lines.values())
        _csv(self.catalogue, ("model_id", *METRICS), ({"model_id": m, **own} for m, own in self.frozen.items()))
        for model_id, said in self.sidecars.items():
            text = said if isinstance(said, str) else json.dumps(said)
            (self.folder / f"{model_id}.json").write_text(text)
        return self


def scores(truth: np.ndarray, guess: np.ndarray, classes: int) -> dict[str, float]:
    """The four metrics, exactly, then as doubles."""
    windows = [Window("p", int(t), None if g < 0 else int(g)) for t, g in zip(truth, guess, strict=True)]
    return {name: float(metric(windows, classes) or 0) for name, metric in METRICS.items()}


def release(folder: Path, models: int = 36, windows: int = 97, seeds: int = 0) -> Release:
    """`models` models of 2 methods on 2 data sets; class `row` never occurs in fold 0, nor is it predicted there."""
    made = Release(folder)
    combinations = product(("random", "evolution"), ("ADL-Wrist", "PPG"), range(3), range(seeds or -(-models // 12)))
    for number, (method, dataset, fold, seed) in enumerate(combinations):
        if number == models:
            break
        partition = np.random.default_rng([len(dataset), fold])
        classes = len(CLASSES) - (fold == 0)
        truth = partition.integers(0, classes, windows).astype(np.int64)
        rng = np.random.default_rng([7, number])
        guess = np.where(rng.random(windows) < 0.7, truth, rng.integers(0, classes, windows))
        made.add(
            f"{method}-{dataset}-f{fold}-s{seed}",
            truth,
            guess,
            [f"p{i % 5}" for i in range(windows)],
            method=method,
            dataset=dataset,
            fold=str(fold),
            seed=str(seed),
        )
    return made


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _csv(path: Path, names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(names))
        writer.writeheader()
        writer.writerows({k: repr(v) if isinstance(v, float) else v for k, v in row.items()} for row in rows)
