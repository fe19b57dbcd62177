"""Progress errors and failure calls of many trajectories, and what the evaluation loop costs beside the model.

    python -m tests.benchmarks.progress [--trajectories 1e6] [--repeats 3] [--sample 300] [--threads N] [--no-loop]

Traces of eight points with ties and constants are written once, as the tables of a run; then, interleaved, best of
REPEATS:

    scan floor     DuckDB reads progress, target and success probability of all points and adds them up
    from store     progress_features as they lie in the store -> facts, states, nine metrics
    from points    the same from the points as they lie in the store: features from the columns that they are made of,
                   then facts, states, nine metrics
    windows        one DuckDB query with corr() and rank() windows over the points: MSE, Spearman and calls only
    NumPy          MSE, Spearman (scipy's rankdata), calls, ROC-AUC and AP over (trajectories, 8) matrices
    scipy          MSE, Spearman and calls by pearsonr and spearmanr, a loop over SAMPLE trajectories, scaled up

CPU seconds stand beside, since other work on the machine moves the wall clock only. The numbers of all ways are
compared before anything is printed; library correlations misjudge windows of correlation 0, so their calls may differ
in one trajectory of a hundred.

The loop: a model that takes 20 ms per batch of four queries, on videos of 30 frames of 96 x 96, all phases of one step.
Overhead is the time beyond the model's own, of the loop alone and of the whole command.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from evalframe.contracts import conform, contract
from evalframe.engines.duckdb import DuckDB
from evalframe.features.progress import POINT, progress_features
from evalframe.inference.progress import Query
from evalframe.inference.progress_queries import answers
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from evalframe.robometer import evaluate
from evalframe.verbs.robometer_phases import video_of
from tests.benchmarks.timing import Round, Timing, best, peak_memory
from tests.protocols.robometer_frozen import videos

POINTS = 8
IND = protocol("robometer-ind")
METRICS = tuple(name for name in IND.metrics if name.startswith(("progress_", "failure_")))


def world(n: int) -> dict[str, np.ndarray]:
    """(n, 8) matrices of progress, target and success probability; two decimals, every tenth trace constant."""
    rng = np.random.default_rng(0)
    progress = np.round(rng.random((n, POINTS)), 2)
    progress[::10] = progress[::10, :1]
    target = np.tile(np.arange(1, POINTS + 1) / POINTS, (n, 1))
    return {"progress": progress, "target": target, "success": np.round(rng.random((n, POINTS)), 2)}


def build(folder: Path, data: dict[str, np.ndarray]) -> None:
    """Parquet files of the points and of the tables that a run holds."""
    n = len(data["progress"])
    index = np.repeat(np.arange(n), POINTS)
    ids = pl.Series([f"trajectory {i:07d}" for i in range(n)])
    tasks = pl.Series(["fold", "pour", "push", "stack"])[np.arange(n) % 4]
    prefix = np.tile(np.arange(POINTS), n)
    traces = pl.DataFrame(
        {
            "run_id": pl.repeat("r", n * POINTS, eager=True),
            "step": pl.repeat(0, n * POINTS, dtype=pl.Int64, eager=True),
            "trajectory_index": index,
            "query_task": tasks.gather(index),
            "prefix_index": prefix,
            "frame_index": prefix,
            "progress": data["progress"].ravel(),
            "success_probability": data["success"].ravel(),
        }
    )
    targets = pl.DataFrame(
        {"trajectory_index": index, "frame_index": prefix, "target_progress": data["target"].ravel()}
    )
    labels = pl.DataFrame(
        {
            "trajectory_index": np.arange(n),
            "trajectory_id": ids,
            "task": tasks,
            "outcome": pl.Series(["success", "failure"])[np.arange(n) // 4 % 2],
            "n_frames": np.full(n, POINTS),
            "label_digest": pl.repeat("0" * 16, n, eager=True),
        }
    )
    points = traces.select("trajectory_index", "prefix_index", "progress", success="success_probability").with_columns(
        target=targets["target_progress"], failure=labels["outcome"].gather(index) == "failure"
    )
    for name, rows in (("traces", traces), ("targets", targets), ("labels", labels), ("points", points)):
        rows.write_parquet(folder / f"{name}.parquet")
    features = conform(contract("progress_features"), progress_features(traces, targets, labels, "r", 0))
    pq.write_table(features, folder / "features.parquet", compression="zstd")


def scan_floor(folder: Path, threads: int | None) -> None:
    with DuckDB(threads=threads) as engine:
        engine.query(f"SELECT sum(progress), sum(target), sum(success) FROM '{folder}/points.parquet'")


def from_store(folder: Path, threads: int | None) -> dict[str, float]:
    return scored([folder / "features.parquet"], threads)


def from_points(folder: Path, threads: int | None) -> dict[str, float]:
    traces = pl.read_parquet(folder / "traces.parquet", columns=list(POINT))
    targets, labels = (pl.read_parquet(folder / f"{name}.parquet") for name in ("targets", "labels"))
    return scored(conform(contract("progress_features"), progress_features(traces, targets, labels, "r", 0)), threads)


def scored(features: Any, threads: int | None) -> dict[str, float]:
    with DuckDB(threads=threads) as engine:
        engine.bind("progress_features", features)
        found = engine.evaluate(plan(catalogue(), METRICS, parameters=IND.settings()))
    rows = {name: {row["stratum"]: row for row in table.to_pylist()}["all"] for name, table in found.items()}
    precision = rows["failure_precision"]
    return {
        "mse": rows["progress_mse"]["value"],
        "spearman": rows["progress_spearman"]["value"],
        "called": float(precision["denominator"]),
        "auc": rows["failure_roc_auc"]["value"],
        "ap": rows["failure_ap"]["value"],
    }


_WINDOWS = """
WITH placed AS (
    SELECT trajectory_index, prefix_index, progress, target, success,
        rank() OVER (PARTITION BY trajectory_index ORDER BY progress)
            + (count(*) OVER (PARTITION BY trajectory_index, progress) - 1) / 2.0 AS p_rank,
        rank() OVER (PARTITION BY trajectory_index ORDER BY target)
            + (count(*) OVER (PARTITION BY trajectory_index, target) - 1) / 2.0 AS t_rank,
        corr(progress, prefix_index) OVER (
            PARTITION BY trajectory_index ORDER BY prefix_index ROWS BETWEEN 4 PRECEDING AND CURRENT ROW) AS r
    FROM '{points}'
),
traces AS (
    SELECT trajectory_index,
        avg((progress - target) * (progress - target)) AS mse,
        CASE WHEN min(progress) < max(progress) THEN corr(p_rank, t_rank) END AS spearman,
        bool_or(prefix_index >= 4 AND (r <= 0 OR r IS NULL OR isnan(r))) AND arg_max(success, prefix_index) <= 0.5
            AS called
    FROM placed GROUP BY trajectory_index
)
SELECT avg(mse) AS mse, avg(spearman) AS spearman, count(*) FILTER (WHERE called) AS called FROM traces
"""


def windows(folder: Path, threads: int | None) -> dict[str, float]:
    with DuckDB(threads=threads) as engine:
        return dict(engine.query(_WINDOWS.format(points=folder / "points.parquet")).to_pylist()[0])


def numpy_arrays(folder: Path) -> dict[str, float]:
    from scipy.stats import rankdata

    table = pq.read_table(folder / "points.parquet", columns=["progress", "target", "success", "failure"])
    v, t, s, failure = (table[name].to_numpy().reshape(-1, POINTS) for name in table.column_names)
    ranks = [rankdata(m, axis=1) - (POINTS + 1) / 2 for m in (v, t)]
    squares = (ranks[0] ** 2).sum(1) * (ranks[1] ** 2).sum(1)
    rho = ((ranks[0] * ranks[1]).sum(1)[squares > 0]) / np.sqrt(squares[squares > 0])
    window = np.lib.stride_tricks.sliding_window_view(v, 5, axis=1)
    centred, time_ = window - window.mean(2, keepdims=True), np.arange(5) - 2
    with np.errstate(invalid="ignore"):
        r = (centred * time_).sum(2) / np.sqrt(10 * (centred**2).sum(2))
    called = (np.nan_to_num(r) <= 1e-12).any(1) & (s[:, -1] <= 0.5)
    truth, score = failure[:, 0].astype(bool), 1 - s[:, -1]
    positive = rankdata(score)[truth]
    auc = (positive.sum() - len(positive) * (len(positive) + 1) / 2) / (len(positive) * (~truth).sum())
    return {
        "mse": ((v - t) ** 2).mean(1).mean(),
        "spearman": rho.mean(),
        "called": float(called.sum()),
        "auc": auc,
        "ap": _average_precision(truth, score),
    }


def _average_precision(truth: np.ndarray, score: np.ndarray) -> float:
    order = np.argsort(-score, kind="stable")
    hits, last = np.cumsum(truth[order]), np.append(np.diff(score[order]) != 0, True)
    hits, accepted = hits[last], np.arange(1, len(score) + 1)[last]
    return float((np.diff(hits, prepend=0) * hits / accepted).sum() / hits[-1])


def scipy_loop(data: dict[str, np.ndarray], sample: int) -> float:
    """Seconds for all trajectories, from a loop over `sample` of them that skips what scipy cannot take."""
    from scipy import stats

    start = time.perf_counter()
    for i in range(sample):
        v, t = data["progress"][i], data["target"][i]
        ((v - t) ** 2).mean()
        if v.min() < v.max():
            stats.spearmanr(v, t)
        for k in range(POINTS - 4):
            if v[k : k + 5].min() < v[k : k + 5].max():
                stats.pearsonr(np.arange(5), v[k : k + 5])
    return (time.perf_counter() - start) * len(data["progress"]) / sample


def traces_benchmark(n: int, repeats: int, sample: int, threads: int | None) -> dict[str, Timing]:
    """What each way takes; all give the same numbers. `scipy` is scaled up from `sample` trajectories."""
    with tempfile.TemporaryDirectory() as made:
        folder, data = Path(made), world(n)
        build(folder, data)
        ways: dict[str, Callable[[], dict[str, float] | None]] = {
            "scan floor": lambda: scan_floor(folder, threads),
            "from store": lambda: from_store(folder, threads),
            "from points": lambda: from_points(folder, threads),
            "windows": lambda: windows(folder, threads),
            "NumPy": lambda: numpy_arrays(folder),
        }
        timings, found = best(repeats, ways)
        timings["from store"] = replace(timings["from store"], memory=peak_memory(from_store, folder, threads))
        slow = scipy_loop(data, sample)
    reference = found["from store"]
    for name, numbers in found.items():
        for key in numbers or ():
            slack = 0.01 * n if key == "called" and name == "windows" else 1e-9 * max(1.0, abs(reference[key]))
            assert abs(numbers[key] - reference[key]) <= slack, (name, key, numbers[key], reference[key])
    return {**timings, "scipy": Timing((Round(slow, slow),))}


def show(n: int, timings: Mapping[str, Timing]) -> None:
    print(f"{n} trajectories x {POINTS} points")
    floor, ours = timings["scan floor"], timings["from points"]
    for name, each in timings.items():
        beside = f"{each.seconds / ours.seconds:10.2f} x from points (CPU {each.processor / ours.processor:8.2f})"
        ratios = f"{each.seconds / floor.seconds:10.2f} x floor {beside}"
        print(f"    {name:12}{each.seconds:10.3f} s{each.processor:10.3f} s CPU{ratios}")


class Slow:
    """A model of known cost."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent = seconds, 0.0

    def __call__(self, checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Slow:
        return self

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        start = time.perf_counter()
        time.sleep(self.seconds)
        found = [(float(query.frames[-1, 0, 0, 0]) / 255, 0.5) for query in queries]
        self.spent += time.perf_counter() - start
        return found


def loop_benchmark() -> None:
    rows = videos.rows_of(videos.OOD, 5)
    for number, row in enumerate(rows):
        row["target_progress"] = list(np.linspace(0, 1, 30))
        row["video"] = videos.video(row["target_progress"], row["task"], number, height=96, width=96)
    with tempfile.TemporaryDirectory() as made:
        files = videos.write(Path(made), rows)
        videos.write_checkpoints(files, [])
        model = Slow(0.02)
        start = time.perf_counter()
        done = evaluate(
            predictor=model,
            dataset=files.dataset,
            task_registry=files.registry,
            split="test_ood",
            checkpoint_root=files.checkpoints,
            base_model=files.base,
            output=Path(made) / "out",
            steps=[0],
            setting="A",
            settings={"rows_per_outcome": "5"},
        )
        whole, asked = time.perf_counter() - start, model.spent
        model.spent = 0.0
        start = time.perf_counter()
        selected = [video_of(row) for row in done.selection.rows]
        for _ in answers(model, selected, lambda video: done.selection.tasks, 4):
            pass
        loop = time.perf_counter() - start
    print(f"evaluation of {len(rows)} videos, {done.n_queries} queries, model {asked:.1f} s")
    print(f"    the loop       {loop:8.2f} s  {100 * (loop / model.spent - 1):6.2f} % beyond the model")
    beyond = 100 * (whole / asked - 1)
    print(f"    the command    {whole:8.2f} s  {beyond:6.2f} % beyond the model, files and scores included")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trajectories", type=float, default=1e6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--no-loop", action="store_true")
    given = parser.parse_args()
    n = int(given.trajectories)
    show(n, traces_benchmark(n, given.repeats, given.sample, given.threads))
    if not given.no_loop:
        loop_benchmark()


if __name__ == "__main__":
    main()
