"""Whole processes on a small store, each beside `python -c "import duckdb"`.

    python -m tests.benchmarks.startup [REPEATS=9]

Prints the median seconds and processor seconds of each, and their ratios to the import of DuckDB in the same run. All
are interleaved.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import evalframe
from tests.benchmarks.processes import DUCKDB, EVALFRAME, Taken, interleaved


def small_store(folder: Path) -> Path:
    """Two runs on the same 600 windows."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 6, 600)
    for run in ("a", "b"):
        guess = np.where(rng.random(600) < 0.8, truth, rng.integers(0, 6, 600))
        people, classes = np.arange(600) // 30, np.array(list("abcdef"))
        np.savez(folder / f"{run}.npz", y_true=truth, y_pred=guess, participant=people, classes=classes)
        evalframe.wisp.score(folder / f"{run}.npz", store=folder / "store")
    return folder / "store"


def measured(repeats: int) -> dict[str, Taken]:
    """What each command takes."""
    with tempfile.TemporaryDirectory() as folder:
        at = ["--store", str(small_store(Path(folder)))]
        commands = {
            "import duckdb": DUCKDB,
            "evalframe --help": [*EVALFRAME, "--help"],
            "evalframe runs": [*EVALFRAME, "runs", *at],
            "evalframe sql": [*EVALFRAME, "sql", "SELECT count(*) FROM metric_values", *at],
            "evalframe leaderboard": [*EVALFRAME, "leaderboard", *at],
            "evalframe compare": [*EVALFRAME, "compare", *at, "--baseline", "a", "--candidate", "b", "--json"],
        }
        return interleaved(commands, repeats)


def main(repeats: int) -> None:
    found = measured(repeats)
    base = found["import duckdb"]
    print(f"{'process':24}{'seconds':>9}{'x import':>10}{'processor':>11}{'x import':>10}{'memory':>11}")
    for name, each in found.items():
        elapsed = f"{each.seconds:9.3f}{each.seconds / base.seconds:10.2f}"
        busy = f"{each.processor:11.3f}{each.processor / base.processor:10.2f}"
        print(f"{name:24}{elapsed}{busy}{each.memory / 2**20:8.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
