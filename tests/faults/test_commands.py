"""Every command killed at every kind of write boundary: nothing half visible, a rerun heals, gc takes only garbage.

Here one of each kind; `python -m tests.full command_kills command_disks` does every point of every command, or of those
whose names EVALFRAME_FAULT_COMMANDS, a regular expression, finds.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalframe.store import faults
from tests.faults import databases
from tests.faults.commands import COMMANDS, Command
from tests.publish import postgres

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = "EVALFRAME_FAULT_COMMANDS"

KILLS = {
    "wisp score": [
        *("writer.begun", "part.created@3", "part.write@40", "part.closed@9", "seal.before_write@2", "seal.written"),
        *("seal.before_rename@2", "seal.after_rename", "writer.before_release@2"),
        *("output.begun", "output.write", "output.made", "output.published"),
        *("part.write@40=ENOSPC", "seal.before_rename=EIO", "output.write=ENOSPC", "output.published=EIO"),
    ],
    "export csv again": ["output.member@3", "output.replaced", "output.remove", "output.replaced=EIO"],
    "robometer evaluate": ["output.made@7", "output.remove=EIO"],
    "store gc": ["gc.before_remove@2"],
    "compaction": ["compaction.before_rename", "compaction.after_rename", "compaction.before_rename=ENOSPC"],
}


def drive(folder: Path, jobs: list[str]) -> tuple[list[str], dict[str, Any]]:
    """What the driver finds wrong, and its counts."""
    command = [sys.executable, "-B", "-m", "tests.faults.driver", str(folder), *jobs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *problems, counts = done.stdout.splitlines()
    return problems, json.loads(counts)


def test_one_kill_per_kind_of_boundary(tmp_path: Path) -> None:
    jobs = [f"{command}|{fault}" for command, points in KILLS.items() for fault in points]
    problems, counts = drive(tmp_path, jobs)
    assert problems == []
    assert counts["trials"] == len(jobs)
    assert set(counts["points"]) == set(faults.POINTS)


@contextmanager
def _postgresql(chosen: Iterable[Command]) -> Iterator[None]:
    """A server, where a command needs one, PostgreSQL is installed and none is named."""
    binaries = postgres.programs() if any(command.uses_database for command in chosen) else None
    if binaries is None or databases.SERVER in os.environ:
        yield
        return
    with postgres.server(binaries) as uri:
        os.environ[databases.SERVER] = uri
        try:
            yield
        finally:
            del os.environ[databases.SERVER]


def _all(errors: tuple[str, ...]) -> None:
    wanted = os.environ.get(CHOSEN, "")
    chosen = {name: command for name, command in COMMANDS.items() if re.search(wanted, name)}
    with tempfile.TemporaryDirectory() as folder, _postgresql(chosen.values()):
        missing = {name: command.missing() for name, command in chosen.items()}
        jobs = [f"{name}|*{error}" for name in chosen if not missing[name] for error in errors]
        problems, counts = drive(Path(folder), jobs)
    print("".join(f"left out: {name}: {why}\n" for name, why in missing.items() if why), end="")
    print("\n".join(problems))
    print(f"{counts['trials']} faults in {len(counts['reached'])} commands:", counts["points"])
    assert not problems


def full_command_kills() -> None:
    """Every command that writes, killed at every point it reaches."""
    _all(("",))


def full_command_disks() -> None:
    """Every command that writes, on a disk that is full or fails at every point it reaches."""
    _all(("=ENOSPC", "=EIO"))
