"""Who spoke when: target arrays, segments, annotation -> `floor_activity`, `floor_segments`, `floor_addressee`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts import conform, contract
from evalframe.errors import TargetRefused
from evalframe.sources.floor_intervals import Interval, read_addressee, read_segments
from evalframe.sources.floor_sessions import checked_name, files_of, session_files
from evalframe.sources.npy import read_npy, require_shape

COLUMNS = ("background", "wearer", "others")
WEARER, OTHERS = 1, 2


@dataclass(frozen=True, slots=True)
class Session:
    """One session's labels. index: its rank among all sessions of the target folder, sorted.

    activity: bool [T, 2], wearer and others. segments: recordings of their own, in order. sha256: of the target file.
    """

    name: str
    index: int
    activity: NDArray[np.bool_]
    segments: tuple[Interval, ...]
    addressee: tuple[Interval, ...]
    sha256: str

    @property
    def n_rows(self) -> int:
        """Rows of the session, in segments or not."""
        return len(self.activity)

    @property
    def n_rows_outside(self) -> int:
        """Rows that no segment holds: they are not evaluated."""
        return self.n_rows - sum(s.last - s.first + 1 for s in self.segments)

    def segment_digest(self, segment: Interval) -> str:
        """64 hex over the rows of a segment, one byte each: wearer + 2 x others."""
        bits = self.activity[segment.first : segment.last + 1].astype(np.uint8)
        return hashlib.sha256((bits[:, 0] + 2 * bits[:, 1]).tobytes()).hexdigest()


@dataclass(frozen=True)
class Targets:
    """The labels of the named sessions. digests: SHA-256 of every file read, by its name."""

    sessions: Mapping[str, Session]
    annotated: bool
    digests: Mapping[str, str]

    @property
    def dataset_id(self) -> str:
        """16 hex naming the labels: SHA-256 over the sorted (session, digest of its rows, segments and annotation)."""
        pairs = sorted(
            (s.name, hashlib.sha256(json.dumps([self.annotated, *_described(s)]).encode()).hexdigest())
            for s in self.sessions.values()
        )
        return hashlib.sha256(json.dumps(pairs, ensure_ascii=False).encode()).hexdigest()[:16]

    def tables(self) -> dict[str, pa.Table]:
        """`floor_activity`, `floor_segments` and `floor_addressee`, conformed to their contracts."""
        sessions = sorted(self.sessions.values(), key=lambda s: s.index)
        activity = {
            "row": np.concatenate([np.arange(s.n_rows, dtype=np.int64) for s in sessions]),
            "wearer": np.concatenate([s.activity[:, 0] for s in sessions]),
            "others": np.concatenate([s.activity[:, 1] for s in sessions]),
        }
        segments = [(s, one) for s in sessions for one in s.segments]
        intervals = [(s, one) for s in sessions for one in s.addressee]
        return {
            "floor_activity": self._table(
                "floor_activity", sessions, [s.n_rows for s in sessions], {k: pa.array(v) for k, v in activity.items()}
            ),
            "floor_segments": self._table(
                "floor_segments",
                [s for s, _ in segments],
                [1] * len(segments),
                {
                    "first_row": pa.array([one.first for _, one in segments], pa.int64()),
                    "n_rows": pa.array([one.last - one.first + 1 for _, one in segments], pa.int64()),
                    "activity_digest": pa.array([s.segment_digest(one) for s, one in segments], pa.large_string()),
                },
            ),
            "floor_addressee": self._table(
                "floor_addressee",
                [s for s, _ in intervals],
                [1] * len(intervals),
                {
                    "first_row": pa.array([one.first for _, one in intervals], pa.int64()),
                    "last_row": pa.array([one.last for _, one in intervals], pa.int64()),
                    "stratum": pa.array([one.label for _, one in intervals], pa.large_string()),
                },
            ),
        }

    def _table(
        self, name: str, sessions: Sequence[Session], repeats: Sequence[int], columns: Mapping[str, pa.Array]
    ) -> pa.Table:
        """`columns` beside the keys of the session that each row belongs to."""
        place = pa.array(np.repeat(np.arange(len(sessions)), repeats))
        keys = {
            "dataset_id": pa.repeat(pa.scalar(self.dataset_id, pa.large_string()), len(place)),
            "session_index": pa.array([s.index for s in sessions], pa.int32()).take(place),
            "session": pa.array([s.name for s in sessions], pa.large_string()).take(place),
        }
        target = contract(name)
        return conform(target, pa.table({**keys, **columns}).select(list(target.names)))


def read_targets(
    folder: Path, sessions: Sequence[str], segments: Path | None = None, addressee: Path | None = None
) -> Targets:
    """The labels of `sessions` from `<folder>/<session>.npy`, [T, 3] of exactly 0 or 1.

    Without a segment map each session is one segment. Raises SessionNameRefused, SessionMissing, InputError for an
    unreadable array, TargetRefused naming session, row and column, and IntervalsRefused.
    """
    names = list(dict.fromkeys(checked_name(name, "--sessions") for name in sessions))
    present = session_files(folder)
    ranks = {name: rank for rank, name in enumerate(present)}
    read = {name: _read(path, name) for name, path in files_of(names, present, folder).items()}
    lengths = {name: len(activity) for name, (activity, _) in read.items()}
    digests = {f"{name}.npy": digest for name, (_, digest) in read.items()}
    by_session: Mapping[str, tuple[Interval, ...]] = {n: (Interval(0, length - 1),) for n, length in lengths.items()}
    if segments is not None:
        mapped = read_segments(segments, lengths)
        by_session, digests["segments"] = mapped.by_session, mapped.sha256
    noted: Mapping[str, tuple[Interval, ...]] = {}
    if addressee is not None:
        annotation = read_addressee(addressee, lengths)
        noted, digests["addressee"] = annotation.by_session, annotation.sha256
    return Targets(
        {
            name: Session(name, ranks[name], activity, by_session[name], noted.get(name, ()), digest)
            for name, (activity, digest) in read.items()
        },
        annotated=any(noted.values()),
        digests=digests,
    )


def _read(path: Path, session: str) -> tuple[NDArray[np.bool_], str]:
    file = read_npy(path)
    require_shape(path, file.array, ("T", len(COLUMNS)), TargetRefused)
    if not len(file.array):
        raise _refuse(path, f"session {session} is empty", "one or more rows", "none")
    wrong = np.argwhere((file.array != 0) & (file.array != 1))
    if len(wrong):
        row, column = map(int, wrong[0])
        raise _refuse(
            path,
            f"session {session} row {row} column {COLUMNS[column]} is neither 0 nor 1",
            "exactly 0 or 1 in every cell",
            f"{file.array[row, column].item()!r} ({len(wrong)} such cells)",
        )
    return file.array[:, [WEARER, OTHERS]].astype(bool), file.sha256


def _refuse(path: Path, what: str, expected: str, found: str) -> TargetRefused:
    hint = "evalframe floor rasterize TURNS --wearer ID --output-dir DIR"
    return TargetRefused(what, expected=expected, found=found, where=str(path), hint=hint)


def _described(session: Session) -> list[Any]:
    return [
        session.n_rows,
        hashlib.sha256(np.packbits(session.activity).tobytes()).hexdigest(),
        [[s.first, s.last] for s in session.segments],
        [[a.first, a.last, a.label] for a in session.addressee],
    ]
