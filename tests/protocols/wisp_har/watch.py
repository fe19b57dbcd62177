"""A release of fitted models on smart-watch windows: three decoders, folds by person, seeds, exports in two units.

The windows are real (`har_watch`) or made up in the same shape. Every series of a person is a participant of its own,
for its time starts anew. What is saved as predictions is computed here, by sorting by hand, and not by the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.audit.releases import Release, scores, sha256
from tests.inference.models import (
    ConvSequence,
    GruSequence,
    WindowNet,
    drawn,
    export,
    fitted,
    metadata,
    save_state,
    write,
)

DATASET = "watch"
FOLDS = 4
METHODS = ("cnn", "conv", "gru")
SEQUENCE = "per_participant_sequence"
FACTORY = "tests.inference.models:build_gru_of_seven"


@dataclass(frozen=True)
class Watch:
    """Windows [N, 6, 100] with their label, series (the participant), person and second; K class names."""

    signals: np.ndarray
    labels: np.ndarray
    series: np.ndarray
    person: np.ndarray
    seconds: np.ndarray
    classes: tuple[str, ...]

    def rows(self, fold: int) -> np.ndarray:
        """The windows of the people held out in a fold. Fold 0 omits the last activity."""
        held = self.person % FOLDS == fold
        return np.flatnonzero(held & (self.labels < len(self.classes) - 1) if fold == 0 else held)

    def arrays(self, rows: np.ndarray, *, ordinals: bool = False) -> dict[str, Any]:
        """An export of some windows, its time in seconds or in ordinals of each series."""
        seconds = self.seconds[rows]
        return {
            "X": self.signals[rows],
            "y": self.labels[rows],
            "participant": self.series[rows],
            "time": ordinals_of(self.series[rows], seconds) if ordinals else seconds,
            "classes": np.array(self.classes),
        }


def real(folder: Path) -> Watch:
    """The published windows."""
    with np.load(folder / "watch_windows_4s_25hz.npz") as file:
        whole = dict(file)
    names = zip(whole["participant"], whole["side"], whole["series"], strict=True)
    return Watch(
        whole["X"],
        whole["y"].astype(np.int64),
        np.array([f"{person}/{side}/{series}" for person, side, series in names]),
        whole["participant"].astype(np.int64),
        whole["time_s"],
        tuple(whole["class_names"].tolist()),
    )


def made_up(n: int = 1149) -> Watch:
    """Windows of the same shape, for sizes and machines without the published ones."""
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 7, n)
    wave = np.sin(np.arange(100) * (labels[:, None] + 1) / 9)[:, None, :] * rng.uniform(0.5, 1, (1, 6, 1))
    signals = (wave + rng.normal(0, 0.4, (n, 6, 100))).astype(np.float16)
    person = np.arange(n) // 8 % 10
    series = np.array([f"{p}/{i // 8}" for i, p in enumerate(person)])
    return Watch(signals, labels, series, person, (np.arange(n) % 8) * 4.0, tuple("ABCDEFG"))


def ordinals_of(series: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Each window's place in its series."""
    places = np.zeros(len(series), np.int64)
    for name in set(series):
        rows = np.flatnonzero(series == name)
        places[rows[np.argsort(seconds[rows], kind="stable")]] = np.arange(len(rows))
    return places


def model(watch: Watch, method: str, fold: int, seed: int, epochs: int) -> nn.Module:
    """A small network fitted on everyone who is not held out."""
    rows = np.flatnonzero(watch.person % FOLDS != fold)[seed % 3 :: 3]
    make = {"cnn": WindowNet, "conv": ConvSequence, "gru": GruSequence}[method]
    signals = watch.signals[rows] if method == "cnn" else watch.signals[rows][None]
    return fitted(drawn(seed, make, len(watch.classes)), signals, watch.labels[rows], epochs)


def predictions(module: nn.Module, method: str, arrays: Mapping[str, Any]) -> np.ndarray:
    """What the module says, window by window or series by series."""
    signals = torch.from_numpy(arrays["X"].astype(np.float32))
    out = np.zeros(len(signals), np.int64)
    with torch.no_grad():
        if method == "cnn":
            return np.asarray(torch.cat([module(part) for part in signals.split(256)]).argmax(-1))
        for series in set(arrays["participant"]):
            rows = np.flatnonzero(arrays["participant"] == series)
            rows = rows[np.argsort(arrays["time"][rows], kind="stable")]
            out[rows] = module(signals[rows][None])[0].argmax(-1)
    return out


def build(folder: Path, watch: Watch, seeds: int = 3, epochs: int = 8) -> Release:
    """3 methods x 4 folds x `seeds` models with checkpoints, data, exports, predictions, sidecars and a catalogue."""
    made = Release(folder)
    data: dict[int, tuple[dict[str, Any], Path, Path]] = {}
    for fold in range(FOLDS):
        rows = watch.rows(fold)
        arrays = watch.arrays(rows)
        seconds = write(folder / f"data-f{fold}.npz", arrays)
        ordinals = write(folder / f"export-f{fold}.npz", watch.arrays(rows, ordinals=True))
        data[fold] = (arrays, seconds, ordinals)
    for method, fold, seed in product(METHODS, range(FOLDS), range(seeds)):
        arrays, seconds, ordinals = data[fold]
        name, module = f"{method}-f{fold}-s{seed}", model(watch, method, fold, seed, epochs)
        guess = predictions(module, method, arrays)
        checkpoint = _saved(module, method, folder / name, watch)
        made.add(
            name,
            arrays["y"],
            guess,
            arrays["participant"],
            classes=watch.classes,  # type: ignore[arg-type]
            method=method,
            dataset=DATASET,
            fold=str(fold),
            seed=str(seed),
            checkpoint=checkpoint.name,
            checkpoint_sha256=sha256(checkpoint),
            data=seconds.name,
            data_sha256=sha256(seconds),
            export=ordinals.name,
            export_sha256=sha256(ordinals),
            module=FACTORY if method == "gru" else "",
        )
        np.savez(
            folder / f"{name}.npz",
            y_true=arrays["y"],
            y_pred=guess,
            participant=arrays["participant"],
            time=arrays["time"],
            classes=arrays["classes"],
        )
        made.frozen[name] = scores(arrays["y"], guess, len(watch.classes))
        made.sidecars[name] = dict(made.frozen[name])
    return made.write()


def _saved(module: nn.Module, method: str, stem: Path, watch: Watch) -> Path:
    said = metadata("per_window" if method == "cnn" else SEQUENCE, classes=watch.classes, channels=6, length=100)
    if method == "gru":
        return save_state(module, stem.with_suffix(".pt"), said)
    shape = (4, 6, 100) if method == "cnn" else (1, 9, 6, 100)
    return export(module, stem.with_suffix(".pt2"), said, shape)
