"""The whole table of what evalframe takes, beside other ways and what none can undercut.

    python -m tests.benchmarks [--size 1e5 ...] [--repeats 3] [--only NAME ...] [--output TABLE.md]
                               [--store DIR] [--run-id ID] [--against ID]

--size: rows of the largest work; the others take a share of it. 5e7 are the sizes that the aims were set at, an hour's
work. With several sizes a second table says how seconds and memory grow. --only: works, of classes, choices, frames,
traces, bootstrap, ranking, tails, store, start.

--store: seal the figures as a run of that store, tagged with version, commit and machine. They are recorded values:
`metric_values` with origin `sidecar`, no fingerprint and no evaluation set, since a time is no answer to a protocol's
question and cannot be resampled. `evalframe compare` therefore refuses them, and says why; two versions of evalframe
are set beside each other by `--against ID`, which asks the store this:

    evalframe sql "SELECT a.stratum, a.metric, a.value AS before, b.value AS after, b.value / a.value AS ratio
                   FROM metric_values a JOIN metric_values b USING (stratum, metric)
                   WHERE a.run_id = 'OLD' AND b.run_id = 'NEW'" --store DIR

Ratios to the floor are what to look at: both were measured in one run.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import evalframe
from evalframe.contracts import conform, contract
from evalframe.identity import sha256_text
from evalframe.relations.plan import literal
from evalframe.store import Store
from tests.benchmarks.works import WORKS, Line, lines

CLAIMED = "evalframe-benchmark/1"
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
    facts = {**machine(), "evalframe": version(), "commit": commit()}
    parts = ["; ".join(f"{name} {value}" for name, value in facts.items())]
    parts += [markdown(HEADS, [cells(line) for line in found]) for found in measured]
    if len(measured) > 1:
        heads = ("work", "way", "x rows", "x seconds", "x memory")
        parts.append(markdown(heads, growth(measured[0], measured[-1])))
    return "\n\n".join(parts) + "\n"


def machine() -> dict[str, str]:
    return {"cores": str(os.cpu_count()), "python": platform.python_version(), "machine": platform.machine()}


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("evalframe")
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


def seal(path: Path, run_id: str, measured: Sequence[Sequence[Line]], shown: str) -> None:
    """The figures as a run of a store: its tags say what ran where, its `metric_values` what it took."""
    store = Store.open(path, create=True)
    digest = sha256_text(shown)
    rows = [row for found in measured for line in found for row in recorded(run_id, line, digest)]
    values = contract("metric_values")
    store.write_run(
        run_id,
        system="benchmark",
        dataset_id=None,
        tables={},
        inputs={"table_sha256": digest},
        tags={**machine(), "version": version(), "commit": commit()},
    )
    table = conform(values, pa.Table.from_pylist(rows, schema=values.arrow_schema()))
    store.write_record("metric_values", run_id, table, inputs={"table_sha256": digest}, runs=[run_id])


def recorded(run_id: str, line: Line, digest: str) -> list[dict[str, Any]]:
    """The figures of one line, as rows of `metric_values`."""
    figures = {
        "seconds": (line.timing.seconds, "seconds"),
        "processor_seconds": (line.timing.processor, "seconds"),
        "memory": (line.timing.memory, "megabytes"),
        "seconds_of_floor": (line.of_floor, "ratio"),
    }
    same = {
        "run_id": run_id,
        "stratum": f"{line.work}: {line.way} ({line.rows:.0e} rows)",
        "status": "ok",
        "tainted": False,
        "n_items": line.rows,
        "better": "lower",
        "origin": "sidecar",
        "claimed_protocol": CLAIMED,
        "source_digest": digest,
    }
    return [
        {**same, "metric": metric, "value": value, "unit": unit}
        for metric, (value, unit) in figures.items()
        if value is not None
    ]


def beside(path: Path, old: str, new: str) -> pa.Table:
    """The figures that two runs both have, and the later over the earlier."""
    query = f"""
        SELECT a.stratum, a.metric, a.value AS before, b.value AS after, b.value / a.value AS ratio
        FROM metric_values a JOIN metric_values b USING (stratum, metric)
        WHERE a.run_id = {literal(old)} AND b.run_id = {literal(new)} ORDER BY ALL
    """
    return evalframe.open(path).sql(query).table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, nargs="+", default=[1e5])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(WORKS), default=list(WORKS))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--run-id", default=datetime.now(UTC).strftime(f"%Y%m%dT%H%M%SZ-{commit()}"))
    parser.add_argument("--against")
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
        seal(given.store, given.run_id, measured, shown)
        if given.against is not None:
            print(evalframe.open(given.store))
            rows = beside(given.store, given.against, given.run_id).to_pylist()
            told = [
                (row["stratum"], row["metric"], *(f"{row[n]:.4g}" for n in ("before", "after", "ratio")))
                for row in rows
            ]
            print(markdown(("way", "figure", "before", "after", "after / before"), told))


def full_benchmarks() -> None:
    """The table of performance at 1e6 and 5e7 rows."""
    main(["--size", "1e6", "5e7"])


if __name__ == "__main__":
    main()
