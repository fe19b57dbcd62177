"""A store of many runs, and the commands that people give on it as whole processes.

    python -m tests.benchmarks.load [--runs 10000] [--rows 1000] [--repeats 3] [--keep DIR]

Every run is sealed through the store, with the tables of a scored run: predictions, labels, states, ROWS metric rows.
Then each command runs as a process of its own, interleaved with `python -c "import duckdb"` and with the same
leaderboard query over one Parquet file that holds all metric rows in order.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalframe.store import Store
from tests.benchmarks.processes import DUCKDB, EVALFRAME, Taken, interleaved
from tests.benchmarks.startup import small_store

PROTOCOL = "wisp-har/1"
METRIC = "macro_f1"


@dataclass(frozen=True)
class Model:
    """One scored run to make others from: everything that its two seals say and list."""

    dataset_id: str | None
    fingerprint: str
    tables: Mapping[str, pa.Table]
    results: Mapping[str, pa.Table]
    inputs: Mapping[str, object]

    @classmethod
    def of(cls, store: Store, run_id: str) -> Model:
        run, (result,) = store.run(run_id), store.results(run_id)
        return cls(
            dataset_id=run.dataset_id,
            fingerprint=result.protocol_fingerprint,
            tables={name: store.read(name, runs=[run_id]) for name in run.contracts if name != "runs"},
            results={name: store.read(name, runs=[run_id]) for name in result.contracts},
            inputs=result.inputs,
        )


def build(root: Path, runs: int, rows: int, processes: int = 2) -> Path:
    """The store below `root`: runs `r00000` ... of two models in turn, `rows` metric rows each. A run takes 50 ms."""
    sample = small_store(root / "sample")
    path = root / "store"
    Store.open(path, create=True)
    share = [range(start, runs, processes) for start in range(processes)]
    if processes == 1:
        _write(sample, path, share[0], rows)
    else:
        with ProcessPoolExecutor(processes) as pool:
            for done in [pool.submit(_write, sample, path, numbers, rows) for numbers in share]:
                done.result()
    return path


def _write(sample: Path, path: Path, numbers: Sequence[int], rows: int) -> None:
    models = [Model.of(Store.open(sample, read_only=True), run) for run in ("a", "b")]
    store = Store.open(path, durable=False)
    values = [strata(model.results["metric_values"], rows) for model in models]
    for number in numbers:
        model, run = models[number % 2], f"r{number:05d}"
        store.write_run(
            run,
            system="wisp",
            dataset_id=model.dataset_id,
            tables={name: named(table, run) for name, table in model.tables.items()},
            inputs={"number": number},
            tags={"method": f"m{number % 7}", "seed": str(number // 7)},
        )
        store.write_results(
            run,
            protocol=PROTOCOL,
            protocol_fingerprint=model.fingerprint,
            tables={
                **{name: named(table, run) for name, table in model.results.items()},
                "metric_values": named(jittered(values[number % 2], number), run),
            },
            inputs=model.inputs,
        )


def named(table: pa.Table, run: str) -> pa.Table:
    """The rows as those of another run."""
    if "run_id" not in table.column_names:
        return table
    place = table.schema.get_field_index("run_id")
    return table.set_column(place, table.schema.field(place), pa.repeat(pa.scalar(run, pa.large_string()), len(table)))


def strata(values: pa.Table, rows: int) -> pa.Table:
    """`rows` metric rows: those of the whole, then the same of as many strata as it takes."""
    times = -(-rows // len(values))
    whole = pa.concat_tables([values] * times).slice(0, rows).combine_chunks()
    names = [f"s{number // len(values):04d}" if number >= len(values) else "all" for number in range(rows)]
    place = whole.schema.get_field_index("stratum")
    return whole.set_column(place, whole.schema.field(place), pa.array(names, pa.large_string()))


def jittered(values: pa.Table, number: int) -> pa.Table:
    """Other values for each run, the same on every machine."""
    place = values.schema.get_field_index("value")
    shifts = np.random.default_rng(number).normal(0, 0.02, len(values))
    moved = np.clip(values["value"].to_numpy() + shifts, 0, 1)
    return values.set_column(place, values.schema.field(place), pa.array(moved))


# ---- the commands ------------------------------------------------------------------------------------------------


def commands(store: Path) -> dict[str, list[str]]:
    """What a user types, by what it is called in the table."""
    program, at = EVALFRAME, ["--store", str(store)]
    count = "SELECT count(*) AS n FROM metric_values"
    one = "SELECT metric, stratum, value FROM metric_values WHERE run_id = 'r00001' ORDER BY ALL LIMIT 5"
    report = "SELECT run_id, class, recall FROM class_report ORDER BY ALL"
    best = f"SELECT run_id, value FROM metric_values WHERE metric = '{METRIC}' AND stratum = 'all' ORDER BY 2 DESC, 1"
    return {
        "runs": [*program, "runs", *at, "--format", "csv"],
        "leaderboard": [*program, "leaderboard", *at, "--format", "csv"],
        "leaderboard --by method": [*program, "leaderboard", *at, "--by", "method", "--format", "csv"],
        "compare": [*program, "compare", *at, "--baseline", "r00000", "--candidate", "r00001", "--json"],
        "sql: count": [*program, "sql", count, *at, "--format", "csv"],
        "sql: one run": [*program, "sql", one, *at, "--format", "csv"],
        "sql: one metric": [*program, "sql", best, *at, "--format", "csv"],
        "sql: report of two": [*program, "sql", report, *at, "--run", "r00000", "r00001", "--format", "csv"],
        "sql: report of all": [*program, "sql", report, *at, "--format", "csv"],
        "store verify": [*program, "store", "verify", str(store)],
        "explain --steps": [*program, "explain", METRIC, "--steps", *at, "--run", "r00000"],
    }


def one_file(store: Path, at: Path) -> list[str]:
    """Write all metric rows into one file in the order of a leaderboard; the process that answers one from it."""
    import duckdb

    found = Store.open(store, read_only=True).files("metric_values")
    listed = ", ".join(f"'{path}'" for path in found)
    duckdb.execute(
        f"COPY (SELECT * FROM read_parquet([{listed}], hive_partitioning = false) ORDER BY metric, stratum, run_id)"
        f" TO '{at}' (FORMAT parquet, COMPRESSION zstd)"
    )
    query = f"SELECT run_id, value FROM '{at}' WHERE metric = '{METRIC}' AND stratum = 'all' ORDER BY 2 DESC, 1"
    return [sys.executable, "-c", f"import duckdb; print(len(duckdb.sql({query!r}).fetchall()))"]


def check(said: Mapping[str, str], runs: int, rows: int) -> None:
    """Raise AssertionError where a command did not answer for all runs."""
    assert len(said["runs"].splitlines()) == runs + 1
    assert len(said["leaderboard"].splitlines()) == runs + 1
    assert len(said["leaderboard --by method"].splitlines()) == min(runs, 7) + 1
    assert json.loads(said["compare"])["verdict"] == "comparable"
    assert said["sql: count"].split() == ["n", str(runs * rows)]
    assert len(said["sql: one run"].splitlines()) == 6
    assert len(said["sql: one metric"].splitlines()) == runs + 1
    assert len(said["sql: report of two"].splitlines()) == 2 * 6 + 1
    assert len(said["sql: report of all"].splitlines()) == runs * 6 + 1
    assert said["sql: report of all"].startswith(said["sql: report of two"])
    ranked = [line.split(",") for line in said["sql: one metric"].splitlines()[1:]]
    assert [float(value) for _, value in ranked] == sorted((float(value) for _, value in ranked), reverse=True)


def measured(root: Path, runs: int, rows: int, repeats: int) -> dict[str, Taken]:
    """Build, run every command `repeats` times, check what they said; what each took."""
    start = time.perf_counter()
    store = build(root, runs, rows)
    print(f"{runs} runs, {runs * rows:.0e} metric rows, sealed in {time.perf_counter() - start:.0f} s", flush=True)
    start = time.perf_counter()
    Store.open(store).compact()
    print(f"what was not yet compacted took {time.perf_counter() - start:.1f} s", flush=True)
    return asked(store, root / "one.parquet", runs, rows, repeats)


def asked(store: Path, one: Path, runs: int, rows: int, repeats: int) -> dict[str, Taken]:
    """What each command takes on a store that `build` made. one: where the one sorted file is to stand."""
    every = {"import duckdb": DUCKDB, "one sorted file": one_file(store, one), **commands(store)}
    found = interleaved(every, repeats)
    check({name: each.output for name, each in found.items()}, runs, rows)
    return found


def main(root: Path, runs: int, rows: int, repeats: int) -> None:
    found = measured(root, runs, rows, repeats)
    base, file = found["import duckdb"].seconds, found["one sorted file"].seconds
    print(f"{'process':26}{'seconds':>9}{'x import':>10}{'x one file':>12}{'memory':>11}")
    for name, each in found.items():
        print(
            f"{name:26}{each.seconds:9.2f}{each.seconds / base:10.2f}{each.seconds / file:12.2f}"
            f"{each.memory / 2**20:8.0f} MB"
        )


def full_load() -> None:
    """10,000 runs with 1,000 metric rows each: every reading command as a whole process."""
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder), 10_000, 1_000, 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="An empty folder to build in and leave.")
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        main(given.keep, given.runs, given.rows, given.repeats)
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made), given.runs, given.rows, given.repeats)
