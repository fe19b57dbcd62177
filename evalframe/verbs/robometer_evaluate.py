"""Evaluate checkpoints on a frozen split: claim steps, ask the model, write what every step says, resume."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from evalframe.errors import CheckpointMissing, UsageError
from evalframe.features.prefixes import prefix_ends
from evalframe.inference.progress import Factory, Predictor, Query, load_factory, load_predictor
from evalframe.inference.progress_queries import answers
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.sources.fields import file_sha256
from evalframe.sources.progress import TARGETS as TARGET_COLUMNS
from evalframe.sources.progress_dataset import Selection, select
from evalframe.sources.progress_registry import Split, read_registry
from evalframe.store import Store
from evalframe.underway import counted
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import listed, named
from evalframe.verbs.outputs import to_json
from evalframe.verbs.results import Rows
from evalframe.verbs.robometer_import import seal_step
from evalframe.verbs.robometer_output import TARGETS, Output, manifest_text, worker_name
from evalframe.verbs.robometer_phases import COMMAND, StepRun, video_of
from evalframe.verbs.robometer_steps import Question, check_pools, parquet, question

PROTOCOLS = {"test_ind": "robometer-ind", "test_ood": "robometer-ood"}

Outcome = Literal["evaluated", "finished before", "missing", "found"]

_SCHEMA = pa.schema({"step": pa.int64(), "outcome": pa.large_string(), "checkpoint": pa.large_string()})


@dataclass(frozen=True, repr=False)
class Evaluation(Rows):
    """A row per wanted step: evaluated, finished before, missing (no such checkpoint), or found (a dry run)."""

    asked: Question
    selection: Selection
    n_queries: int
    dry_run: bool

    def headlines(self) -> list[str]:
        """What was asked, and how much of it."""
        said = "would ask" if self.dry_run else "asks"
        return [
            f"{self.asked.run_id}  {self.asked.protocol.label}  {self.asked.identity.fingerprint[:20]}…",
            f"{len(self.selection.rows)} trajectories of {len(self.selection.tasks)} tasks;"
            f" a step {said} {self.n_queries} queries",
        ]

    def missing(self) -> list[int]:
        """Steps whose checkpoint is not there."""
        return [row["step"] for row in self.to_pylist() if row["outcome"] == "missing"]

    def to_json(self) -> str:
        """The rows as one JSON object."""
        body = {
            "run_id": self.asked.run_id,
            "dry_run": self.dry_run,
            "n_trajectories": len(self.selection.rows),
            "n_other_rows": self.selection.n_other,
            "n_queries": self.n_queries,
            "steps": self.to_pylist(),
            "missing": self.missing(),
        }
        return to_json(COMMAND, body, self.asked.identity.to_json())


@loosely
def evaluate(
    *,
    predictor: str | Factory,
    dataset: Path | str,
    task_registry: Path | str,
    split: Split,
    checkpoint_root: Path | str,
    base_model: Path | str,
    output: Path | str,
    steps: Sequence[int] | int,
    setting: str,
    worker: str = "worker",
    take_over: bool = False,
    batch_size: int = 4,
    device: str = "cpu",
    dry_run: bool = False,
    robometer_repo: Path | str | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    store: Path | str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Evaluation:
    """Evaluate the checkpoints of `steps` on a split; step 0 is the base model, others are `checkpoint-<step>` folders.

    predictor: a factory, or `module:factory` (see `inference.progress`). output: a folder that workers share; a rerun
    goes on after the last finished phase. worker: whose claims these are; take_over takes those of others. settings:
    protocol parameters. store: seal each finished step as run `<run-id>@<step>`. run_id: default
    `robometer-<split>-<setting>`. dry_run: everything but the model; nothing is
    written.

    A trajectory on which the model fails is counted and the phase goes on. Raises InputError and UsageError (exit 2),
    ContractError (exit 4: the data), ManifestDiffers and StepClaimed (exit 4), CheckpointMissing where no wanted step
    has a checkpoint.
    """
    worker_name(worker)
    name = named(run_id, f"robometer-{split}-{setting}", tags)
    wanted = _checked_steps(listed(steps))
    if batch_size < 1:
        raise _refused("--batch-size", "at least 1", str(batch_size))
    factory = load_factory(predictor) if isinstance(predictor, str) else predictor
    chosen = protocol_of(PROTOCOLS[split])
    parameters = chosen.settings(settings)
    root, base = Path(checkpoint_root), Path(base_model)
    checkpoints = {step: _checkpoint(step, root, base) for step in wanted}
    model = {
        "base_model_sha256": folder_sha256(base),
        "predictor": predictor if isinstance(predictor, str) else _name(factory),
        "batch_size": batch_size,
        "device_type": device.partition(":")[0],
    }

    registry = read_registry(Path(task_registry), split)
    n_tasks, per_outcome = int(parameters["tasks"]), int(parameters["rows_per_outcome"])
    selection = select(Path(dataset), registry, tasks=n_tasks, rows_per_outcome=per_outcome)
    asked = question(chosen, parameters, catalogue(relations), selection.targets, name)
    answerable = sum(bool(prefix_ends(len(row.target))) for row in selection.rows)
    check_pools(dict.fromkeys(selection.tasks, answerable), asked, where=str(dataset))

    manifest = _manifest(asked, selection, setting, model)
    folder = Output(Path(output))
    folder.check(manifest)
    if dry_run:
        _rehearse(selection, batch_size)
        found: dict[int, Outcome] = {step: "found" if path else "missing" for step, path in checkpoints.items()}
        return _evaluation(asked, selection, checkpoints, found, dry_run=True)

    present = {step: path for step, path in checkpoints.items() if path is not None}
    if not present:
        raise _none_there(root, wanted)
    missing = [step for step in wanted if step not in present]
    _begin(folder, manifest, selection, worker, present, missing, take_over=take_over)
    outcomes: dict[int, Outcome] = dict.fromkeys(missing, "missing")
    opened = None if store is None else Store.open(store, create=True)
    repository = None if robometer_repo is None else Path(robometer_repo)
    for step, path in counted("steps", present.items()):
        place = folder.step(step)
        with place.working():
            place.clear_left_over()
            outcomes[step] = "finished before" if place.complete else "evaluated"
            place.begin(folder_sha256(path))
            if not place.complete:
                StepRun(asked, selection, place, _Loader(factory, path, device, repository), batch_size).run()
            if opened is not None:
                seal_step(opened, asked, selection.targets, place, tags=tags or {}, setting=setting)
    return _evaluation(asked, selection, checkpoints, outcomes, dry_run=False)


def _manifest(asked: Question, selection: Selection, setting: str, model: Mapping[str, object]) -> str:
    """What all workers of an output folder share."""
    shared = {
        "made_by": COMMAND,
        "run_id": asked.run_id,
        "parameters": dict(asked.identity.parameters),
        "split": selection.registry.split,
        "setting": setting,
        "dataset_id": selection.targets.dataset_id,
        "dataset_sha256": selection.digest,
        "task_registry_sha256": selection.registry.sha256,
        "tasks": list(selection.tasks),
        "n_trajectories": len(selection.rows),
        **model,
    }
    return manifest_text(shared, asked.identity.to_json())


def _begin(
    folder: Output,
    manifest: str,
    selection: Selection,
    worker: str,
    present: Iterable[int],
    missing: Sequence[int],
    *,
    take_over: bool,
) -> None:
    """Write or find what workers share, and claim the steps."""
    targets = parquet(selection.targets.table.sort("trajectory_index", "frame_index"), TARGET_COLUMNS)
    with folder.locked():
        folder.begin(manifest, {TARGETS: targets})
        for step in present:
            folder.step(step).claim(worker, take_over=take_over)
        body = {"worker": worker, "steps": sorted([*present, *missing]), "missing": list(missing)}
        folder.record_worker(worker, body)


def _evaluation(
    asked: Question,
    selection: Selection,
    checkpoints: Mapping[int, Path | None],
    outcomes: Mapping[int, Outcome],
    *,
    dry_run: bool,
) -> Evaluation:
    rows = [
        {"step": step, "outcome": outcomes[step], "checkpoint": None if path is None else str(path)}
        for step, path in checkpoints.items()
    ]
    n_queries = sum(len(prefix_ends(len(row.target))) for row in selection.rows) * len(selection.tasks)
    return Evaluation(pa.Table.from_pylist(rows, _SCHEMA), asked, selection, n_queries, dry_run)


@dataclass(frozen=True)
class _Loader:
    """Makes the predictor of one checkpoint when it is called."""

    factory: Factory
    checkpoint: Path
    device: str
    robometer_repo: Path | None

    def __call__(self) -> Predictor:
        return load_predictor(self.factory, self.checkpoint, device=self.device, robometer_repo=self.robometer_repo)


class _NoModel:
    """Stands in for the model of a dry run."""

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        """Zeros."""
        return [(0.0, 0.0)] * len(queries)


def _rehearse(selection: Selection, batch_size: int) -> None:
    """Unpack every video and build the batches of its own task, for no model."""
    tasks = {row.trajectory_id: (row.task,) for row in selection.rows}
    videos = [video_of(row) for row in selection.rows]
    for _ in answers(_NoModel(), videos, lambda video: tasks[video.trajectory_id], batch_size):
        pass


def folder_sha256(folder: Path) -> str:
    """64 hex over the files below a folder: their paths in it and their SHA-256. Raises CheckpointMissing."""
    if not folder.is_dir():
        raise CheckpointMissing(
            f"there is no folder {folder.name}",
            expected="the folder of a checkpoint",
            found="nothing" if not folder.exists() else "a file",
            where=str(folder),
            hint=f"ls {shlex.quote(str(folder.parent))}",
        )
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file_sha256(path)}  {path.relative_to(folder).as_posix()}\n".encode())
    return digest.hexdigest()


def _checkpoint(step: int, root: Path, base_model: Path) -> Path | None:
    """The folder of a step; None where a step has no folder with config.json."""
    if step == 0:
        return base_model
    folder = root / f"checkpoint-{step}"
    return folder if (folder / "config.json").is_file() else None


def _checked_steps(steps: Sequence[int]) -> list[int]:
    wanted = sorted(set(steps))
    if not wanted or wanted[0] < 0:
        raise _refused("--steps", "one step or more, none below 0", ", ".join(map(str, steps)) or "none")
    return wanted


def _name(factory: Factory) -> str:
    """A factory given as an object, the way it would be named on the command line."""
    named = factory if hasattr(factory, "__qualname__") else type(factory)
    return f"{named.__module__}:{named.__qualname__}"


def _refused(option: str, expected: str, found: str) -> UsageError:
    return UsageError(
        f"{option} cannot take this value", expected=expected, found=found, where=option, hint=f"{option} 4"
    )


def _none_there(root: Path, wanted: Sequence[int]) -> CheckpointMissing:
    return CheckpointMissing(
        "none of the wanted steps has a checkpoint",
        expected=" or ".join(f"{root / f'checkpoint-{step}'} with config.json" for step in wanted[:3]),
        found="none",
        where=str(root),
        hint=f"ls {shlex.quote(str(root))}",
    )
