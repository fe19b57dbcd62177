"""The works of the table: what is done, at which size, by which ways, and how fast the ratios should be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks import choice, classification, compare, floor, load, progress, startup
from tests.benchmarks.processes import Taken
from tests.benchmarks.timing import Round, Timing

IMPORT = "import duckdb"


@dataclass(frozen=True)
class Work:
    """One work.

    measure: from the size asked for (rows of the largest work) to rows done and what each way took. ours: the ways that
    are this project's. floor: what no way to the numbers can undercut, and at_most what ours may take times it.
    at_least: per other way how many times as long it should take as the first of ours.
    """

    title: str
    measure: Callable[[int, int], tuple[int, Mapping[str, Timing]]]
    ours: tuple[str, ...]
    floor: str | None = None
    at_most: Mapping[str, float] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One way of one work at one size. floor: what the floor took. aim: in words; met is None where there is none."""

    work: str
    way: str
    role: str
    rows: int
    timing: Timing
    floor: Timing | None
    of_floor: float | None
    of_ours: float
    aim: str
    met: bool | None


def lines(work: Work, size: int, repeats: int) -> list[Line]:
    """What every way of a work takes. Ratios are of seconds in one run; all ways are run in turn."""
    rows, timings = work.measure(size, repeats)
    first = timings[work.ours[0]].seconds
    found = []
    for way, timing in timings.items():
        floor = timings[work.floor] if work.floor else None
        of_floor = timing.seconds / floor.seconds if floor else None
        of_ours = timing.seconds / first
        aim, met = "", None
        if way in work.at_most and of_floor is not None:
            aim, met = f"<= {work.at_most[way]:g} x floor", of_floor <= work.at_most[way]
        elif way in work.at_least:
            aim, met = f">= {work.at_least[way]:g} x ours", of_ours >= work.at_least[way]
        role = "ours" if way in work.ours else "floor" if way == work.floor else "other"
        found.append(Line(work.title, way, role, rows, timing, floor, of_floor, of_ours, aim, met))
    return found


def _classes(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    done = classification.Size(size, min(max(size // 138_000, 4), 360), 12, 10)
    with tempfile.TemporaryDirectory() as folder:
        return done.per_run * done.runs, classification.measured(Path(folder) / "s", done, repeats, None, True)


def _choices(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    done = choice.Size(max(size // 5, 1_000), 10, False, 1_000)
    with tempfile.TemporaryDirectory() as folder:
        return done.rows, choice.measured(Path(folder), done, repeats, None)


def _frames(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    sessions = max(size // 5 // floor.ROWS, 2)
    done = floor.Size(sessions * floor.ROWS, min(max(sessions // 10, 1), 400), None, "1GB")
    with tempfile.TemporaryDirectory() as folder:
        return done.frames, floor.measured(Path(folder), done, repeats)


def _traces(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    n = max(size // 50, 200)
    return n * progress.POINTS, progress.traces_benchmark(n, repeats, min(n, 300), None)


def _bootstrap(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    done = classification.Size(min(max(size, 10_000), 100_000), 1, 12, 200)
    replicates = 10_000 if size >= 100_000 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        return done.rows, compare.classification(Path(folder) / "s", done, replicates, repeats)


def _ranking(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    events = min(size, compare.EVENTS)
    return events, compare.ranking(repeats, 0.1, events)


def _tails(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    tables = min(size, compare.TABLES)
    return tables, compare.tails(repeats, tables)


def _store(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    runs, rows = max(size // 5_000, 10), 1_000 if size >= 100_000 else 20
    with tempfile.TemporaryDirectory() as folder:
        return runs * rows, _timings(load.measured(Path(folder), runs, rows, repeats))


def _start(size: int, repeats: int) -> tuple[int, Mapping[str, Timing]]:
    return 1_200, _timings(startup.measured(repeats))


def _timings(taken: Mapping[str, Taken]) -> dict[str, Timing]:
    return {name: Timing(tuple(map(_round, each.rounds)), each.memory / 2**20) for name, each in taken.items()}


def _round(taken: Taken) -> Round:
    return Round(taken.seconds, taken.processor, taken.memory / 2**20)


WORKS = {
    "classes": Work(
        "four metrics and confusion matrix",
        _classes,
        ("from rows", "from states", "from tables", "scoring"),
        floor="scan floor",
        at_most={"from rows": 2.5, "from states": 2.5},
        at_least={"confusion": 5, "four functions": 30},
    ),
    "choices": Work(
        "seven choice metrics",
        _choices,
        ("seven metrics", "per cluster", "six metrics"),
        floor="scan floor",
        at_most={"seven metrics": 3},
        at_least={"numpy": 3},
    ),
    "frames": Work(
        "floor events, 10 horizons",
        _frames,
        ("relations", "per cluster", "and rankings"),
        floor="scan floor",
        at_most={"relations": 3},
        at_least={"numpy": 1 / 1.2, "loop": 2.5},
    ),
    "traces": Work(
        "progress and failure",
        _traces,
        ("from store", "from points"),
        floor="scan floor",
        at_most={"from store": 6},
        at_least={"windows": 5, "NumPy": 3, "scipy": 400},
    ),
    "bootstrap": Work(
        "bootstrap of four metrics, 200 clusters",
        _bootstrap,
        ("states", "states, SQL"),
        at_least={"scipy": 5, "rows": 1_000},
    ),
    "ranking": Work("bootstrap of average precision", _ranking, ("ranking",), at_least={"ten calls": 1}),
    "tails": Work("McNemar tails", _tails, ("tails",)),
    "store": Work(
        "store of many runs, whole processes",
        _store,
        ("leaderboard", *(name for name in load.commands(Path()) if name != "leaderboard")),
        floor="one sorted file",
        at_most={"leaderboard": 3, "sql: one metric": 3},
    ),
    "start": Work(
        "small store, whole processes",
        _start,
        ("evalframe --help", "evalframe runs", "evalframe sql", "evalframe leaderboard", "evalframe compare"),
        floor=IMPORT,
        at_most={"evalframe --help": 1.5, "evalframe compare": 3},
    ),
}
