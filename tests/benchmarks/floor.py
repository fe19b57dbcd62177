"""Floor events of many sessions at ten horizons, beside a scan, vectorised NumPy and a loop over events.

    python -m tests.benchmarks.floor [--frames 1e6] [--sessions-a-file 400] [--repeats 2] [--threads N]
                                     [--memory-limit 1GB] [--without WAY ...] [--folder DIR]

Sessions of 5,000 rows with turns of seconds are written as Parquet files of some sessions each, a tenth of which
calibrate. Each way answers the five rates at recalls 0.7, 0.8 and 0.9; they are compared before anything is printed.

    scan floor     DuckDB reads the columns that the relations read, and adds them up
    relations      operating points from the calibration files, then states, some files at a time, then metrics of them,
                   clusters left together and the run named beside the rows as in scoring
    per cluster    the same with the states of every session kept apart, as comparing needs them
    and rankings   as relations, with both average precisions
    numpy          the same files read with PyArrow, whole-array NumPy file by file
    loop           the same files, one event at a time

Seconds are those of all processors together, so that a busy machine hardly changes them; those of the clock stand
beside. Ratios are to the scan floor. Interleaved, best of REPEATS. Memory is the peak of a process of its own, less
what it held before it started.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalframe.contracts import conform, contract
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.pooling import pooled
from evalframe.protocols.easycom_floor import PRE_BOUNDARY
from evalframe.relations import catalogue, plan
from tests.benchmarks.timing import Timing, best, peak_memory

ROWS, STEPS, PAUSE_ROWS = 5_000, 10, 10
PART = 4_000_000  # frames answered at a time: more than a core has to do alone, and some hundred MB
RECALLS = (7, 8, 9)  # tenths
DATASET, RUN = "benchmark", "model"
RATES = (
    "response_recall",
    "no_response_trigger_rate_at_recall",
    "short_resume_trigger_rate_at_recall",
    "yield_recall",
    "continue_false_stop_rate_at_recall",
)
RANKINGS = ("response_ap", "yield_ap")


@dataclass(frozen=True)
class Size:
    frames: int
    per_file: int
    threads: int | None
    memory_limit: str

    @property
    def sessions(self) -> int:
        return self.frames // ROWS

    @property
    def files(self) -> list[range]:
        """The sessions of each file. A tenth of the files, at least one, calibrates."""
        return [range(i, min(i + self.per_file, self.sessions)) for i in range(0, self.sessions, self.per_file)]

    @property
    def n_calibrating(self) -> int:
        return max(1, len(self.files) // 10)

    @property
    def parts(self) -> list[list[int]]:
        """The files that do not calibrate, so many at a time as have at most PART frames."""
        numbers = range(self.n_calibrating, len(self.files))
        some = max(1, PART // (self.per_file * ROWS))
        return [list(numbers[i : i + some]) for i in range(0, len(numbers), some)]


# ---- data -----------------------------------------------------------------------------------------------------------


def build(folder: Path, size: Size) -> None:
    rng = np.random.default_rng(0)
    for number, sessions in enumerate(size.files):
        n = len(sessions) * ROWS
        index = pa.array(np.repeat(np.arange(sessions.start, sessions.stop, dtype=np.int32), ROWS))
        row = np.tile(np.arange(ROWS), len(sessions))
        labels = {
            "dataset_id": _text(DATASET, n),
            "session_index": index,
            "session": pa.array([_name(s) for s in sessions], pa.large_string()).take(
                pa.array(np.repeat(np.arange(len(sessions)), ROWS))
            ),
            "row": pa.array(row),
            "wearer": pa.array(_turns(rng, n, on=15, off=60)),
            "others": pa.array(_turns(rng, n, on=30, off=20)),
        }
        offsets = pa.array(np.arange(0, n * STEPS + 1, STEPS, dtype=np.int32))
        valid = (row[:, np.newaxis] + np.arange(1, STEPS + 1) < ROWS) & (rng.random((n, STEPS)) > 1e-4)
        p = rng.random((n, STEPS), dtype=np.float32).astype(np.float64)
        forecasts = {
            "run_id": _text(RUN, n),
            "forecast_set": _text("run", n),
            "session_index": index,
            "row": pa.array(row),
            "p_wearer": pa.ListArray.from_arrays(offsets, pa.array(p.ravel())),
            "valid": pa.ListArray.from_arrays(offsets, pa.array(valid.ravel())),
        }
        for name, columns in (("floor_activity", labels), ("floor_forecasts", forecasts)):
            table = conform(contract(name), pa.table(columns))
            pq.write_table(
                table,
                folder / f"{name}-{number:04d}.parquet",
                compression="zstd",
                row_group_size=1 << 17,
                use_dictionary=[c for c in table.column_names if pa.types.is_large_string(table.schema.field(c).type)],
                column_encoding={"p_wearer.list.element": "BYTE_STREAM_SPLIT"} if name == "floor_forecasts" else None,
            )


def _text(value: str, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.large_string()), n)


def _name(session: int) -> str:
    return f"s{session:06d}"


def _turns(rng: np.random.Generator, n: int, on: int, off: int) -> np.ndarray:
    pairs = int(2.4 * n / (on + off)) + 10
    lengths = np.empty(2 * pairs, int)
    lengths[0::2], lengths[1::2] = rng.geometric(1 / off, pairs), rng.geometric(1 / on, pairs)
    return np.repeat(np.tile([False, True], pairs), lengths)[:n]


def _rows(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    target = contract(name)
    return conform(target, pa.Table.from_pylist(rows, schema=target.arrow_schema()))


# ---- relations ------------------------------------------------------------------------------------------------------


def scan_floor(folder: Path, size: Size) -> None:
    with DuckDB(threads=size.threads, memory_limit=size.memory_limit) as engine:
        for name in ("floor_activity", "floor_forecasts"):
            engine.bind(name, sorted(folder.glob(f"{name}-*.parquet")))
        engine.query(
            'SELECT sum(session_index), sum("row"), count(*) FILTER (WHERE wearer), count(*) FILTER (WHERE others)'
            " FROM floor_activity"
        )
        engine.query('SELECT sum(session_index), sum("row"), sum(p_wearer[1]), sum(len(valid)) FROM floor_forecasts')


def relations(folder: Path, size: Size, rankings: bool, together: bool) -> dict[str, pa.Table]:
    """The rates by the relations: memory follows the files, not the frames."""
    states = ("floor_trigger_counts", "floor_short_resume_counts", *(("floor_score_groups",) if rankings else ()))
    metrics = (*RATES, *(RANKINGS if rankings else ()))
    settings = PRE_BOUNDARY.settings()
    known = frozenset({"operating_points"})
    whole = plan(catalogue(), metrics, parameters=settings, given=known, pooled=together, run_id=RUN)
    wanted = whole.part(states, known, pooled(whole))
    with DuckDB(threads=size.threads, memory_limit=size.memory_limit) as engine:
        engine.bind("floor_addressee", contract("floor_addressee").empty())
        engine.bind(
            "floor_recalls",
            _rows(
                "floor_recalls",
                [
                    {"run_id": RUN, "recall": q / 10, "label": f"0.{q}", "numerator": q, "denominator": 10}
                    for q in RECALLS
                ],
            ),
        )
        _bind(engine, folder, size, list(range(size.n_calibrating)), "calibration")
        points = engine.evaluate(plan(catalogue(), ["operating_points"], parameters=settings))["operating_points"]
        engine.bind("operating_points", points)
        parts: dict[str, list[pa.Table]] = {state: [] for state in states}
        for numbers in size.parts:
            _bind(engine, folder, size, numbers, "evaluation")
            for state, rows in engine.evaluate(wanted).items():
                parts[state].append(rows)
        for state, tables in parts.items():
            engine.bind(state, pa.concat_tables(tables))
        return engine.evaluate(whole.part(metrics, frozenset(states), pooled(whole)))


def _bind(engine: DuckDB, folder: Path, size: Size, numbers: list[int], role: str) -> None:
    sessions = [session for number in numbers for session in size.files[number]]
    for name in ("floor_activity", "floor_forecasts"):
        engine.bind(name, [folder / f"{name}-{number:04d}.parquet" for number in numbers])
    place = [{"dataset_id": DATASET, "session_index": s, "session": _name(s)} for s in sessions]
    engine.bind(
        "floor_segments",
        _rows("floor_segments", [{**one, "first_row": 0, "n_rows": ROWS, "activity_digest": ""} for one in place]),
    )
    engine.bind(
        "floor_folds",
        _rows(
            "floor_folds", [{**one, "run_id": RUN, "fold": "", "role": role, "forecast_set": "run"} for one in place]
        ),
    )


# ---- peers ----------------------------------------------------------------------------------------------------------

Events = dict[tuple[str, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""(kind, horizon) -> score, outcome and short restart of every scored event."""


def peer(folder: Path, size: Size, events_of: Callable[..., Events]) -> dict[str, np.ndarray]:
    calibrating: list[Events] = []
    evaluated: list[Events] = []
    for number in range(len(size.files)):
        labels = pq.read_table(folder / f"floor_activity-{number:04d}.parquet", columns=["wearer", "others"])
        forecasts = pq.read_table(folder / f"floor_forecasts-{number:04d}.parquet", columns=["p_wearer", "valid"])
        flat = [
            forecasts[name].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, STEPS)
            for name in ("p_wearer", "valid")
        ]
        found = events_of(labels["wearer"].to_numpy(), labels["others"].to_numpy(), *flat)
        (calibrating if number < size.n_calibrating else evaluated).append(found)
    return _rates(_joined(calibrating), _joined(evaluated))


def _joined(parts: list[Events]) -> Events:
    return {key: tuple(np.concatenate(some) for some in zip(*(p[key] for p in parts), strict=True)) for key in parts[0]}


def _rates(calibrating: Events, evaluated: Events) -> dict[str, np.ndarray]:
    """Metric -> values by horizon and recall."""
    found: dict[str, list[float]] = {name: [] for name in RATES}
    for k in range(1, STEPS + 1):
        for q in RECALLS:
            for kind in ("response", "yield"):
                score, outcome, _ = calibrating[kind, k]
                positives = np.sort(score[outcome])[::-1]
                threshold = positives[-(-q * len(positives) // 10) - 1]
                score, outcome, short = evaluated[kind, k]
                names = (RATES[0], RATES[1]) if kind == "response" else (RATES[3], RATES[4])
                found[names[0]].append((score[outcome] >= threshold).mean())
                found[names[1]].append((score[~outcome] >= threshold).mean())
                if kind == "response":
                    found[RATES[2]].append((score[short] >= threshold).mean())
    return {name: np.array(values) for name, values in found.items()}


def vectorised(wearer: np.ndarray, others: np.ndarray, p: np.ndarray, valid: np.ndarray) -> Events:
    """Whole arrays at a time: transitions by comparison, next rows by binary search, paths by running maxima."""
    far = np.int64(1 << 60)
    inside = np.arange(1, len(others)) % ROWS != 0
    boundary = np.flatnonzero((others[1:] != others[:-1]) & inside) + 1
    changes = np.append(np.flatnonzero((wearer[1:] != wearer[:-1]) & inside) + 1, far)
    competing = np.append(boundary[1:], far)
    decision = boundary - 1
    kept = wearer[decision] == others[boundary]
    boundary, decision, competing = boundary[kept], decision[kept], competing[kept]
    last = decision // ROWS * ROWS + ROWS - 1
    competing = np.where(competing <= last, competing, far)
    transition = changes[np.searchsorted(changes, boundary)]
    transition = np.where(transition <= last, transition, far)
    yields = others[boundary]
    path = np.where(yields[:, np.newaxis], 1 - p[decision], p[decision])
    best = np.maximum.accumulate(path, axis=1)
    usable = np.logical_and.accumulate(valid[decision], axis=1).sum(1)
    short = competing - boundary <= PAUSE_ROWS
    found: Events = {}
    for k in range(1, STEPS + 1):
        outcome = (transition <= decision + k) & (transition < competing)
        censored = ~outcome & (competing > decision + k) & (decision + k > last)
        steps = np.minimum(np.minimum(decision + k, competing - 1), last) - decision
        scored = ~censored & (usable >= steps)
        score = best[np.arange(len(best)), steps - 1]
        for kind, some in (("response", scored & ~yields), ("yield", scored & yields)):
            found[kind, k] = score[some], outcome[some], (short & ~outcome)[some]
    return found


def one_by_one(wearer: np.ndarray, others: np.ndarray, p: np.ndarray, valid: np.ndarray) -> Events:
    """A loop over boundaries and horizons, as an evaluation script would have it."""
    lists: dict[tuple[str, int], list[tuple[float, bool, bool]]] = {
        (kind, k): [] for kind in ("response", "yield") for k in range(1, STEPS + 1)
    }
    for start in range(0, len(others), ROWS):
        w, o = wearer[start : start + ROWS], others[start : start + ROWS]
        turns, changes = np.flatnonzero(o[1:] != o[:-1]) + 1, np.flatnonzero(w[1:] != w[:-1]) + 1
        for i, b in enumerate(turns):
            s = b - 1
            if w[s] != o[b]:
                continue
            c = turns[i + 1] if i + 1 < len(turns) else None
            place = np.searchsorted(changes, b)
            r = changes[place] if place < len(changes) else None
            for k in range(1, STEPS + 1):
                outcome = r is not None and r <= s + k and (c is None or r < c)
                if not outcome and (c is None or c > s + k) and s + k > ROWS - 1:
                    continue
                end = min(s + k, ROWS - 1 if c is None else c - 1, ROWS - 1)
                if not valid[start + s, : end - s].all():
                    continue
                path = p[start + s, : end - s]
                short = c is not None and c - b <= PAUSE_ROWS and not outcome
                score = 1 - path.min() if o[b] else path.max()
                lists["yield" if o[b] else "response", k].append((score, outcome, short))
    return {
        key: tuple(np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0),) * 3
        for key, rows in lists.items()
    }


# ---- report ---------------------------------------------------------------------------------------------------------


def numbers(answer: dict[str, Any] | None) -> np.ndarray | None:
    """Metrics x (horizon, recall), in one order for all ways."""
    if answer is None:
        return None
    if isinstance(answer[RATES[0]], np.ndarray):
        return np.stack([answer[name] for name in RATES])
    ordered = [answer[name].sort_by([("horizon_s", "ascending"), ("recall", "ascending")]) for name in RATES]
    return np.stack([table["value"].to_numpy() for table in ordered])


def ways(
    folder: Path, size: Size, without: Collection[str]
) -> dict[str, tuple[Callable[..., Any], tuple[object, ...]]]:
    """Each with its arguments: another process can run it too."""
    every: dict[str, tuple[Callable[..., Any], tuple[object, ...]]] = {
        "scan floor": (scan_floor, (folder, size)),
        "relations": (relations, (folder, size, False, True)),
        "per cluster": (relations, (folder, size, False, False)),
        "and rankings": (relations, (folder, size, True, True)),
        "numpy": (peer, (folder, size, vectorised)),
        "loop": (peer, (folder, size, one_by_one)),
    }
    return {way: each for way, each in every.items() if way not in without}


def measured(folder: Path, size: Size, repeats: int, without: Collection[str] = ()) -> dict[str, Timing]:
    """What each way takes; all give the same numbers."""
    build(folder, size)
    chosen = ways(folder, size, without)
    timings, given = best(repeats, {way: partial(act, *arguments) for way, (act, arguments) in chosen.items()})
    answers = {way: found for way, answer in given.items() if (found := numbers(answer)) is not None}
    for way, found in answers.items():
        np.testing.assert_array_equal(found, answers["relations"], err_msg=way)
    for way, (act, arguments) in chosen.items():
        if way != "loop":
            timings[way] = replace(timings[way], memory=peak_memory(act, *arguments))
    return timings


def main(folder: Path, size: Size, repeats: int, without: Collection[str]) -> None:
    timings = measured(folder, size, repeats, without)
    floor = timings["scan floor"]
    share = Fraction(size.n_calibrating, len(size.files))
    print(f"{size.sessions * ROWS:.1e} frames x {STEPS} horizons, {size.sessions} sessions, {share} of files calibrate")
    for way, each in timings.items():
        memory = f"{each.memory:8.0f} MB" if each.memory is not None else ""
        print(
            f"{way:14s}{each.processor:9.2f} s {each.processor / floor.processor:8.2f} x floor"
            f"  (clock {each.seconds:.2f} s, {each.seconds / floor.seconds:.2f} x) {memory}"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=float, default=1e6)
    parser.add_argument("--sessions-a-file", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--memory-limit", default="1GB")
    parser.add_argument("--without", nargs="*", default=[], choices=["per cluster", "and rankings", "numpy", "loop"])
    parser.add_argument("--folder", type=Path, help="an empty folder for the data (default: a temporary one)")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="evalframe-benchmark-") as made:
        size = Size(int(given.frames), given.sessions_a_file, given.threads, given.memory_limit)
        main(given.folder or Path(made), size, given.repeats, given.without)
