"""The files of an inventory's models, read as they are asked for: each one that many models share is read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evalframe.audit.conventions import DROPS, Counts
from evalframe.audit.inventory import Model, keys_present
from evalframe.audit.replaying import Saved
from evalframe.contracts import Contract, read_table
from evalframe.contracts.shards import whole
from evalframe.errors import EvalframeError
from evalframe.sources.classification import PREDICTION_FIELDS, SavedPredictions, read_predictions
from evalframe.sources.fields import file_sha256, unreadable
from evalframe.sources.npz import Npz
from evalframe.sources.signals import SIGNALS, LabelledWindows, read_windows

KEYS = tuple(dict.fromkeys((*PREDICTION_FIELDS, *SIGNALS)))
"""Fields that --key may rename in the files of an inventory."""


@dataclass
class Files:
    """Reads predictions and windows. keys: what files call a field; a file that has it under our own name keeps that.

    Two files of windows are held at once: a data set and its export stay while the models of both are looked at.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    _held: dict[tuple[Path, tuple[str, ...] | None], LabelledWindows | EvalframeError] = field(default_factory=dict)
    _digests: dict[Path, str] = field(default_factory=dict)

    def predictions(self, model: Model) -> SavedPredictions | None:
        """The saved predictions of a model, None where the inventory names none. Raises as `read_predictions` does."""
        if model.predictions is None:
            return None
        keys = self._keys(model.predictions, (*PREDICTION_FIELDS, "classes"))
        return read_predictions(model.predictions, run_id=model.model_id, keys=keys)

    def counts(self, model: Model) -> Saved | None:
        """The saved predictions of a model as counts; None where there are none that can be read."""
        try:
            saved = self.predictions(model)
        except EvalframeError:
            return None
        if saved is None:
            return None
        truth = whole(saved.tables["class_labels"])["class_index"].to_numpy().astype(np.int64)
        guess = whole(saved.tables["class_predictions"])["class_index"].fill_null(-1).to_numpy().astype(np.int64)
        return {name: Counts.of(truth[rows], guess[rows], len(saved.classes)) for name, rows in DROPS.items()}

    def windows(self, path: Path, classes: tuple[str, ...] | None) -> LabelledWindows:
        """The labelled windows of a file, which must have these classes. Raises as `read_windows` does."""
        key = (path, classes)
        if key not in self._held:
            while len(self._held) >= 2:
                del self._held[next(iter(self._held))]
            try:
                keys = self._keys(path, SIGNALS)
                self._held[key] = read_windows(path, run_id=path.stem, classes=classes, keys=keys)
            except EvalframeError as error:
                self._held[key] = error
        held = self._held[key]
        if isinstance(held, EvalframeError):
            raise held
        return held

    def digest(self, path: Path) -> str:
        """64 hex of the file's SHA-256. Raises FileUnreadable."""
        if path not in self._digests:
            self._digests[path] = file_sha256(path)
        return self._digests[path]

    def _keys(self, path: Path, names: tuple[str, ...]) -> dict[str, str]:
        if not self.keys:
            return {}
        return keys_present(self.keys, names, _present(path))


_AS_WRITTEN = Contract("predictions", "", "", columns=(), key=(), references=())


def _present(path: Path) -> tuple[str, ...]:
    """Names of the arrays or columns in a file."""
    if path.suffix.lower() != ".npz":
        return tuple(read_table(_AS_WRITTEN, path).column_names)
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file, Npz(file, str(path)) as archive:
        return archive.names
