"""An output folder, written here or brought from elsewhere, into a store: one run per finished step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.errors import DigestMismatch, InputError
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.sources.fields import file_sha256
from evalframe.sources.progress import Targets, read_targets, read_traces
from evalframe.store import Store
from evalframe.underway import counted
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import named
from evalframe.verbs.results import Rows
from evalframe.verbs.robometer_output import TARGETS, Output, Step, read_manifest
from evalframe.verbs.robometer_steps import Question, question, scored_step
from evalframe.verbs.score import Scored

_SCHEMA = pa.schema({"step": pa.int64(), "run_id": pa.large_string(), "outcome": pa.large_string()})


def seal_step(
    store: Store,
    asked: Question,
    known: Targets,
    step: Step,
    *,
    tags: Mapping[str, str],
    setting: str | None,
    origin: str = "recomputed",
) -> Scored:
    """Score a finished step from its traces and seal it. The same step again, from any folder, is a no-op."""
    (traces,) = read_traces(step.traces, known).values()
    inputs = {
        "traces_sha256": file_sha256(step.traces),
        "targets_sha256": file_sha256(step.folder.parent.parent / TARGETS),
    }
    labels = {} if setting is None else {"setting": setting}
    return scored_step(asked, step.step, traces, inputs=inputs, tags={**labels, **tags}, store=store, origin=origin)


@loosely
def import_folder(
    folder: Path | str,
    *,
    store: Path | str,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Rows:
    """Seal every finished step of an output folder under the protocol and parameters of its manifest.

    One row per begun step: step, run_id, outcome (written, unchanged, or unfinished). Values are computed anew from the
    traces under the installed definitions; where the folder was made under others, its own fingerprint is not the new
    one, which is no error. Raises InputError where the folder lacks its manifest, targets or any step, and
    DigestMismatch where its targets are not those that the manifest names.
    """
    named(run_id, "", tags)
    output = Output(Path(folder))
    manifest = read_manifest(output.root)
    asked, known = _question(output, manifest, run_id)
    begun = output.steps()
    if not begun:
        raise _incomplete(output.root, "the folder holds no steps", "steps/step-000000 and the like")
    opened = Store.open(store, create=True)
    recomputed = manifest.get("made_by") == "robometer evaluate"
    origin = "recomputed" if recomputed else "rescored_saved_predictions"
    rows = []
    for step in counted("steps", begun):
        outcome = "unfinished"
        if step.finished:
            setting = manifest.get("setting")
            outcome = seal_step(opened, asked, known, step, tags=tags or {}, setting=setting, origin=origin).outcome
        rows.append({"step": step.step, "run_id": asked.stored_id(step.step), "outcome": outcome})
    return Rows(pa.Table.from_pylist(rows, _SCHEMA))


def _question(output: Output, manifest: Mapping[str, Any], run_id: str | None) -> tuple[Question, Targets]:
    try:
        said = manifest["protocol"]
        chosen = protocol_of(f"{said['name']}/{said['version']}")
        parameters = chosen.settings({str(k): str(v) for k, v in manifest["parameters"].items()})
        name, dataset_id = str(manifest["run_id"]), manifest["dataset_id"]
    except (KeyError, TypeError, AttributeError):
        raise _incomplete(
            output.root, "the manifest lacks what names the run", "protocol, parameters, run_id, dataset_id"
        ) from None
    path = output.root / TARGETS
    if not path.is_file():
        raise _incomplete(output.root, f"the folder has no {TARGETS}", f"{TARGETS}, as evaluate writes it")
    targets = read_targets(path)
    if targets.dataset_id != dataset_id:
        raise DigestMismatch(
            f"{TARGETS} is not the data set that the manifest names",
            expected=f"dataset_id {dataset_id}",
            found=f"dataset_id {targets.dataset_id}",
            where=str(path),
            hint="import the folder as it was written",
        )
    asked = question(chosen, parameters, catalogue(), targets, name)
    return asked if run_id is None else replace(asked, run_id=run_id), targets


def _incomplete(root: Path, what: str, expected: str) -> InputError:
    return InputError(
        what,
        expected=expected,
        found=", ".join(sorted(p.name for p in root.iterdir())[:10]) or "an empty folder",
        where=str(root),
        hint="evalframe robometer evaluate ... --output DIR",
    )
