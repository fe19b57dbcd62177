"""Random worlds as folders of NPY files: what `floor evaluate` reads."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.oracles.floor import Session
from tests.properties.floor_worlds import random_session


def random_sessions(seed: int, names: Sequence[str], annotated: bool = False) -> list[Session]:
    """A random session per name."""
    rng = np.random.default_rng(seed)
    return [random_session(rng, name, annotated) for name in names]


def write_targets(folder: Path, sessions: Sequence[Session]) -> Path:
    """`<session>.npy` [T, 3]: background, wearer, others."""
    folder.mkdir(parents=True, exist_ok=True)
    for session in sessions:
        bits = np.array(session.target, np.float32).reshape(-1, 2)
        background = (bits.sum(axis=1) == 0).astype(np.float32)
        np.save(folder / f"{session.name}.npy", np.column_stack([background, bits]))
    return folder


def write_run(folder: Path, sessions: Sequence[Session]) -> Path:
    """`pred/<session>.npy` [T, 3, 10] and `valid/<session>.npy` [T, 10] bool."""
    for part in ("pred", "valid"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for session in sessions:
        p = np.array(session.pred, np.float64)
        np.save(folder / "pred" / f"{session.name}.npy", np.stack([1 - p, p, p / 2], axis=1))
        np.save(folder / "valid" / f"{session.name}.npy", np.array(session.valid, bool))
    return folder


def write_segments(path: Path, sessions: Sequence[Session]) -> Path:
    """segments.csv of the sessions."""
    lines = [f"{s.name},{first},{n}" for s in sessions for first, n in s.segments]
    path.write_text("\n".join(["session,first_row,n_rows", *lines]) + "\n", encoding="utf-8")
    return path


def write_addressee(path: Path, sessions: Sequence[Session]) -> Path:
    """addressee.csv of the sessions."""
    lines = [f"{s.name},{first},{last},{stratum}" for s in sessions for first, last, stratum in s.addressee]
    path.write_text("\n".join(["session,first_row,last_row,stratum", *lines]) + "\n", encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    """The cells of a CSV file as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
