"""The output folder of an evaluation: what workers share, who works on which step, and the files of a step.

run_manifest.json is written once by whoever comes first and compared by the rest. A step belongs to the worker whose
name stands in its `claim`, for good; while a process works on it, it holds a lock on that file, which ends with the
process however it ends. Shared files and claims are written under the lock of the folder. Every file is written beside
and renamed, so what is there is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalframe.errors import InputError, ManifestDiffers, StepClaimed, UsageError
from evalframe.store import locks, staging
from evalframe.verbs.outputs import Make, to_json, write_bytes, write_made, write_text

MANIFEST = "run_manifest.json"
TARGETS = "targets.parquet"
PHASES = ("progress", "failure", "filtering")
"""What an evaluation of a step does, in this order; each ends with its file."""

METRICS = "metrics.json"
TRACES = "traces.parquet"
LOCK = ".lock"

_STEP = re.compile(r"step-(\d{6,})")


def manifest_text(body: Mapping[str, Any], protocol: Mapping[str, str]) -> str:
    """run_manifest.json as text."""
    return to_json("robometer", body, protocol)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest in a folder, or in the file itself. Raises InputError where there is none."""
    file = path / MANIFEST if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            "there is no manifest to read",
            expected=f"{MANIFEST}, a JSON object",
            found=" ".join(str(error).split())[:300],
            where=str(file),
            hint="evalframe robometer evaluate ... --output DIR",
        ) from None
    if not isinstance(found, dict):
        raise InputError(
            "the manifest is not an object",
            expected="a JSON object",
            found=type(found).__name__,
            where=str(file),
            hint="evalframe robometer evaluate ... --output DIR",
        )
    return found


def differing(first: Mapping[str, Any], second: Mapping[str, Any], at: str = "") -> list[tuple[str, Any, Any]]:
    """(field, first, second) of each leaf that differs, named by its path; a field that is not there is None."""
    found = []
    for name in sorted({*first, *second}):
        one, other = first.get(name), second.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differing(one, other, f"{at}{name}.")
        elif one != other:
            found.append((f"{at}{name}", one, other))
    return found


class Output:
    """The folder of one evaluation."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder against other workers, for as long as shared files and claims take."""
        with staging.writing(self.root / LOCK):
            self.root.mkdir(parents=True, exist_ok=True)
        with locks.exclusive(self.root / LOCK):
            yield

    def begin(self, manifest: str, files: Mapping[str, bytes]) -> None:
        """Write manifest and shared files, or find them as they would be written. Only while `locked`.

        Raises ManifestDiffers naming every field that is not as it was begun.
        """
        for folder in (self.root, self.root / "workers"):
            staging.clear(folder)
        self.check(manifest)
        for name, content in files.items():
            write_bytes(self.root / name, content)
        write_text(self.root / MANIFEST, manifest)

    def check(self, manifest: str) -> None:
        """Raise ManifestDiffers where the folder was begun under another manifest."""
        if not (self.root / MANIFEST).is_file():
            return
        differences = differing(read_manifest(self.root), json.loads(manifest))
        if differences:
            names = ", ".join(name for name, _, _ in differences)
            raise ManifestDiffers(
                f"the output folder was begun otherwise: {names}",
                expected="; ".join(f"{name}: {_shown(one)}" for name, one, _ in differences),
                found="; ".join(f"{name}: {_shown(other)}" for name, _, other in differences),
                where=str(self.root / MANIFEST),
                hint="name another --output",
            )

    def record_worker(self, worker: str, body: Mapping[str, Any]) -> None:
        """Write workers/<name>.json. Only while `locked`."""
        write_text(self.root / "workers" / f"{worker}.json", to_json("robometer evaluate", body), force=True)

    def step(self, step: int) -> Step:
        """One step's folder."""
        return Step(self.root / "steps" / f"step-{step:06d}", step)

    def steps(self) -> list[Step]:
        """The steps that were begun, in order."""
        folder = self.root / "steps"
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        return [Step(folder / name, int(match[1])) for name in names if (match := _STEP.fullmatch(name))]


class Step:
    """One step's folder: claim, traces.parquet, one file per phase, metrics.json."""

    def __init__(self, folder: Path, step: int) -> None:
        self.folder = folder
        self.step = step

    @property
    def traces(self) -> Path:
        """Own-task predictions after the progress phase, all predictions after the filtering phase."""
        return self.folder / TRACES

    @property
    def parts(self) -> Path:
        """Predictions of a phase that is under way; gone when the step is finished."""
        return self.folder / "parts"

    @property
    def finished(self) -> bool:
        """Whether it has been scored: its metrics are written last."""
        return (self.folder / METRICS).is_file()

    @property
    def complete(self) -> bool:
        """Whether all that an evaluation writes is there: a file that was taken away is written again."""
        return self.finished and self.traces.is_file() and all(map(self.has, PHASES))

    def has(self, phase: str) -> bool:
        """Whether a phase is finished."""
        return (self.folder / f"{phase}.json").is_file()

    def write(self, name: str, content: bytes, *, replace: bool = False) -> None:
        """Put a file of the step in its place."""
        write_bytes(self.folder / name, content, force=replace)

    def write_made(self, name: str, make: Make, *, replace: bool = False) -> None:
        """`write` for a file that need not fit into memory."""
        write_made(self.folder / name, make, force=replace)

    def claim(self, worker: str, *, take_over: bool = False) -> None:
        """Make the step this worker's. Only while the folder is `locked`. Raises StepClaimed naming whose it is."""
        path = self.folder / "claim"
        mine = json.dumps({"worker": worker}) + "\n"
        if not path.exists():
            write_text(path, mine)
            return
        owner = self.owner()
        if owner == worker:
            return
        if not take_over:
            raise self._claimed(owner, "a step that no other worker has claimed", "--take-over")
        if locks.is_held(path):
            raise self._claimed(owner, "a step that no process works on", "stop that process first")
        write_text(path, mine, force=True)

    def owner(self) -> str:
        """The worker whose step this is."""
        try:
            worker = json.loads((self.folder / "claim").read_text(encoding="utf-8"))["worker"]
        except (OSError, ValueError, KeyError, TypeError):
            return "unknown"
        return str(worker)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Hold the step against other processes of the same worker's name."""
        with locks.exclusive(self.folder / "claim", wait=False) as held:
            if held is False:
                raise self._claimed(self.owner(), "a step that no process works on", "wait, or use another --worker")
            yield

    def clear_left_over(self) -> None:
        """Remove what killed processes left, and parts that a finished step could not be rid of."""
        for folder in (self.folder, self.parts):
            staging.clear(folder)
        if self.finished and self.parts.exists():
            self.clear_parts()

    def begin(self, checkpoint_sha256: str) -> None:
        """Record which checkpoint the step is about. Raises ManifestDiffers where it was begun with another."""
        text = json.dumps({"checkpoint_sha256": checkpoint_sha256}) + "\n"
        path = self.folder / "checkpoint.json"
        if not path.exists():
            write_text(path, text)
        elif path.read_text(encoding="utf-8") != text:
            raise ManifestDiffers(
                f"step {self.step} was begun with another checkpoint",
                expected=path.read_text(encoding="utf-8").strip(),
                found=text.strip(),
                where=str(path),
                hint="name another --output",
            )

    def clear_parts(self) -> None:
        """Remove what only an unfinished phase needs."""
        staging.remove(self.parts)

    def _claimed(self, owner: str, expected: str, hint: str) -> StepClaimed:
        return StepClaimed(
            f"step {self.step} is claimed by worker {owner}",
            expected=expected,
            found=f"worker {owner}",
            where=str(self.folder / "claim"),
            hint=hint,
        )


def worker_name(name: str) -> str:
    """`name`, which becomes a file name. Raises UsageError where it could lead elsewhere."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(
            "a worker's name becomes a file name",
            expected="letters, digits, dot, underscore and hyphen, not starting with a dot",
            found=repr(name),
            where="--worker",
            hint="--worker worker-1",
        )
    return name


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:119] + "…"
