"""Who spoke when: target arrays, segments, annotation -> `floor_activity`, `floor_segments`, `floor_addressee`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts import conform, contract
from evalframe.contracts.shards import Rows, Spool
from evalframe.errors import TargetRefused
from evalframe.sources.floor_intervals import Interval, read_addressee, read_segments
from evalframe.sources.floor_sessions import checked_name, files_of, session_files
from evalframe.sources.npy import read_npy, require_shape
from evalframe.sources.values import repeated

COLUMNS = ("background", "wearer", "others")
WEARER, OTHERS = 1, 2


@dataclass(frozen=True, slots=True)
class Session:
    """One session's labels. index: its rank among all sessions of the target folder, sorted.

    n_rows: in segments or not. packed: `activity`, eight bits to a byte, row by row: a quarter of a byte for each row
    is all that is kept of the arrays. segments: recordings of their own, in order. sha256: of the target file.
    """

    name: str
    index: int
    n_rows: int
    packed: NDArray[np.uint8]
    segments: tuple[Interval, ...]
    addressee: tuple[Interval, ...]
    sha256: str

    @property
    def activity(self) -> NDArray[np.bool_]:
        """Bool [T, 2]: wearer and others."""
        return np.unpackbits(self.packed, count=2 * self.n_rows).reshape(-1, 2).astype(bool)

    @property
    def n_rows_outside(self) -> int:
        """Rows that no segment holds: they are not evaluated."""
        return self.n_rows - sum(s.last - s.first + 1 for s in self.segments)

    def segment_digests(self) -> list[str]:
        """64 hex over the rows of each segment, one byte each: wearer + 2 x others."""
        bits = self.activity.astype(np.uint8)
        codes = bits[:, 0] + 2 * bits[:, 1]
        return [hashlib.sha256(codes[s.first : s.last + 1].tobytes()).hexdigest() for s in self.segments]


@dataclass(frozen=True)
class Targets:
    """The labels of the named sessions. digests: SHA-256 of every file read, by its name."""

    sessions: Mapping[str, Session]
    annotated: bool
    digests: Mapping[str, str]

    @cached_property
    def dataset_id(self) -> str:
        """16 hex naming the labels: SHA-256 over the sorted (session, digest of its rows, segments and annotation)."""
        pairs = sorted(
            (s.name, hashlib.sha256(json.dumps([self.annotated, *_described(s)]).encode()).hexdigest())
            for s in self.sessions.values()
        )
        return hashlib.sha256(json.dumps(pairs, ensure_ascii=False).encode()).hexdigest()[:16]

    def tables(self, spool: Spool | None = None) -> dict[str, Rows]:
        """`floor_activity`, `floor_segments` and `floor_addressee`, conformed to their contracts.

        spool: where the rows of `floor_activity` go that do not fit into memory; default memory.
        """
        spool = spool or Spool()
        sessions = sorted(self.sessions.values(), key=lambda s: s.index)
        for session in sessions:
            spool.add("floor_activity", self._activity(session))
        segments = [
            (s, one, digest) for s in sessions for one, digest in zip(s.segments, s.segment_digests(), strict=True)
        ]
        intervals = [(s, one) for s in sessions for one in s.addressee]
        return {
            "floor_activity": spool.take("floor_activity", contract("floor_activity").arrow_schema()),
            "floor_segments": self._table(
                "floor_segments",
                [s for s, *_ in segments],
                {
                    "first_row": pa.array([one.first for _, one, _ in segments], pa.int64()),
                    "n_rows": pa.array([one.last - one.first + 1 for _, one, _ in segments], pa.int64()),
                    "activity_digest": pa.array([digest for *_, digest in segments], pa.large_string()),
                },
            ),
            "floor_addressee": self._table(
                "floor_addressee",
                [s for s, _ in intervals],
                {
                    "first_row": pa.array([one.first for _, one in intervals], pa.int64()),
                    "last_row": pa.array([one.last for _, one in intervals], pa.int64()),
                    "stratum": pa.array([one.label for _, one in intervals], pa.large_string()),
                },
            ),
        }

    def _activity(self, session: Session) -> pa.Table:
        wearer, others = session.activity.T
        columns = {
            "row": pa.array(np.arange(session.n_rows, dtype=np.int64)),
            "wearer": pa.array(wearer),
            "others": pa.array(others),
        }
        return self._table("floor_activity", [session], columns, session.n_rows)

    def _table(
        self, name: str, sessions: Sequence[Session], columns: Mapping[str, pa.Array], repeats: int = 1
    ) -> pa.Table:
        """`columns` beside the keys of the session that each row belongs to, `repeats` rows each."""
        place = pa.array(np.repeat(np.arange(len(sessions)), repeats))
        keys = {
            "dataset_id": repeated(self.dataset_id, len(place)),
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
    lengths = {name: n_rows for name, (n_rows, _, _) in read.items()}
    digests = {f"{name}.npy": digest for name, (_, _, digest) in read.items()}
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
            name: Session(name, ranks[name], n_rows, packed, by_session[name], noted.get(name, ()), digest)
            for name, (n_rows, packed, digest) in read.items()
        },
        annotated=any(noted.values()),
        digests=digests,
    )


def _read(path: Path, session: str) -> tuple[int, NDArray[np.uint8], str]:
    """Rows of the file, its wearer and others packed into bits, and its digest."""
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
    return len(file.array), np.packbits(file.array[:, [WEARER, OTHERS]].astype(bool)), file.sha256


def _refuse(path: Path, what: str, expected: str, found: str) -> TargetRefused:
    hint = "evalframe floor rasterize TURNS --wearer ID --output-dir DIR"
    return TargetRefused(what, expected=expected, found=found, where=str(path), hint=hint)


def _described(session: Session) -> list[Any]:
    return [
        session.n_rows,
        hashlib.sha256(session.packed.tobytes()).hexdigest(),
        [[s.first, s.last] for s in session.segments],
        [[a.first, a.last, a.label] for a in session.addressee],
    ]
