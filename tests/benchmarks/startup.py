"""Whole processes: `evalframe --help`, `runs` and `sql` on a small store, each beside `python -c "import duckdb"`.

    python -m tests.benchmarks.startup [REPEATS=9]

Prints the median seconds of each and its ratio to the import of DuckDB in the same run. All are interleaved.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import evalframe


def small_store(folder: Path) -> Path:
    """Two runs on the same 600 windows."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 6, 600)
    for run in ("a", "b"):
        guess = np.where(rng.random(600) < 0.8, truth, rng.integers(0, 6, 600))
        people, classes = np.arange(600) // 30, np.array(list("abcdef"))
        np.savez(folder / f"{run}.npz", y_true=truth, y_pred=guess, participant=people, classes=classes)
        evalframe.wisp.score(folder / f"{run}.npz", store=folder / "store")
    return folder / "store"


def main(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = str(small_store(Path(folder)))
        program = [sys.executable, "-m", "evalframe"]
        commands = {
            "import duckdb": [sys.executable, "-c", "import duckdb"],
            "evalframe --help": [*program, "--help"],
            "evalframe runs": [*program, "runs", "--store", store],
            "evalframe sql": [*program, "sql", "SELECT count(*) FROM metric_values", "--store", store],
            "evalframe compare": [
                *program,
                "compare",
                "--store",
                store,
                "--baseline",
                "a",
                "--candidate",
                "b",
                "--json",
            ],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                start = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                seconds[name].append(time.perf_counter() - start)
    base = statistics.median(seconds["import duckdb"])
    print(f"{'process':20}{'seconds':>9}{'x import duckdb':>17}")
    for name, taken in seconds.items():
        print(f"{name:20}{statistics.median(taken):9.3f}{statistics.median(taken) / base:17.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
