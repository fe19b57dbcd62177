"""`task_registry.json`: which tasks belong to the in-distribution and to the held-out split."""

from __future__ import annotations

import json
import shlex
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evalframe.errors import RegistryRefused
from evalframe.sources.fields import file_sha256

Split = Literal["test_ind", "test_ood"]

KEYS = {"test_ind": "ind", "test_ood": "ood"}
"""What the registry calls a split."""


@dataclass(frozen=True)
class Registry:
    """The tasks of one split in the order of the file: task id -> task text. sha256: of the file."""

    split: Split
    tasks: dict[str, str]
    sha256: str

    def task_of(self, text: str) -> str | None:
        """The task that a row names, by its text or by its id; None for a task of no interest here."""
        return text if text in self.tasks.values() else self.tasks.get(text)


def read_registry(path: Path, split: Split) -> Registry:
    """The tasks of `split`. Raises RegistryRefused, or FileUnreadable, for anything but lists of tasks by split."""
    sha256 = file_sha256(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _refused(path, "the task registry is not JSON", " ".join(str(error).split())[:200]) from None
    key = KEYS[split]
    entries = found.get(key) if isinstance(found, dict) else None
    if not isinstance(entries, list) or not entries:
        there = ", ".join(found) if isinstance(found, dict) else type(found).__name__
        raise _refused(path, f"the task registry has no tasks for {key}", there or "nothing")
    tasks: dict[str, str] = {}
    for entry in entries:
        task_id, task = _text(path, entry, "task_id"), _text(path, entry, "task")
        if task_id in tasks or task in tasks.values():
            raise _refused(path, "the task registry names a task twice", f"{task_id}: {task}")
        tasks[task_id] = task
    if clash := sorted(set(tasks) & set(tasks.values()) - {i for i, t in tasks.items() if i == t}):
        raise _refused(path, "the id of one task is the text of another", ", ".join(clash))
    return Registry(split, tasks, sha256)


def _text(path: Path, entry: Any, name: str) -> str:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value:
        raise _refused(path, f"a task of the registry has no {name}", repr(entry))
    return unicodedata.normalize("NFC", value)


def _refused(path: Path, what: str, found: str) -> RegistryRefused:
    return RegistryRefused(
        what,
        expected='{"ind": [{"task_id": ..., "task": ...}, ...], "ood": [...]}, ids and tasks as text, each once',
        found=found,
        where=str(path),
        hint=f"python -m json.tool {shlex.quote(str(path))}",
    )
