"""Measured times as a run of a store, scored under `timing/1`, so that `evalframe compare` sets two versions beside
each other."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import evalframe
from evalframe.contracts import conform, contract
from evalframe.identity import canonical_json, sha256_text
from evalframe.protocols import protocol
from evalframe.store import Store
from evalframe.verbs.score import Run, Scored, score
from tests.benchmarks.timing import Timing
from tests.benchmarks.works import Line

TIMING = protocol("timing/1")


def seal(path: Path, run_id: str, measured: Sequence[Sequence[Line]]) -> Scored:
    """Score the times of every work as one run of the store at `path`; its tags say what ran where."""
    rows = list(timing_rows(line for found in measured for line in found))
    table = contract("timings")
    timings = conform(table, pa.Table.from_pylist([{"run_id": run_id, **row} for row in rows], table.arrow_schema()))
    run = Run(
        run_id=run_id,
        system=TIMING.system,
        dataset_id=None,
        tables={"timings": timings},
        inputs={"timings_sha256": sha256_text(canonical_json(rows))},
        tags=facts(),
    )
    settings = {"machine": machine()}
    return score(run, TIMING, settings, store=Store.open(path, create=True), origin="recomputed")


def timing_rows(lines: Iterable[Line]) -> Iterator[dict[str, Any]]:
    """The rows of `timings`, without their run. What two sizes have in common, a work of fixed size, stands once."""
    known: dict[str, Line] = {}
    for line in lines:
        known.setdefault(f"{line.work}: {line.way} ({line.rows} rows)", line)
    rounds = {line.work: 0 for line in known.values()}
    for line in known.values():
        rounds[line.work] = max(rounds[line.work], len(line.timing.rounds))
    index = 0
    for work, line in known.items():
        floor = line.floor.rounds if line.floor is not None and line.role != "floor" else ()
        for place, (taken, memory) in enumerate(zip(line.timing.rounds, _memories(line.timing), strict=True)):
            yield {
                "item_index": index,
                "item_id": f"{work}, round {place}",
                "work": work,
                "role": line.role if len(line.timing.rounds) == rounds[line.work] else "once",
                "round": place,
                "seconds": taken.seconds,
                "processor_seconds": taken.processor,
                "floor_seconds": floor[place].seconds if floor else None,
                "memory_bytes": None if memory is None else round(memory * 2**20),
            }
            index += 1


def _memories(timing: Timing) -> list[float | None]:
    """The memory of each round. One measurement in every round would pass for as many that agree."""
    if any(each.memory is not None for each in timing.rounds):
        return [each.memory for each in timing.rounds]
    return [timing.memory, *[None] * (len(timing.rounds) - 1)]


def machine() -> str:
    """What tells this machine from others: its kind, its processor, its cores."""
    return ", ".join(filter(None, (platform.machine(), _processor(), f"{os.cpu_count()} cores")))


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in told if line.startswith("model name")), "")


def facts() -> dict[str, str]:
    """What ran where."""
    return {
        "machine": machine(),
        "python": platform.python_version(),
        "duckdb": _installed("duckdb"),
        "version": _installed("evalframe"),
        "commit": commit(),
    }


def _installed(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def commit() -> str:
    """The commit of the source that ran, with `+` where it was changed since."""
    source = Path(evalframe.__file__).parents[1]
    try:
        told = subprocess.run(
            ["git", "-C", str(source), "describe", "--always", "--dirty=+"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told.stdout.strip()
