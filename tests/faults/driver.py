"""Kills commands, or fails their disk, at named points: `python -m tests.faults.driver FOLDER JOB...`.

A job is `COMMAND|POINT[@TIMES][=ERROR]`, or `COMMAND|*` for all points of a command and `COMMAND|*=ERROR`. Every trial
runs in a process forked from this one, which itself computes nothing, so that a trial costs no start-up. What is wrong
afterwards is printed, a line each, and the counts are the last line.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

import evalframe.cli.app
import evalframe.cli.run
import evalframe.engines.duckdb_file
import evalframe.verbs.demo
import evalframe.verbs.opened
import evalframe.verbs.score  # noqa: F401
from evalframe.store import faults
from tests.faults import commands, databases
from tests.faults.commands import COMMANDS, Command

MOST = 3
"""So many times a point is tried where a command reaches it more often: writes into one part are alike."""


class Ended(NamedTuple):
    """How a forked process ended: what it returned, or the signal that killed it, and what it wrote to stderr."""

    answer: Any
    killed: bool
    said: str


def forked(work: Callable[[], Any], scratch: Path, fault: str | None = None) -> Ended:
    """Do `work` in a process of its own."""
    answer, said = scratch / "answer", scratch / "said"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with said.open("w") as file, open(os.devnull, "w") as nowhere:
                os.dup2(file.fileno(), 2)
                os.dup2(nowhere.fileno(), 1)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                faults.arm(fault)
                found = work()
                faults.arm(None)
                sys.stderr.flush()
                answer.write_bytes(pickle.dumps(found))
                code = 0
        except BaseException:
            import traceback

            traceback.print_exc(file=sys.stderr)
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    text = said.read_text(errors="replace")
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, (status, text)
        return Ended(None, True, text)
    if not answer.exists():
        raise AssertionError(text)
    return Ended(pickle.loads(answer.read_bytes()), False, text)


class State(NamedTuple):
    """What is there after a command."""

    outputs: dict[str, bytes]
    hidden: list[str]
    rows: dict[str, list[str]]
    unsound: list[str]


def look(command: Command, base: Path) -> State:
    """What a fresh reader sees."""
    from evalframe.store import Store

    store = base / "store"
    demo = base / "out" / "demo" / "store"
    rows = {**commands.sealed(store), **{f"demo {k}": v for k, v in commands.sealed(demo).items()}}
    there = [Store.open(each) for each in (store, demo) if (each / ".seals").is_dir()]
    unsound = [str(row) for each in there for row in each.verify().to_pylist()]
    seen = {k: v for k, v in commands.outputs(base / "out").items() if "demo/store" not in k}
    if command.uses_database:
        seen["database"] = databases.content(base)
    return State(seen, [h for h in commands.hidden(base / "out") if "demo/store" not in h], rows, unsound)


def _collected(command: Command, base: Path, collecting: bool) -> tuple[list[list[str]], State]:
    """What two collections of garbage remove, and what is there then."""
    from evalframe.store import Store

    if not collecting:
        return [[], []], look(command, base)
    folders = [each for each in (base / "store", base / "out/demo/store") if (each / ".seals").is_dir()]
    return [[path for each in folders for path in Store.open(each).gc()] for _ in range(2)], look(command, base)


class Trials:
    """All trials of one command."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.command, self.folder = name, COMMANDS[name], folder
        self.given, self.base = folder / "given", folder / name.replace(" ", "-")
        self.problems: list[str] = []
        command = self.command
        forked(lambda: commands.prepare(command, self.given, self.base / "before"), folder)
        self.before = forked(lambda: look(command, self.base / "before"), folder).answer
        forked(lambda: commands.copied(command, self.base / "before", self.base / "whole"), folder)
        found = forked(lambda: counted(command, self.given, self.base / "whole"), folder).answer
        self.counts: Counter[str] = found[0]
        self.whole: State = forked(lambda: look(command, self.base / "whole"), folder).answer
        _load(found[1])

    def points(self, wanted: str) -> list[str]:
        """The faults that `*` or `*=ERROR` stands for; any other is meant as it is."""
        if not wanted.startswith("*"):
            return [wanted]
        return [
            f"{point}@{n + 1}{wanted[1:]}"
            for point, times in self.counts.items()
            for n in sorted({times * part // MOST for part in range(MOST)})
        ]

    def trial(self, fault: str, number: int) -> None:
        """One fault, what is there after it, and after the command is run again."""
        base, command, given = self.base / "trial", self.command, self.given
        forked(lambda: commands.copied(command, self.base / "before", base), self.folder)
        ended = forked(lambda: commands.call(command.words, given, base), self.folder, fault)
        label = f"{self.name}|{fault}"
        self.check("=" in fault or ended.killed, label, "was not killed")
        if not ended.killed:
            lines = ended.said.strip().splitlines()
            self.check("Traceback" not in ended.said, label, f"a traceback: {ended.said[-600:]}")
            said = [line for line in lines if line.startswith("EF")]
            self.check(bool(said) or ended.answer == command.exit_code, label, f"exit {ended.answer}: {lines}")
        state = self.looked(base, label, "after the fault", collecting=bool(number % 2))
        if not ended.killed and not fault.startswith("output.remove"):  # what cannot be removed waits for the next one
            self.check(not state.hidden, label, f"left beside: {state.hidden}")
        again = forked(lambda: commands.call(command.words, given, base), self.folder)
        self.check(again.answer == command.exit_code, label, f"the rerun says {again.answer}: {again.said[-600:]}")
        healed = self.looked(base, label, "after the rerun", collecting=True)
        self.check(healed.outputs == self.whole.outputs, label, f"not healed: {_differing(healed, self.whole)}")
        self.check(healed.rows == self.whole.rows, label, "the store is not healed")
        self.check(not healed.hidden, label, f"left for good: {healed.hidden}")

    def looked(self, base: Path, label: str, when: str, *, collecting: bool) -> State:
        """Nothing half visible: every file and row is as before, or as it will be. Garbage goes, and nothing else."""
        command = self.command
        seen = forked(lambda: (look(command, base), *_collected(command, base, collecting)), self.folder).answer
        state, (first, second), after = seen
        self.check(not state.unsound, label, f"{when} verify finds {state.unsound}")
        for name, content in state.outputs.items():
            known = (self.before.outputs.get(name), self.whole.outputs.get(name))
            whole = content in known or (name.endswith(".parquet") and _is_whole(content))
            self.check(whole, label, f"{when} {name} is half written")
        for table, rows in state.rows.items():
            known_rows = {*self.before.rows.get(table, ()), *self.whole.rows.get(table, ())}
            self.check(known_rows >= set(rows), label, f"{when} {table} holds other rows")
        self.check(not second, label, f"{when} garbage is left: {second}")
        self.check(after.rows == state.rows and not after.unsound, label, f"{when} gc took more than garbage: {first}")
        return state

    def check(self, holds: bool, label: str, what: str) -> None:
        if not holds:
            self.problems.append(f"{label}: {what}")
            print(self.problems[-1], file=sys.stderr, flush=True)


def counted(command: Command, given: Path, base: Path) -> tuple[Counter[str], list[str]]:
    """How often a command reaches each point, and the modules it loads."""
    counts: Counter[str] = Counter()

    def reach(point: str) -> None:
        assert point in faults.POINTS, point
        counts[point] += 1

    faults.reach = reach  # type: ignore[assignment]
    code = commands.call(command.words, given, base)
    assert code == command.exit_code, f"{command.words}: exit code {code}"
    return counts, sorted(sys.modules)


def _load(modules: list[str]) -> None:
    """Import here what every trial would; torch begins threads when it is imported, which a fork must not have."""
    for name in modules:
        if name.partition(".")[0] in ("evalframe", "pyarrow", "polars", "scipy", "numpy", "duckdb", "yaml"):
            with suppress(ImportError):
                importlib.import_module(name)


def _is_whole(content: bytes) -> bool:
    """Whether a Parquet file of a phase that is not the last has its end."""
    with suppress(pyarrow.ArrowException):
        return pyarrow.parquet.read_metadata(pyarrow.BufferReader(content)).num_columns > 0
    return False


def _differing(one: State, other: State) -> list[str]:
    names = {*one.outputs, *other.outputs}
    return sorted(name for name in names if one.outputs.get(name) != other.outputs.get(name))


def main(folder: Path, jobs: list[str]) -> None:
    """Do the jobs in order."""
    folder.mkdir(parents=True, exist_ok=True)
    forked(lambda: commands.build(folder / "given"), folder)
    trials: dict[str, Trials] = {}
    done: Counter[str] = Counter()
    problems: list[str] = []
    began = time.perf_counter()
    for job in jobs:
        name, _, wanted = job.partition("|")
        if name not in trials:
            try:
                trials[name] = Trials(name, folder)
            except AssertionError as error:
                problems.append(f"{name}: {error}")
                continue
        for number, fault in enumerate(trials[name].points(wanted)):
            trials[name].trial(fault, number)
            print(f"{time.perf_counter() - began:.1f} s {name}|{fault}", file=sys.stderr, flush=True)
            done[fault.partition("@")[0].partition("=")[0]] += 1
    for problem in (*problems, *(problem for each in trials.values() for problem in each.problems)):
        print(" | ".join(problem.splitlines()))
    print(json.dumps({"trials": done.total(), "points": done, "reached": {k: v.counts for k, v in trials.items()}}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
