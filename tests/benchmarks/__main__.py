"""The whole table of what evalframe takes, beside other ways and what none can undercut.

    python -m tests.benchmarks [--size 1e5 ...] [--repeats 3] [--only NAME ...] [--output TABLE.md]
                               [--store DIR] [--run-id ID]

--size: rows of the largest work; the others take a share of it. 5e7 are the sizes that the aims were set at, an hour's
work. With several sizes a second table says how seconds and memory grow. --only: works, of classes, choices, frames,
traces, bootstrap, ranking, tails, store, start. The table shows the least of REPEATS rounds; all ways of a work run in
each round. Ratios to the floor are what to look at: both were measured in one run.

--store: score every round as a run of that store, under `timing/1`, tagged with version, commit and machine. Two
versions of evalframe are then compared as any two runs:

    evalframe compare --store DIR --baseline OLD --candidate NEW
    evalframe compare --store DIR --baseline OLD --candidate NEW \\
        --metric seconds --stratum 'work=McNemar tails: tails (10000 rows)'

The first is about all ways that are ours (`role=ours`), and judges by `seconds_of_floor`: seconds also change where the
machine was busier in one of the runs, as `role=other` and `role=floor` tell. Work without a floor has its seconds only,
so that the second says `--metric seconds`. Times of another machine, or of other works, sizes or rounds, are refused;
`--on-intersection` compares the rounds that both runs have. Rounds are what is resampled, so three of them say little:
with fewer than six no change can have a p-value below 0.05.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks.sealing import commit, facts, seal
from tests.benchmarks.works import WORKS, Line, lines

HEADS = ("work", "rows", "way", "", "seconds", "processor", "memory", "x floor", "x ours", "aim")


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rule = ["---"] * len(heads)
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, rule, *rows))


def cells(line: Line) -> tuple[str, ...]:
    """One line of the table as text."""
    verdict = {True: "met", False: "missed", None: ""}[line.met]
    return (
        line.work,
        f"{line.rows:.0e}",
        line.way,
        line.role,
        f"{line.timing.seconds:.3f}",
        f"{line.timing.processor:.3f}",
        "" if line.timing.memory is None else f"{line.timing.memory:.0f} MB",
        "" if line.of_floor is None else f"{line.of_floor:.2f}",
        f"{line.of_ours:.2f}",
        f"{line.aim}: {verdict}" if line.aim else "",
    )


def growth(first: Sequence[Line], last: Sequence[Line]) -> list[tuple[str, ...]]:
    """Per way how much more rows, seconds and memory the last size has than the first."""
    before = {(line.work, line.way): line for line in first}
    found = []
    for line in last:
        old = before[line.work, line.way]
        memory = line.timing.memory / old.timing.memory if line.timing.memory and old.timing.memory else None
        grown = (line.rows / old.rows, line.timing.seconds / old.timing.seconds, memory)
        found.append((line.work, line.way, *("" if each is None else f"{each:.1f}" for each in grown)))
    return found


def page(measured: Sequence[Sequence[Line]]) -> str:
    """The table of every size, and of growth where there are several."""
    parts = ["; ".join(f"{name} {value}" for name, value in facts().items())]
    parts += [markdown(HEADS, [cells(line) for line in found]) for found in measured]
    if len(measured) > 1:
        heads = ("work", "way", "x rows", "x seconds", "x memory")
        parts.append(markdown(heads, growth(measured[0], measured[-1])))
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, nargs="+", default=[1e5])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(WORKS), default=list(WORKS))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--run-id", default=datetime.now(UTC).strftime(f"%Y%m%dT%H%M%SZ-{commit()}"))
    given = parser.parse_args(arguments)
    measured = []
    for size in given.size:
        measured.append([line for name in given.only for line in lines(WORKS[name], int(size), given.repeats)])
    shown = page(measured)
    if given.output is None:
        print(shown)
    else:
        given.output.write_text(shown, encoding="utf-8")
    if given.store is not None:
        seal(given.store, given.run_id, measured)


def full_benchmarks() -> None:
    """The table of performance at 1e6 and 5e7 rows."""
    main(["--size", "1e6", "5e7"])


if __name__ == "__main__":
    main()
