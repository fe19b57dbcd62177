"""The gates that look at checkpoints and data: loading, predictions, exports.

Torch is loaded only where a checkpoint is. Models are taken by data set, so that its windows are read once, and one
model is held at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evalframe.audit.exports import ASPECTS, DECIDING, compare_windows
from evalframe.audit.files import Files
from evalframe.audit.findings import Finding, Status
from evalframe.audit.inventory import Model
from evalframe.audit.items import agreement
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import EvalframeError, FileUnreadable, TorchMissing
from evalframe.inference.checkpoint import require_digest
from evalframe.relations import Catalogue
from evalframe.sources.signals import LabelledWindows
from evalframe.underway import counted

if TYPE_CHECKING:
    from evalframe.inference.checkpoint import Loaded
    from evalframe.inference.metadata import Layout

Side = Literal["data", "export"]
SIDES: tuple[Side, ...] = ("data", "export")


@dataclass(frozen=True)
class Loading:
    """How checkpoints are loaded and run. module: builds state dicts whose inventory line names no module."""

    module: str | None = None
    trust_pickle: bool = False
    device: str = "cpu"
    layout: Layout = "NTC"
    batch_size: int = 256


def model_gates(
    models: Sequence[Model],
    files: Files,
    selected: Collection[str],
    why_not: Mapping[str, str],
    loading: Loading,
    relations: Catalogue,
) -> Iterator[Finding]:
    """The findings of the three gates, model by model. selected: model ids whose data are predicted in full.

    why_not: models that are not looked at, with the reason.
    """
    gates = _Gates(files, loading, relations)
    ordered = sorted(models, key=lambda model: (str(model.data), str(model.export), model.model_id))
    with DuckDB(threads=1) as engine:
        for model in counted("models", ordered):
            if model.model_id in why_not:
                yield from _nothing(model, why_not[model.model_id])
            else:
                yield from gates.exports(model)
                yield from gates.checkpoint(engine, model, model.model_id in selected)


def _nothing(model: Model, reason: str) -> Iterator[Finding]:
    for aspect in ASPECTS:
        yield Finding(model.model_id, "export_equivalence", aspect, "not_run", reason, decides=aspect in DECIDING)
    yield Finding(model.model_id, "checkpoint_loading", "data", "not_run", reason)
    for side in SIDES:
        yield Finding(model.model_id, "prediction_equivalence", side, "not_run", reason)


class _Gates:
    def __init__(self, files: Files, loading: Loading, relations: Catalogue) -> None:
        self._files = files
        self._loading = loading
        self._relations = relations
        self._torch_missing: TorchMissing | None = None
        self._compared: dict[tuple[Path, str, Path, str], list[Finding]] = {}

    def exports(self, model: Model) -> Iterator[Finding]:
        """Its data against its export; models that share both share the answer."""
        if model.data is None or model.export is None:
            missing = "data" if model.data is None else "export"
            yield from self._told(model, [("not_run", f"the inventory names no {missing}")] * len(ASPECTS))
            return
        key = (model.data, model.data_sha256, model.export, model.export_sha256)
        if key not in self._compared:
            self._compared[key] = list(self._compare(model))
        for finding in self._compared[key]:
            yield Finding(**{**vars(finding), "run_id": model.model_id})

    def _compare(self, model: Model) -> Iterator[Finding]:
        try:
            a, b = (self._windows(model, side, None) for side in SIDES)
        except EvalframeError as error:
            yield from self._told(model, [("failed", _in_words(error))] * len(ASPECTS))
            return
        for aspect in compare_windows(a, b):
            status: Status = "not_run" if aspect.equal is None else "passed" if aspect.equal else "failed"
            yield Finding(
                model.model_id,
                "export_equivalence",
                aspect.name,
                status,
                aspect.reason,
                aspect.n_compared,
                aspect.n_different,
                aspect.decides,
            )

    def _told(self, model: Model, outcomes: Sequence[tuple[Status, str]]) -> Iterator[Finding]:
        for aspect, (status, reason) in zip(ASPECTS, outcomes, strict=True):
            yield Finding(model.model_id, "export_equivalence", aspect, status, reason, decides=aspect in DECIDING)

    def checkpoint(self, engine: DuckDB, model: Model, selected: bool) -> Iterator[Finding]:
        """Its checkpoint loaded and run once, and where it is selected, run on everything."""
        loaded = self._loaded(model)
        if isinstance(loaded, Finding):
            yield loaded
        else:
            yield self._one_batch(model, loaded)
        for side in SIDES:
            yield self._full(engine, model, loaded, side, selected)

    def _loaded(self, model: Model) -> Loaded | Finding:
        name = model.model_id
        if model.checkpoint is None:
            return Finding(name, "checkpoint_loading", "data", "not_run", "the inventory names no checkpoint")
        if self._torch_missing is not None:
            return Finding(name, "checkpoint_loading", "data", "not_run", _in_words(self._torch_missing))
        from evalframe.inference.checkpoint import load

        try:
            return load(
                model.checkpoint,
                sha256=model.checkpoint_sha256,
                module=model.module or self._loading.module,
                trust_pickle=self._loading.trust_pickle,
                device=self._loading.device,
            )
        except TorchMissing as error:
            self._torch_missing = error
            return Finding(name, "checkpoint_loading", "data", "not_run", _in_words(error))
        except EvalframeError as error:
            return Finding(name, "checkpoint_loading", "data", "failed", _in_words(error))

    def _one_batch(self, model: Model, loaded: Loaded) -> Finding:
        from evalframe.inference.predict import run_one_batch

        name = model.model_id
        subject = "data" if model.data is not None else "zeros"
        try:
            windows = None if model.data is None else self._windows(model, "data", loaded.metadata.classes)
            given = run_one_batch(loaded, windows, layout=self._loading.layout, batch_size=self._loading.batch_size)
        except EvalframeError as error:
            return Finding(name, "checkpoint_loading", subject, "failed", _in_words(error))
        if given is None:
            reason = "there are no data, and the checkpoint declares no channels and length"
            return Finding(name, "checkpoint_loading", "zeros", "not_run", reason)
        return Finding(name, "checkpoint_loading", given, "passed")

    def _full(self, engine: DuckDB, model: Model, loaded: Loaded | Finding, side: Side, selected: bool) -> Finding:
        from evalframe.inference.predict import predict

        name = model.model_id
        reason = None
        if not selected:
            reason = "not selected for full inference"
        elif getattr(model, side) is None:
            reason = f"the inventory names no {side}"
        elif model.predictions is None:
            reason = "the inventory names no saved predictions"
        elif isinstance(loaded, Finding) and loaded.status == "not_run":
            reason = loaded.reason
        if reason is not None:
            return Finding(name, "prediction_equivalence", side, "not_run", reason)
        if isinstance(loaded, Finding):
            return Finding(name, "prediction_equivalence", side, "failed", loaded.reason)
        try:
            saved = self._files.predictions(model)
            windows = self._windows(model, side, loaded.metadata.classes)
            predicted = predict(loaded, windows, layout=self._loading.layout, batch_size=self._loading.batch_size)
        except EvalframeError as error:
            return Finding(name, "prediction_equivalence", side, "failed", _in_words(error))
        assert saved is not None
        found = agreement(engine, self._relations, saved.tables, windows.tables, predicted)
        if found.reason is not None:
            return Finding(name, "prediction_equivalence", side, "failed", found.reason)
        told = None
        if found.n_different:
            told = f"{found.n_different} of {found.n_compared} windows have another prediction"
        status: Status = "failed" if found.n_different else "passed"
        return Finding(name, "prediction_equivalence", side, status, told, found.n_compared, found.n_different)

    def _windows(self, model: Model, side: Side, classes: tuple[str, ...] | None) -> LabelledWindows:
        """The windows of one side, once its digest is the recorded one. Raises as reading does, or DigestMismatch."""
        path: Path = getattr(model, side)
        recorded: str = getattr(model, f"{side}_sha256")
        if recorded:
            require_digest(path, self._files.digest(path), recorded)
        return self._files.windows(path, classes)


def _in_words(error: EvalframeError) -> str:
    found = error.found if isinstance(error, FileUnreadable) else f"expected {error.expected}, found {error.found}"
    return f"{error.code} {error.what}: {found}"
