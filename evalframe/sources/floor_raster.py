"""Turns -> rows of exactly 0 and 1, in integer microseconds, and the segment map of what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evalframe.sources.floor_intervals import Interval
from evalframe.sources.floor_turns import Speech, Turn

Rule = Literal["row-centre", "any-overlap"]
RULES: tuple[Rule, ...] = ("row-centre", "any-overlap")


@dataclass(frozen=True, slots=True)
class Raster:
    """target: float32 [T, 3], background, wearer and others. segments: rows recorded without a break."""

    session: str
    wearer: str
    target: NDArray[np.float32]
    segments: tuple[Interval, ...]


def rasterize(speech: Speech, wearer: str, row_us: int, rule: Rule = "row-centre") -> Raster:
    """Rows of `row_us` microseconds until the last turn ends.

    row-centre: a row is active if a turn holds its centre, start included and end not. any-overlap: if a turn shares
    any time with it. Background is 1 where nobody speaks.
    """
    n_rows = -(-max((turn.end for turn in speech.turns), default=0) // row_us)
    target = np.zeros((n_rows, 3), np.float32)
    target[:, 1] = _active([t for t in speech.turns if t.speaker == wearer], n_rows, row_us, rule)
    target[:, 2] = _active([t for t in speech.turns if t.speaker != wearer], n_rows, row_us, rule)
    target[:, 0] = (target[:, 1] == 0) & (target[:, 2] == 0)
    return Raster(speech.session, wearer, target, _segments(speech.recorded, n_rows, row_us))


def _active(turns: Iterable[Turn], n_rows: int, row_us: int, rule: Rule) -> NDArray[np.bool_]:
    rows = np.zeros(n_rows, bool)
    for turn in turns:
        if turn.end > turn.start:
            rows[slice(*_rows(turn.start, turn.end, row_us, rule))] = True
    return rows


def _rows(start: int, end: int, row_us: int, rule: Rule) -> tuple[int, int]:
    """First row and the row after the last that [start, end) fills. Centres are (2i + 1) x row_us / 2."""
    if rule == "any-overlap":
        return start // row_us, -(-end // row_us)
    return _centres_before(start, row_us), _centres_before(end, row_us)


def _centres_before(time: int, row_us: int) -> int:
    """How many rows have their centre before `time`: all i with (2i + 1) x row_us < 2 x time."""
    return max(0, -((row_us - 2 * time) // (2 * row_us)))


def _segments(recorded: Sequence[tuple[int, int]] | None, n_rows: int, row_us: int) -> tuple[Interval, ...]:
    """Stretches whose rows follow on each other are one segment; a row whose centre nothing recorded parts them."""
    if recorded is None:
        return (Interval(0, n_rows - 1),) if n_rows else ()
    found: list[Interval] = []
    for start, end in sorted(recorded):
        first, after = _rows(start, end, row_us, "row-centre")
        after = min(after, n_rows)
        if found and first <= found[-1].last + 1:
            found[-1] = Interval(found[-1].first, max(found[-1].last, after - 1))
        elif first < after:
            found.append(Interval(first, after - 1))
    return tuple(found)
