"""Whole processes as a user starts them: seconds, processor time, peak memory.

Python writes compiled modules beside an installed package; where that is switched off, a start would be measured that
no user has. So they are kept in a folder here, and the first run of each command, which fills it, does not count.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import evalframe

EVALFRAME = [sys.executable, "-m", "evalframe"]
DUCKDB = [sys.executable, "-c", "import duckdb"]
"""What every start is compared with."""

# A process counts as its peak what it was forked from, so a small one starts it.
_STARTER = """
import os, sys, time
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - start
print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status), file=sys.stderr)
"""


@dataclass(frozen=True)
class Taken:
    """What one process took and said. memory: its peak in bytes. rounds: each of several."""

    seconds: float
    processor: float
    memory: int
    output: str
    rounds: tuple[Taken, ...] = ()


def run(command: Sequence[str], compiled: Path) -> Taken:
    """Run one process to its end. compiled: a folder for compiled modules. Raises RuntimeError where it fails."""
    there = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    source = str(Path(evalframe.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-c", _STARTER, *command],
        capture_output=True,
        text=True,
        check=True,
        env={**there, "PYTHONPYCACHEPREFIX": str(compiled), "PYTHONPATH": source},
    )
    *said, last = done.stderr.splitlines()
    seconds, processor, memory, code = last.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command)}: exit {code}: {' '.join(said)}")
    return Taken(float(seconds), float(processor), int(memory), done.stdout)


def interleaved(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, Taken]:
    """Each command `repeats` times in turn with the others: median times, the largest memory, what it said last."""
    taken: dict[str, list[Taken]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for warm in [True, *[False] * repeats]:
            for name, command in commands.items():
                found = run(command, Path(folder))
                if not warm:
                    taken[name].append(found)
    return {
        name: Taken(
            seconds=statistics.median(each.seconds for each in runs),
            processor=statistics.median(each.processor for each in runs),
            memory=max(each.memory for each in runs),
            output=runs[-1].output,
            rounds=tuple(runs),
        )
        for name, runs in taken.items()
    }
