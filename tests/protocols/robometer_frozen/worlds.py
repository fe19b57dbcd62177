"""Random trajectories with ties, constants, failures and gaps: as the oracle and as the product take them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from fractions import Fraction

import polars as pl

from tests.oracles.progress import Point, Trajectory


def trajectories(
    seed: int,
    *,
    tasks: int = 3,
    per_outcome: int = 4,
    grid: int = 20,
    max_frames: int = 14,
    max_points: int = 8,
    failing: float = 0.05,
    missing: float = 0.05,
) -> list[Trajectory]:
    """Trajectories on a decimal grid of 1/`grid`, so that ties and constants are common and exact."""
    world = random.Random(seed)
    names = [f"task {i}" for i in range(tasks)]
    made = []
    for task in names:
        for outcome in ("success", "failure"):
            for number in range(per_outcome):
                n_frames = world.randint(1, max_frames)
                targets = {f: _value(world, grid) for f in range(n_frames)}
                traces = {
                    query: trace
                    for query in names
                    if (trace := _trace(world, n_frames, grid, max_points, failing)) and world.random() >= missing
                }
                made.append(Trajectory(f"{task}/{outcome}/{number:03d}", task, outcome, targets, traces))
    world.shuffle(made)
    return made


def _value(world: random.Random, grid: int) -> Fraction:
    return Fraction(world.randint(0, grid), grid)


def _trace(world: random.Random, n_frames: int, grid: int, max_points: int, failing: float) -> list[Point]:
    if n_frames < 2:
        return []
    frames = sorted(world.sample(range(n_frames), world.randint(1, min(max_points, n_frames))))
    shape = world.choice(("random", "random", "constant", "line", "steps"))
    start, step = world.randint(0, grid), world.choice((-1, 0, 1, 2))
    points = []
    for i, frame in enumerate(frames):
        level = {"random": world.randint(0, grid), "constant": start, "line": start + step * i, "steps": i // 3 + start}
        failed = world.random() < failing / len(frames)
        progress = None if failed else Fraction(level[shape], grid)
        points.append(Point(frame, progress, None if failed else _value(world, grid)))
    return points


def target_rows(world: Iterable[Trajectory]) -> pl.DataFrame:
    """The file form of targets."""
    return pl.DataFrame(
        [
            {"trajectory_id": t.id, "task": t.task, "outcome": t.outcome, "frame_index": f, "target_progress": float(v)}
            for t in world
            for f, v in t.targets.items()
        ],
        orient="row",
    )


TRACE_SCHEMA = {
    "run_id": pl.String,
    "step": pl.Int64,
    "trajectory_id": pl.String,
    "query_task": pl.String,
    "prefix_index": pl.Int64,
    "frame_index": pl.Int64,
    "progress": pl.Float64,
    "success_probability": pl.Float64,
    "error": pl.String,
}


def trace_rows(world: Sequence[Trajectory], *, run_id: str = "run", step: int = 0) -> pl.DataFrame:
    """The file form of traces."""
    rows = [
        (
            run_id,
            step,
            t.id,
            query,
            i,
            p.frame,
            None if p.progress is None else float(p.progress),
            None if p.success is None else float(p.success),
            "it broke" if p.progress is None else None,
        )
        for t in world
        for query, points in t.traces.items()
        for i, p in enumerate(points)
    ]
    return pl.DataFrame(rows, schema=TRACE_SCHEMA, orient="row")
