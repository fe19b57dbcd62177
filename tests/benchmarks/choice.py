"""Seven metrics of choice questions from their probabilities, beside NumPy and a bare scan.

    python -m tests.benchmarks.choice [--rows 1e6] [--options 10] [--ragged] [--clusters N] [--repeats 3] [--threads N]

One run of generated answers is written to Parquet as its contract has it, 32 cells of questions (4 sources x 8 tasks),
every row in seven populations, then read in these ways, interleaved, best of REPEATS:

    scan floor     DuckDB reads probabilities, labels and cells and adds them up
    seven metrics  accuracy, nll, brier, ece, mean confidence, confident error rate and coverage at 5 % error, in every
                   population, clusters left together and the run named beside the rows as in scoring
    per cluster    the same with the states of every cluster kept apart, as comparing needs them
    six metrics    without the coverage, which alone needs an order of the rows
    numpy          the seven for all rows, vectorised, one core, with the reading of the file
    in memory      the same without the reading
    populations    the same for every population, as seven metrics has it

--options: of every question. --ragged: 2 to 11 options in place of that. --clusters: how many (default 1,000). Ratios
are to the scan floor, in seconds and, for a machine that others use too, in seconds of processor time. Every way's
numbers are compared before anything is printed. Memory is the peak of a process of its own which does nothing else,
less what that process held before it started.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalframe.contracts import contract
from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from tests.benchmarks.timing import Timing, best, peak_memory

KEV = protocol("kev-choice/2")
SIX = ("choice_accuracy", "nll", "brier", "ece", "mean_confidence", "confident_error_rate")
SEVEN = (*SIX, "coverage_at_error_0.05")
TABLES = ("choice_cells", "choice_confidences", "choice_probabilities", "choice_questions")
BLOCK = 500_000
CELLS = 32


@dataclass(frozen=True)
class Size:
    rows: int
    options: int
    ragged: bool
    clusters: int


def build(folder: Path, size: Size) -> None:
    """The tables of one run. Labels are drawn from the probabilities, so that the model is calibrated."""
    rng = np.random.default_rng(0)
    schema = contract("choice_probabilities").arrow_schema()
    with pq.ParquetWriter(
        folder / "choice_probabilities.parquet",
        schema,
        compression="zstd",
        use_dictionary=["run_id", "dataset_id", "cluster_id", "question", "error"],
        use_byte_stream_split=["p.list.element", "p_sum"],
    ) as writer:
        for start in range(0, size.rows, BLOCK):
            writer.write_table(answers(rng, start, min(BLOCK, size.rows - start), size, schema))
    cells = {
        "run_id": ["r"] * CELLS,
        "cell_index": list(range(CELLS)),
        "variant": ["clean"] * CELLS,
        "source": [f"source {i // 8}" for i in range(CELLS)],
        "task": [f"task {i % 8}" for i in range(CELLS)],
        "type": ["choice"] * CELLS,
        "has_probabilities": [True] * CELLS,
    }
    pq.write_table(pa.table(cells).cast(contract("choice_cells").arrow_schema()), folder / "choice_cells.parquet")
    for name in ("choice_confidences", "choice_questions"):
        pq.write_table(contract(name).empty(), folder / f"{name}.parquet")


def answers(rng: np.random.Generator, start: int, n: int, size: Size, schema: pa.Schema) -> pa.Table:
    options = rng.integers(2, 12, n) if size.ragged else np.full(n, size.options)
    ends = np.cumsum(options)
    first = ends - options
    powers = np.exp(2 * rng.standard_normal(ends[-1]))
    p = powers / np.repeat(np.add.reduceat(powers, first), options)
    below = np.concatenate([[0.0], np.cumsum(p)])
    drawn = np.searchsorted(below[1:], below[first] + rng.random(n)) - first
    index = np.arange(start, start + n)
    text = pa.large_string()
    columns = {
        "run_id": pa.repeat(pa.scalar("r", text), n),
        "item_index": index,
        "dataset_id": pa.repeat(pa.scalar("d", text), n),
        "question_index": index,
        "cell_index": (index % CELLS).astype(np.int32),
        "item_id": pa.array(index).cast(text),
        "question": pa.repeat(pa.scalar("decision", text), n),
        "cluster_id": pa.array(index % size.clusters).cast(text),
        "label": np.clip(drawn, 0, options - 1).astype(np.int16),
        "p": pa.ListArray.from_arrays(np.concatenate([[0], ends]).astype(np.int32), p),
        "p_sum": np.ones(n),
        "error": pa.nulls(n, text),
    }
    return pa.table({name: columns[name] for name in schema.names}).cast(schema)


def opened(folder: Path, threads: int | None) -> DuckDB:
    engine = DuckDB(threads=threads)
    for name in TABLES:
        engine.bind(name, [folder / f"{name}.parquet"])
    return engine


def scan_floor(folder: Path, threads: int | None) -> None:
    with opened(folder, threads) as engine:
        engine.query("SELECT sum(list_sum(p)), sum(label), sum(cell_index) FROM choice_probabilities")


def evaluated(folder: Path, metrics: tuple[str, ...], pooled: bool, threads: int | None) -> dict[str, float]:
    wanted = plan(catalogue(), metrics, parameters=KEV.settings(), pooled=pooled, run_id="r" if pooled else None)
    with opened(folder, threads) as engine:
        found = engine.evaluate(wanted)
    return {name: _of_all(table) for name, table in found.items()}


def _of_all(table: pa.Table) -> float:
    return next(float(row["value"]) for row in table.to_pylist() if row["stratum"] == "all")


def loaded(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities one after the other, the first of each question, labels."""
    table = pq.read_table(folder / "choice_probabilities.parquet", columns=["p", "label"], partitioning=None)
    lists = table["p"].combine_chunks()
    return lists.flatten().to_numpy(), lists.offsets.to_numpy()[:-1], table["label"].to_numpy()


def numpy_peer(folder: Path, options: int | None) -> dict[str, float]:
    return numpy_metrics(*loaded(folder), options)


def numpy_metrics(p: np.ndarray, first: np.ndarray, label: np.ndarray, options: int | None) -> dict[str, float]:
    """As one would write it for all rows at once; a matrix where every question has as many options."""
    n = len(first)
    at_label = p[first + label]
    if options is not None:
        matrix = p.reshape(n, options)
        confidence, predicted = matrix.max(axis=1), matrix.argmax(axis=1)
        squares = (matrix * matrix).sum(axis=1)
    else:
        confidence, squares = np.maximum.reduceat(p, first), np.add.reduceat(p * p, first)
        is_top = p == np.repeat(confidence, np.diff(np.append(first, len(p))))
        tops = np.flatnonzero(is_top)
        predicted = tops[np.searchsorted(tops, first)] - first
    correct = predicted == label
    bins = np.clip(np.searchsorted(np.linspace(0, 1, 11), confidence, side="right"), 1, 10) - 1
    gaps = np.bincount(bins, weights=correct, minlength=10) - np.bincount(bins, weights=confidence, minlength=10)
    order = np.argsort(-confidence, kind="stable")
    errors, ranked = np.cumsum(~correct[order]), confidence[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), n - 1)
    within = ends[errors[ends] * 20 <= ends + 1]
    return {
        "choice_accuracy": float(correct.mean()),
        "nll": float(-np.log(np.maximum(at_label, 1e-9)).mean()),
        "brier": float((squares - 2 * at_label + 1).mean()),
        "ece": float(np.abs(gaps).sum() / n),
        "mean_confidence": float(confidence.mean()),
        "confident_error_rate": float(((confidence >= 0.9) & ~correct).mean()),
        "coverage_at_error_0.05": float((within[-1] + 1) / n) if len(within) else 0.0,
    }


def numpy_populations(p: np.ndarray, first: np.ndarray, label: np.ndarray, options: int | None) -> dict[str, float]:
    """All, clean, headline, type, variant, each source and each task; the numbers of all."""
    cell = np.arange(len(first)) % CELLS
    whole = np.ones(len(first), bool)
    masks = [whole] * 5 + [cell // 8 == source for source in range(4)] + [cell % 8 == task for task in range(8)]
    found = [numpy_metrics(*chosen(p, first, label, mask), options) for mask in masks]
    return found[0]


def chosen(p: np.ndarray, first: np.ndarray, label: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, ...]:
    if mask.all():
        return p, first, label
    options = np.diff(np.append(first, len(p)))
    kept = options[mask]
    return p[np.repeat(mask, options)], np.cumsum(kept) - kept, label[mask]


def ways(folder: Path, size: Size, threads: int | None) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Those that read the file, each with its arguments: another process can run them too."""
    return {
        "scan floor": (scan_floor, (folder, threads)),
        "seven metrics": (evaluated, (folder, SEVEN, True, threads)),
        "per cluster": (evaluated, (folder, SEVEN, False, threads)),
        "six metrics": (evaluated, (folder, SIX, True, threads)),
        "numpy": (numpy_peer, (folder, None if size.ragged else size.options)),
    }


def measured(folder: Path, size: Size, repeats: int, threads: int | None) -> dict[str, Timing]:
    """What each way takes; all give the same numbers."""
    build(folder, size)
    reading = ways(folder, size, threads)
    held, options = loaded(folder), None if size.ragged else size.options
    timings, answered = best(
        repeats,
        {
            **{way: partial(act, *arguments) for way, (act, arguments) in reading.items()},
            "in memory": partial(numpy_metrics, *held, options),
            "populations": partial(numpy_populations, *held, options),
        },
    )
    del held
    for way, found in answered.items():
        for metric, value in (found or {}).items():
            np.testing.assert_allclose(value, answered["numpy"][metric], rtol=0, atol=1e-12, err_msg=f"{way} {metric}")
    for way, (act, arguments) in reading.items():
        timings[way] = replace(timings[way], memory=peak_memory(act, *arguments))
    return timings


def main(folder: Path, size: Size, repeats: int, threads: int | None) -> None:
    timings = measured(folder, size, repeats, threads)
    floor = timings["scan floor"]
    told = "2 to 11 options" if size.ragged else f"{size.options} options"
    print(
        f"{size.rows:.0e} rows, {told}, {size.clusters} clusters, {CELLS} cells, {folder_mb(folder):.0f} MB of Parquet"
    )
    print(f"{'':16s}  elapsed          processor         memory")
    for way, each in timings.items():
        memory = f"{each.memory:8.0f} MB" if each.memory is not None else ""
        elapsed = f"{each.seconds:7.2f} s {each.seconds / floor.seconds:6.2f} x"
        print(f"{way:16s}{elapsed} {each.processor:7.2f} s {each.processor / floor.processor:6.2f} x {memory}")


def folder_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--options", type=int, default=10)
    parser.add_argument("--ragged", action="store_true")
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="evalframe-benchmark-") as made:
        main(
            Path(made), Size(int(given.rows), given.options, given.ragged, given.clusters), given.repeats, given.threads
        )
