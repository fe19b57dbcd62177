"""Text that a spreadsheet would run, made text again by an apostrophe in front, and taken back."""

from __future__ import annotations

import re

FORMULA = r"^('*[=+\-@\t\r\n＝＋－＠])"
"""What a spreadsheet would run, or that is one apostrophe away from it; the wide forms count in some locales."""

_STARTS = re.compile(FORMULA)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def safe(text: str) -> str:
    """`text` with one apostrophe in front where a spreadsheet would run it; a number is none of that."""
    return f"'{text}" if _STARTS.match(text) and not _NUMBER.fullmatch(text) else text


def plain(text: str) -> str:
    """The text that `safe` was given."""
    return text[1:] if text.startswith("'") and _STARTS.match(text) else text
