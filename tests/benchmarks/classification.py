"""Four metrics and the confusion matrix of many runs, beside what else one could call.

    python -m tests.benchmarks.classification [--rows 1e6] [--runs 36] [--classes 12] [--people 10] [--repeats 3]
                                              [--threads N] [--no-sklearn] [--store DIR]

Windows are generated, scored into a store run by run, and then read back in these ways, interleaved, best of REPEATS:

    scan floor     DuckDB reads the two class columns of the store and adds them up
    from rows      class_outcomes -> states -> metrics and matrix, all runs in one plan
    from states    class_confusion_by_cluster -> metrics and matrix, all runs in one plan
    from tables    class_labels joined with class_predictions -> states -> metrics and matrix, all runs in one plan
    bincount       NumPy: the same columns of each run, numpy.bincount of truth x K + prediction, metrics from it
    confusion      scikit-learn's confusion_matrix of each run, arrays in memory
    four functions scikit-learn's f1_score, accuracy_score, balanced_accuracy_score and per-class f1_score, likewise

Ratios are to the scan floor; below 1 is faster. Every way's numbers are compared before anything is printed. Memory is
the peak of a process of its own which does nothing else, less what that process held before it started.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
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
from evalframe.sources.classification import prediction_table, vocabulary_table
from evalframe.sources.vocabulary import Vocabulary
from evalframe.store import Store
from evalframe.verbs.score import Run, score
from tests.benchmarks.timing import Round, Timing, best, peak_memory

WISP = protocol("wisp-har")
OUTPUTS = (*WISP.metrics, "confusion_matrix")
GIVEN = {
    "from rows": ("class_outcomes",),
    "from states": ("class_confusion_by_cluster",),
    "from tables": (),
}


@dataclass(frozen=True)
class Size:
    rows: int
    runs: int
    classes: int
    people: int

    @property
    def per_run(self) -> int:
        return self.rows // self.runs


def windows(size: Size, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, prediction (70 % right, the rest anywhere) and person of one run, person by person."""
    rng = np.random.default_rng(run)
    truth = rng.integers(0, size.classes, size.per_run).astype(np.int16)
    right = rng.random(size.per_run) < 0.7
    guess = np.where(right, truth, rng.integers(0, size.classes, size.per_run)).astype(np.int16)
    return truth, guess, np.sort(rng.integers(0, size.people, size.per_run))


def build(folder: Path, size: Size) -> Timing:
    """Score every run into a store; what scoring took."""
    store = Store.open(folder, create=True, durable=False)
    vocabulary = Vocabulary([f"activity {index}" for index in range(size.classes)], "benchmark")
    people = pa.array([f"person {index:03d}" for index in range(size.people)], pa.large_string())
    spent = busy = 0.0
    for run in range(size.runs):
        truth, guess, person = windows(size, run)
        run_id = f"model/{run:03d}"
        labels = {
            "run_id": pa.repeat(pa.scalar(run_id, pa.large_string()), size.per_run),
            "item_index": pa.array(np.arange(size.per_run)),
            "sample_id": pa.nulls(size.per_run, pa.large_string()),
            "participant": people.take(pa.array(person)),
            "time": pa.array(np.arange(size.per_run) * 1.28),
            "class_index": pa.array(truth),
        }
        tables = {
            "class_vocabulary": vocabulary_table(run_id, vocabulary),
            "class_labels": pa.table(labels, schema=contract("class_labels").arrow_schema()),
            "class_predictions": prediction_table(run_id, pa.array(guess)),
        }
        start, tick = time.perf_counter(), time.process_time()
        score(Run(run_id, "wisp", "benchmark", tables, {"seed": run}), WISP, store=store)
        spent += time.perf_counter() - start
        busy += time.process_time() - tick
    return Timing((Round(spent, busy),))


def evaluated(folder: Path, way: str, threads: int | None) -> dict[str, pa.Table]:
    store = Store.open(folder, read_only=True)
    given = frozenset(GIVEN[way])
    wanted = plan(catalogue(), OUTPUTS, parameters=WISP.settings(), given=given)
    with DuckDB(threads=threads) as engine:
        for name in wanted.sources:
            engine.bind(name, store.files(name))
        return engine.evaluate(wanted)


def scan_floor(folder: Path, threads: int | None) -> None:
    with DuckDB(threads=threads) as engine:
        engine.bind("class_outcomes", Store.open(folder, read_only=True).files("class_outcomes"))
        engine.query("SELECT sum(target_index), sum(predicted_index) FROM class_outcomes")


def from_matrix(matrix: np.ndarray) -> dict[str, float]:
    """The four metrics of one confusion matrix, in NumPy."""
    hits, support, predicted = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    seen = support + predicted > 0
    f1 = np.divide(2 * hits, support + predicted, out=np.zeros(len(hits)), where=seen)
    recall = hits[support > 0] / support[support > 0]
    return {
        "macro_f1": f1[seen].mean(),
        "accuracy": hits.sum() / support.sum(),
        "balanced_accuracy": recall.mean(),
        "worst_class_f1": f1.min(),
    }


def bincount(folder: Path, size: Size) -> list[dict[str, float]]:
    found = []
    for file in Store.open(folder, read_only=True).files("class_outcomes"):
        table = pq.read_table(file, columns=["target_index", "predicted_index"], partitioning=None)
        truth, guess = (column.to_numpy().astype(np.int64) for column in table.columns)
        cells = np.bincount(truth * size.classes + guess, minlength=size.classes**2)
        found.append(from_matrix(cells.reshape(size.classes, size.classes)))
    return found


def confusion(size: Size, arrays: list[tuple[np.ndarray, np.ndarray]]) -> list[dict[str, float]]:
    from sklearn.metrics import confusion_matrix

    return [from_matrix(confusion_matrix(*pair, labels=np.arange(size.classes))) for pair in arrays]


def four_functions(size: Size, arrays: list[tuple[np.ndarray, np.ndarray]]) -> list[dict[str, float]]:
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    return [
        {
            "macro_f1": f1_score(truth, guess, average="macro"),
            "accuracy": accuracy_score(truth, guess),
            "balanced_accuracy": balanced_accuracy_score(truth, guess),
            "worst_class_f1": f1_score(truth, guess, labels=np.arange(size.classes), average=None).min(),
        }
        for truth, guess in arrays
    ]


def numbers(answer: Mapping[str, pa.Table] | list[dict[str, float]] | None) -> np.ndarray | None:
    """Runs x metrics, runs in order."""
    if answer is None:
        return None
    if isinstance(answer, list):
        return np.array([[row[name] for name in WISP.metrics] for row in answer])
    columns = [answer[name].sort_by("run_id")["value"].to_numpy() for name in WISP.metrics]
    return np.stack(columns, axis=1)


def ways(folder: Path, size: Size, threads: int | None, sklearn: bool) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {"scan floor": partial(scan_floor, folder, threads)}
    found |= {way: partial(evaluated, folder, way, threads) for way in GIVEN}
    found["bincount"] = partial(bincount, folder, size)
    if sklearn:
        arrays = [windows(size, run)[:2] for run in range(size.runs)]
        found |= {
            "confusion": partial(confusion, size, arrays),
            "four functions": partial(four_functions, size, arrays),
        }
    return found


def measured(folder: Path, size: Size, repeats: int, threads: int | None, sklearn: bool) -> dict[str, Timing]:
    """What each way takes, and scoring as `scoring`; all give the same numbers."""
    spent = build(folder, size)
    timings, given = best(repeats, ways(folder, size, threads, sklearn))
    answers = {way: found for way, answer in given.items() if (found := numbers(answer)) is not None}
    for way, found in answers.items():
        np.testing.assert_allclose(found, answers["from rows"], atol=1e-12, rtol=0, err_msg=way)
    for way in GIVEN:
        timings[way] = replace(timings[way], memory=peak_memory(evaluated, folder, way, threads))
    return {**timings, "scoring": spent}


def main(folder: Path, size: Size, repeats: int, threads: int | None, sklearn: bool) -> None:
    timings = measured(folder, size, repeats, threads, sklearn)
    floor = timings["scan floor"].seconds
    print(f"{size.per_run * size.runs:.2e} rows, {size.runs} runs, {size.classes} classes, {size.people} people a run")
    print("(scoring: validate, evaluate, seal; run by run)")
    for way, each in timings.items():
        memory = f"{each.memory:8.0f} MB" if each.memory is not None else ""
        print(f"{way:16s}{each.seconds:9.3f} s {each.seconds / floor:8.2f} x floor {memory}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=36)
    parser.add_argument("--classes", type=int, default=12)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--no-sklearn", action="store_true")
    parser.add_argument("--store", type=Path, help="an empty folder to build the store in (default: a temporary one)")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="evalframe-benchmark-") as made:
        size = Size(int(given.rows), given.runs, given.classes, given.people)
        main(given.store or Path(made), size, given.repeats, given.threads, not given.no_sklearn)
