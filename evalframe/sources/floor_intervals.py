"""Intervals of rows beside the arrays: segment maps and addressee annotation, read from CSV and refused on overlap."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from evalframe.contracts import Column, Contract, contract, read_table, validate
from evalframe.errors import IntervalsRefused
from evalframe.sources.fields import file_sha256
from evalframe.sources.floor_sessions import checked_name
from evalframe.sources.values import is_text, normalised

_SESSION = Column("session", "utf8", True, "Session name.")
_FIRST = Column("first_row", "int64", True, "First row, from 0.", minimum=0)
_SEGMENT_FILE = Contract(
    name="segments.csv",
    version="1.0.0",
    description="Stretches of a session that were recorded without a break.",
    columns=(_SESSION, _FIRST, Column("n_rows", "int64", True, "Length in rows.", minimum=1)),
    key=("session", "first_row"),
    references=(),
)
_ADDRESSEE_FILE = Contract(
    name="addressee.csv",
    version="1.0.0",
    description="Whom the others address, by interval.",
    columns=(
        _SESSION,
        _FIRST,
        Column("last_row", "int64", True, "Last row, inclusive.", minimum=0),
        Column("stratum", "utf8", True, "Whom.", allowed=contract("floor_addressee").column("stratum").allowed),
    ),
    key=("session", "first_row"),
    references=(),
)


@dataclass(frozen=True, slots=True)
class Interval:
    """Rows first..last of a session, both inclusive. label: the stratum of an annotated interval, else empty."""

    first: int
    last: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of each session in order, and the SHA-256 of their file."""

    by_session: Mapping[str, tuple[Interval, ...]]
    sha256: str


def read_segments(path: Path, lengths: Mapping[str, int]) -> Intervals:
    """The segment map of the sessions in `lengths` (session -> rows); lines of other sessions are not looked at.

    Raises ContractError (columns, types, an empty segment) and IntervalsRefused (overlap, out of range, a session
    without a line).
    """
    rows = _rows(path, _SEGMENT_FILE)
    found = _grouped(
        ((r["session"], Interval(r["first_row"], r["first_row"] + r["n_rows"] - 1)) for r in rows), lengths, path
    )
    for session in lengths:
        if session not in found:
            raise _refuse(path, f"session {session} has no segment", "one or more lines for every session", "none")
    return Intervals(found, file_sha256(path))


def read_addressee(path: Path, lengths: Mapping[str, int]) -> Intervals:
    """The annotated intervals of the sessions in `lengths`; a session may have none. Raises as `read_segments`."""
    rows = _rows(path, _ADDRESSEE_FILE)
    found = _grouped(
        ((r["session"], Interval(r["first_row"], r["last_row"], r["stratum"])) for r in rows), lengths, path
    )
    return Intervals(found, file_sha256(path))


def _rows(path: Path, columns: Contract) -> list[dict[str, Any]]:
    table = read_table(columns, path)
    for i, field in enumerate(table.schema):
        if is_text(field.type):
            table = table.set_column(i, field.name, normalised(table[field.name]))
    report = validate(columns, table)
    report.raise_for_failures(where=str(path))
    rows: list[dict[str, Any]] = report.valid.to_pylist()
    return rows


def _grouped(
    rows: Iterable[tuple[str, Interval]], lengths: Mapping[str, int], path: Path
) -> dict[str, tuple[Interval, ...]]:
    found: dict[str, list[Interval]] = {}
    for name, interval in rows:
        session = checked_name(name, str(path))
        if session in lengths:
            found.setdefault(session, []).append(interval)
    ordered = {session: tuple(sorted(some, key=lambda i: i.first)) for session, some in found.items()}
    for session, some in ordered.items():
        _check(path, session, some, lengths[session])
    return ordered


def _check(path: Path, session: str, intervals: tuple[Interval, ...], n_rows: int) -> None:
    for interval in intervals:
        if interval.last < interval.first or interval.last >= n_rows:
            raise _refuse(
                path,
                f"an interval of session {session} is empty or leaves the session",
                f"rows within 0..{n_rows - 1}",
                f"rows {interval.first}..{interval.last}",
            )
    for one, other in pairwise(intervals):
        if other.first <= one.last:
            raise _refuse(
                path,
                f"two intervals of session {session} overlap",
                f"the second to start after row {one.last}",
                f"rows {one.first}..{one.last} and {other.first}..{other.last}",
            )


def _refuse(path: Path, what: str, expected: str, found: str) -> IntervalsRefused:
    return IntervalsRefused(
        what, expected=expected, found=found, where=str(path), hint=f"sort {shlex.quote(str(path))}  # then edit it"
    )
