"""Random sessions for the floor properties: the oracle's view of them, and the contracted tables of the same world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalframe.contracts import conform, contract
from evalframe.sources.floor_forecasts import by_source_row, forecasts_table
from evalframe.sources.floor_intervals import Interval
from evalframe.sources.floor_targets import Session as Labels
from evalframe.sources.floor_targets import Targets
from tests.oracles.floor import Session

STRATA = ("third_party", "addressed", "group_or_unknown")


def random_session(rng: np.random.Generator, name: str, annotated: bool = False) -> Session:
    """A short session: runs of speech of any length, few distinct scores (ties), holes in `valid`, gaps."""
    # Mostly short, so that ends are near; some beyond 60 and 120 rows, the words that frames are packed into.
    n_rows = int(rng.integers(1, 45) if rng.random() < 0.85 else rng.integers(55, 190))
    tracks = [_track(rng, n_rows), _track(rng, n_rows)]
    distinct = rng.choice([3, 11, 1000])
    pred = rng.integers(0, distinct + 1, (n_rows, 10)) / distinct
    valid = rng.random((n_rows, 10)) > rng.choice([0.0, 0.03, 0.3])
    pred[rng.random((n_rows, 10)) < 0.01] = rng.choice([np.nan, np.inf])
    return Session(
        name=name,
        target=list(zip(tracks[0], tracks[1], strict=True)),
        pred=pred.tolist(),
        valid=valid.tolist(),
        segments=_segments(rng, n_rows),
        addressee=_intervals(rng, n_rows) if annotated else (),
    )


def _track(rng: np.random.Generator, n_rows: int) -> list[int]:
    if rng.random() < 0.1:
        return [int(rng.integers(0, 2))] * n_rows  # silent or speaking throughout
    mean = rng.choice([1.5, 4.0, 12.0])
    bits: list[int] = []
    state = int(rng.integers(0, 2))
    while len(bits) < n_rows:
        bits += [state] * int(rng.geometric(1 / mean))
        state = 1 - state
    return bits[:n_rows]


def _segments(rng: np.random.Generator, n_rows: int) -> list[tuple[int, int]]:
    if rng.random() < 0.4:
        return [(0, n_rows)]
    found, row = [], int(rng.integers(0, 3))
    while row < n_rows:
        length = int(min(rng.choice([1, 2, 3, 8, 20]), n_rows - row))
        found.append((row, length))
        row += length + int(rng.choice([0, 0, 1, 4]))
    return found or [(0, 1)]


def _intervals(rng: np.random.Generator, n_rows: int) -> list[tuple[int, int, str]]:
    found, row = [], int(rng.integers(0, 6))
    while row < n_rows:
        last = int(min(row + rng.integers(0, 12), n_rows - 1))
        found.append((row, last, str(rng.choice(STRATA))))
        row = last + 1 + int(rng.integers(0, 5))
    return found


def labels_of(session: Session, index: int) -> Labels:
    """The session's labels as the source reads them."""
    return Labels(
        name=session.name,
        index=index,
        n_rows=len(session.target),
        packed=np.packbits(np.array(session.target, bool)),
        segments=tuple(Interval(first, first + n - 1) for first, n in session.segments),
        addressee=tuple(Interval(first, last, label) for first, last, label in session.addressee),
        sha256="",
    )


def world_tables(
    sessions: Sequence[Session],
    folds: Sequence[tuple[Sequence[str], Sequence[str]]],
    recalls: Mapping[str, Fraction],
    run_id: str = "model",
) -> dict[str, pa.Table]:
    """The input tables of one run. folds: (evaluated, calibrating) session names; one fold is named by empty text."""
    ordered = sorted(sessions, key=lambda s: s.name)
    labels = {s.name: labels_of(s, i) for i, s in enumerate(ordered)}
    targets = Targets(labels, annotated=any(s.addressee for s in sessions), digests={})
    forecasts = [by_source_row(labels[s.name], np.array(s.pred), np.array(s.valid)) for s in ordered]
    names = [""] if len(folds) == 1 else [str(n) for n in range(1, len(folds) + 1)]
    places = [
        (fold, role, session)
        for fold, (evaluated, calibrating) in zip(names, folds, strict=True)
        for role, some in (("evaluation", evaluated), ("calibration", calibrating))
        for session in some
    ]
    return {
        **targets.tables(),
        "floor_forecasts": pa.concat_tables([forecasts_table(run_id, "run", one) for one in forecasts]),
        "floor_folds": conform(
            contract("floor_folds"),
            pa.table(
                {
                    "run_id": pa.array([run_id] * len(places), pa.large_string()),
                    "fold": pa.array([fold for fold, _, _ in places], pa.large_string()),
                    "role": pa.array([role for _, role, _ in places], pa.large_string()),
                    "dataset_id": pa.array([targets.dataset_id] * len(places), pa.large_string()),
                    "session_index": pa.array([labels[s].index for _, _, s in places], pa.int32()),
                    "session": pa.array([s for _, _, s in places], pa.large_string()),
                    "forecast_set": pa.array(["run"] * len(places), pa.large_string()),
                }
            ),
        ),
        "floor_recalls": conform(
            contract("floor_recalls"),
            pa.table(
                {
                    "run_id": pa.array([run_id] * len(recalls), pa.large_string()),
                    "recall": pa.array([float(q) for q in recalls.values()]),
                    "label": pa.array(list(recalls), pa.large_string()),
                    "numerator": pa.array([q.numerator for q in recalls.values()], pa.int64()),
                    "denominator": pa.array([q.denominator for q in recalls.values()], pa.int64()),
                }
            ),
        ),
    }


def saved_session(folder: Path, name: str, run: str) -> Session:
    """A session of the published data as the oracle sees it, read with NumPy alone."""
    target = np.load(folder / "target" / f"{name}.npy")
    pred = np.load(folder / run / "pred" / f"{name}.npy").astype(np.float64)
    valid = np.load(folder / run / "valid" / f"{name}.npy")
    return Session(
        name=name,
        target=[(int(row[1]), int(row[2])) for row in target],
        pred=pred[:, 1, :].tolist(),
        valid=valid.tolist(),
        segments=[(0, len(target))],
    )
