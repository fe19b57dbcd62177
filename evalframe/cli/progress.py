"""Progress for people, on stderr: a line in a terminal that is written over and cleared, one now and then in a log.

A terminal sees what is counted, the rate and the time left, once a loop has taken half a second. Where stderr is a file
or a pipe, or a terminal that cannot write over a line (`TERM=dumb`), a plain line comes every half minute.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from evalframe.errors import printable
from evalframe.underway import heard_by

PATIENCE, REDRAW, LOGGED = 0.5, 0.1, 30.0
"""Seconds before a loop is drawn at all, between two drawings, and between two lines of a log."""


@dataclass
class _Loop:
    begun: float
    first: int
    done: int
    whole: int


class Progress:
    """Hears every loop while it is entered. Loops inside loops are drawn on one line, the outermost first."""

    def __init__(self) -> None:
        self._loops: dict[str, _Loop] = {}
        self._drawn = 0
        self._last = 0.0
        self._draws = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._hearing: AbstractContextManager[None] | None = None

    def __enter__(self) -> Self:
        self._last = time.monotonic()
        self._hearing = heard_by(self)
        self._hearing.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._hearing is not None:
            self._hearing.__exit__(kind, error, trace)
        self.clear()

    def __call__(self, what: str, done: int, whole: int) -> None:
        """A loop is at `done` of `whole`; one that ends is forgotten."""
        now = time.monotonic()
        if done >= whole:
            self._loops.pop(what, None)
            if not self._loops:
                self.clear()
            return
        loop = self._loops.setdefault(what, _Loop(now, done, done, whole))
        loop.done, loop.whole = done, whole
        if self._draws:
            if now - self._last >= REDRAW and now - next(iter(self._loops.values())).begun >= PATIENCE:
                self._draw(now)
        elif now - self._last >= LOGGED:
            self._last = now
            print(self.line(now), file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away, before something else is written."""
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
            self._drawn = 0

    def line(self, now: float) -> str:
        """Every loop with its count, then the rate of the innermost and the time left of the outermost."""
        loops = list(self._loops.items())
        counts = [f"{printable(what, 40)} {loop.done:,} of {loop.whole:,}" for what, loop in loops]
        rate, left = _rate(loops[-1][1], now), _left(loops[0][1], now)
        return "  ".join(filter(None, [", ".join(counts), rate, left]))

    def _draw(self, now: float) -> None:
        text = self.line(now)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn, self._last = max(self._drawn, len(text)), now


def _rate(loop: _Loop, now: float) -> str:
    """How many a second; for what takes long, how long one takes."""
    done, taken = loop.done - loop.first, now - loop.begun
    if done <= 0 or taken <= 0:
        return ""
    return f"{done / taken:,.0f}/s" if done / taken >= 10 else f"{taken / done:.1f} s each"


def _left(loop: _Loop, now: float) -> str:
    done = loop.done - loop.first
    if done <= 0:
        return ""
    return f"{span((loop.whole - loop.done) * (now - loop.begun) / done)} left"


def span(seconds: float) -> str:
    """A length of time in one or two units: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{max(whole, 1)} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
