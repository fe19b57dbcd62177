"""What a stream can show: its width, its colours, its characters.

Colours are blue and orange, which every common colour blindness tells apart, and never speak alone: a mark or a word
says the same. `NO_COLOR` turns them off before anything else, `FORCE_COLOR` turns them on in a pipe too; otherwise they
are for terminals whose `TERM` is not `dumb`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

GOOD, BAD, STRONG, SOFT = "good", "bad", "strong", "soft"

_CODES = {
    256: {GOOD: "38;5;75", BAD: "38;5;214", STRONG: "1", SOFT: "38;5;245"},
    16: {GOOD: "94", BAD: "33", STRONG: "1", SOFT: "2"},
}
_ASCII = str.maketrans({"✓": "+", "✗": "x", "≠": "!", "▲": "^", "▼": "v", "·": "-", "…": "~", "→": ">", "─": "-"})

_WORDS = {
    **dict.fromkeys(("ok", "better", "agrees", "exact", "passed", "evaluated", "comparable", "best"), GOOD),
    **dict.fromkeys(
        (
            *("refused", "undefined", "differs", "failed", "not_run", "not run", "worse", "tainted", "missing"),
            *("unfinished", "not_comparable", "not comparable", "not_returned"),
        ),
        BAD,
    ),
    **dict.fromkeys(("unchanged", "not separable", "(not stored)"), SOFT),
}
"""Words that columns of states hold -> role."""


@dataclass(frozen=True)
class Terminal:
    """A stream's abilities. width: columns, none where it is no terminal. colours: 0, 16 or 256."""

    width: int | None = None
    colours: int = 0
    encoding: str = "utf-8"

    @classmethod
    def of(cls, stream: TextIO | None = None, environ: Mapping[str, str] | None = None) -> Terminal:
        """Those of `stream`, by default stdout."""
        stream, environ = stream or sys.stdout, os.environ if environ is None else environ
        drawn = stream.isatty()
        term = environ.get("TERM", "")
        wanted = environ.get("FORCE_COLOR", "") not in ("", "0") or (drawn and term != "dumb")
        deep = "256" in term or environ.get("COLORTERM", "") in ("truecolor", "24bit")
        colours = (256 if deep else 16) if wanted and not environ.get("NO_COLOR") else 0
        width = shutil.get_terminal_size().columns if drawn else None
        return cls(width, colours, stream.encoding or "utf-8")

    def paint(self, text: str, role: str | None) -> str:
        """`text` in the colour of its role; as it is where there are no colours, or nothing to see."""
        if role is None or not self.colours or not text.strip():
            return text
        return f"\x1b[{_CODES[self.colours][role]}m{text}\x1b[0m"

    def spelled(self, text: str) -> str:
        """`text` with marks that the encoding has, and anything else it lacks as an escape; never an error."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return text.translate(_ASCII).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return text


def role_of(text: str) -> str | None:
    """The role of a word for a state, with or without a mark before it; none for any other text."""
    return _WORDS.get(text.strip().lstrip("▲▼·≠§✓✗ "))
