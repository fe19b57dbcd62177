"""Progress for people: one line on stderr that is written over, and only in a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self


class Progress:
    """Draws `what: done of whole`. In a pipe or a file it says nothing."""

    def __init__(self) -> None:
        self._shown = 0
        self._drawn: tuple[str, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()

    def __call__(self, what: str, done: int, whole: int) -> None:
        """Draw, once for each per cent."""
        if not sys.stderr.isatty() or (what, 100 * done // max(1, whole)) == self._drawn:
            return
        self._drawn = (what, 100 * done // max(1, whole))
        line = f"{what}: {done} of {whole}"
        sys.stderr.write("\r" + line.ljust(self._shown))
        sys.stderr.flush()
        self._shown = max(self._shown, len(line))
