"""Resampling beside what else one could call: whole rows, scipy.stats.bootstrap, scikit-learn, scipy's binomial test.

    python -m tests.benchmarks.compare [--rows 1e5] [--clusters 200] [--classes 12] [--replicates 10000] [--repeats 3]

    states          the four classification metrics of every replicate, from the per-cluster states of one run
    states, SQL     the same, every replicate evaluated by the metrics' SQL
    scipy           scipy.stats.bootstrap over the same clusters' counts, vectorised, all four metrics
    rows            the drawn clusters' rows put together and given to scikit-learn, a few replicates, scaled up

    ranking         average precision of 1,000 replicates of 1e5 events in 100 clusters
    ten calls       scikit-learn's average_precision_score on those events, ten times

    tails           exact and mid-p of 20,000 McNemar tables
    binomtest       scipy.stats.binomtest on some of them, scaled up

All ways are interleaved and the best of REPEATS counts; imports do not. Values are compared before anything is printed:
replicates of states and of rows are of the same draws and must be the same numbers.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, f1_score

from evalframe.compare import sampling
from evalframe.compare.cells import Cell
from evalframe.compare.measuring import Measured
from evalframe.compare.request import Request
from evalframe.compare.states import Reader
from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue
from evalframe.stats import confusion, ranks
from evalframe.stats.draws import bootstrap_weights
from evalframe.stats.mcnemar import _two_sided, mcnemar
from evalframe.store import Store
from evalframe.verbs.sides import SideReader
from tests.benchmarks.classification import Size, build, windows
from tests.benchmarks.timing import Timing, best

WISP = protocol("wisp-har")
ROW_REPLICATES = 5
TABLES = 20_000
EVENTS = 100_000


def classification(folder: Path, size: Size, replicates: int, repeats: int) -> dict[str, Timing]:
    """What each way takes to resample; `rows` is scaled up from a few replicates."""
    build(folder, size)
    store, known, run = Store.open(folder), catalogue(), "model/000"
    truth, guess, person = windows(size, 0)
    wanted = {metric: [Cell("all")] for metric in WISP.metrics}
    # Participants sort as text in the order of their numbers: the states and the rows have the same draws.
    weights = next(bootstrap_weights(size.people, replicates, 0, 10**9))
    with DuckDB() as engine:
        side = SideReader(store, known).read([run], None)[run]
        measured = Measured(
            Reader(store, known, engine), WISP, WISP.metrics, WISP.metrics, [side], Request("a", ("b",))
        )
        sampler = measured.resampler._sampler
        clusters = measured.resampler.clusters([run], "all")

        def from_states(kernels: bool) -> np.ndarray:
            kernel_for = sampling.kernel_for
            sampling.kernel_for = kernel_for if kernels else lambda *_: None
            try:
                values = sampler.sample([side], wanted, clusters).values(iter([weights]))
            finally:
                sampling.kernel_for = kernel_for
            return np.column_stack([values[metric][:, 0] for metric in WISP.metrics])

        def from_rows() -> np.ndarray:
            starts = np.searchsorted(person, np.arange(size.people + 1))
            found = []
            for each in weights[:ROW_REPLICATES]:
                rows = np.concatenate(
                    [np.arange(starts[p], starts[p + 1]) for p in np.repeat(np.arange(size.people), each)]
                )
                found.append(_sklearn(truth[rows], guess[rows], size.classes))
            return np.array(found)

        tables = _class_tables(truth, guess, person, size)
        ways: dict[str, Callable[[], object]] = {
            "states": lambda: from_states(True),
            "states, SQL": lambda: from_states(False),
            "scipy": lambda: _scipy(tables, size, replicates),
            "rows": from_rows,
        }
        timings, answers = best(repeats, ways)
    found = np.asarray(answers["states"])
    np.testing.assert_allclose(found, answers["states, SQL"], atol=1e-12, rtol=0)
    np.testing.assert_allclose(found[:ROW_REPLICATES], answers["rows"], atol=1e-12, rtol=0)
    return {**timings, "rows": timings["rows"].times(replicates / ROW_REPLICATES)}


def _sklearn(truth: np.ndarray, guess: np.ndarray, classes: int) -> list[float]:
    each = f1_score(truth, guess, labels=np.arange(classes), average=None, zero_division=0.0)
    return [
        f1_score(truth, guess, average="macro", zero_division=0.0),
        accuracy_score(truth, guess),
        balanced_accuracy_score(truth, guess),
        float(each.min()),
    ]


def _class_tables(truth: np.ndarray, guess: np.ndarray, person: np.ndarray, size: Size) -> np.ndarray:
    """[people, 3 x classes]: items, hits and predictions of each class."""
    found = np.zeros((size.people, 3 * size.classes))
    right = truth == guess
    np.add.at(found, (person, truth), 1)
    np.add.at(found, (person[right], size.classes + truth[right]), 1)
    np.add.at(found, (person, 2 * size.classes + guess), 1)
    return found


def _scipy(tables: np.ndarray, size: Size, replicates: int) -> None:
    def statistic(*columns: np.ndarray, axis: int = -1) -> np.ndarray:
        sums = np.stack([column.sum(axis=axis) for column in columns], axis=-1)
        counts = confusion.ClassCounts(*np.split(sums.reshape(-1, 3 * size.classes).T, 3))
        four = (confusion.macro_f1, confusion.accuracy, confusion.balanced_accuracy, confusion.worst_class_f1)
        return np.stack([metric(counts) for metric in four]).reshape(4, *sums.shape[:-1])

    stats.bootstrap(
        tuple(tables.T),
        statistic,
        n_resamples=replicates,
        paired=True,
        vectorized=True,
        method="percentile",
        batch=500,
        rng=np.random.default_rng(0),
    )


def ranking(repeats: int, prevalence: float, events: int = EVENTS) -> dict[str, Timing]:
    """What 1,000 replicates of average precision take, and ten calls of scikit-learn."""
    rng = np.random.default_rng(0)
    clusters = 100
    positive, score = rng.random(events) < prevalence, rng.random(events)
    cluster = rng.integers(0, clusters, events)
    weights = next(bootstrap_weights(clusters, 1_000, 0))

    def ours() -> np.ndarray:
        one = np.ones(events, dtype=np.int64)
        groups = ranks.score_groups(cluster, score, positive.astype(np.int64), one, clusters)
        return ranks.average_precision(groups, weights)

    ways: dict[str, Callable[[], object]] = {
        "ranking": ours,
        "ten calls": lambda: [average_precision_score(positive, score) for _ in range(10)],
    }
    timings, answers = best(repeats, ways)
    for b in range(3):
        rows = np.repeat(np.arange(events), weights[b][cluster])
        expected = average_precision_score(positive[rows], score[rows])
        assert abs(np.asarray(answers["ranking"])[b] - expected) < 1e-12
    return timings


def tails(repeats: int, count: int = TABLES) -> dict[str, Timing]:
    """What the tails of all tables take; `binomtest` is scaled up from some of them."""
    rng = np.random.default_rng(0)
    tables = [(int(b), int(c)) for b, c in rng.integers(0, 120, (count, 2))]
    some = tables[:200]

    def ours() -> list[float]:
        _two_sided.cache_clear()
        return [mcnemar(b, c).exact for b, c in tables]

    ways: dict[str, Callable[[], object]] = {
        "tails": ours,
        "binomtest": lambda: [stats.binomtest(b, b + c).pvalue if b + c else 1.0 for b, c in some],
    }
    timings, answers = best(repeats, ways)
    np.testing.assert_allclose(np.asarray(answers["tails"])[: len(some)], answers["binomtest"], rtol=1e-12)
    return {**timings, "binomtest": timings["binomtest"].times(count / len(some))}


def _print(timings: dict[str, Timing], ours: str) -> None:
    for name, each in timings.items():
        print(f"{name:14}{each.seconds:12.4f} s {each.seconds / timings[ours].seconds:10.2f} x {ours}")


def full_compare_benchmark() -> None:
    """The resampling rows of the performance table at full size."""
    main(100_000, 200, 12, 10_000, 3)


def main(rows: int, clusters: int, classes: int, replicates: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory(prefix="evalframe-benchmark-") as folder:
        print(f"{replicates} replicates of four metrics, {clusters} clusters, {classes} classes, {rows:.0e} rows")
        _print(classification(Path(folder) / "store", Size(rows, 1, classes, clusters), replicates, repeats), "states")
    for prevalence in (0.1, 0.3):
        print(f"\naverage precision, 1000 replicates of {EVENTS} events in 100 clusters, {prevalence:.0%} positive")
        _print(ranking(repeats, prevalence), "ranking")
    print(f"\n{TABLES} McNemar tables of up to 238 discordant pairs")
    _print(tails(repeats), "tails")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("rows", 1e5), ("clusters", 200), ("classes", 12), ("replicates", 10_000), ("repeats", 3)):
        parser.add_argument(f"--{option}", type=float, default=default)
    given = parser.parse_args()
    main(int(given.rows), int(given.clusters), int(given.classes), int(given.replicates), int(given.repeats))
