"""How long the ways to the same numbers take, in turn, and what memory one of them needs by itself."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.engines.duckdb import DuckDB

ROOT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True)
class Round:
    """Seconds that went by and seconds of processor. memory: peak in MB, where the round was a process of its own."""

    seconds: float
    processor: float
    memory: float | None = None


@dataclass(frozen=True)
class Timing:
    """What every round took. memory: peak in MB, where it was asked, once and outside the rounds or in them."""

    rounds: tuple[Round, ...]
    memory: float | None = None

    @property
    def seconds(self) -> float:
        """The least that went by."""
        return min(each.seconds for each in self.rounds)

    @property
    def processor(self) -> float:
        """The least of the processor."""
        return min(each.processor for each in self.rounds)

    def times(self, factor: float) -> Timing:
        """Of so many times the work, for a way of which only a part is run."""
        scaled = (Round(each.seconds * factor, each.processor * factor, each.memory) for each in self.rounds)
        return Timing(tuple(scaled), self.memory)


def best(repeats: int, ways: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Timing], dict[str, Any]]:
    """The times and the last answer of each way; every way once before any of them again."""
    taken: dict[str, list[Round]] = {name: [] for name in ways}
    answers: dict[str, Any] = {}
    for _ in range(repeats):
        for name, act in ways.items():
            clock, busy = time.perf_counter(), time.process_time()
            answers[name] = act()
            taken[name].append(Round(time.perf_counter() - clock, time.process_time() - busy))
    return {name: Timing(tuple(each)) for name, each in taken.items()}, answers


def peak_memory(act: Callable[..., object], *arguments: object) -> float:
    """MB that a new process needs for `act` beyond what it holds after its imports."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_measured, args=(queue, act, arguments))
    sys.path.insert(0, ROOT)  # a new process takes the path of this one, from which pytest leaves the root out
    try:
        child.start()
    finally:
        sys.path.remove(ROOT)
    child.join()
    if child.exitcode:
        raise RuntimeError(f"a process that measures memory left with {child.exitcode}")
    return float(queue.get())


def _measured(queue: Any, act: Callable[..., object], arguments: tuple[object, ...]) -> None:
    with DuckDB(threads=1) as engine:
        engine.query("SELECT 1")
    before = _peak_kb()
    act(*arguments)
    queue.put((_peak_kb() - before) / 1024)


def _peak_kb() -> int:
    # Not ru_maxrss: a child process inherits its parent's.
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
