"""Wanted recalls: exact fractions read from their text, because a rank must not hang on round-off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalframe.errors import RecallRefused

_DECIMALS = 9  # so that recall x positives stays far inside 64 bits


@dataclass(frozen=True, slots=True)
class Recall:
    """One wanted recall: as it was written, and exactly."""

    label: str
    exact: Fraction


def read_recalls(texts: Sequence[str]) -> tuple[Recall, ...]:
    """The recalls in the order given. Raises RecallRefused: none, one twice, no plain decimal, outside (0, 1]."""
    if not texts:
        raise _refuse("no recall is wanted", "one or more recalls", "none")
    found: list[Recall] = []
    for text in texts:
        if not re.fullmatch(rf"\d+(\.\d{{1,{_DECIMALS}}})?", text, re.ASCII):
            raise _refuse("a recall is no plain decimal", f"0.8, at most {_DECIMALS} decimals", repr(text))
        exact = Fraction(text)
        if not 0 < exact <= 1:
            raise _refuse("a recall is out of range", "over 0 and at most 1", text)
        if any(exact == other.exact for other in found):
            raise _refuse("a recall is wanted twice", "each recall once", ", ".join(texts))
        found.append(Recall(text, exact))
    return tuple(found)


def _refuse(what: str, expected: str, found: str) -> RecallRefused:
    return RecallRefused(
        what,
        expected=expected,
        found=found,
        where="--matched-recalls",
        hint="evalframe floor evaluate ... --matched-recalls 0.7 0.8 0.9",
    )
