"""Seconds as exact decimal text -> whole microseconds, in which rows and pauses are compared."""

from __future__ import annotations

from decimal import Decimal

from evalframe.errors import UsageError

MICROSECONDS = 1_000_000


def microseconds(text: str, where: str) -> int:
    """`text`, a canonical decimal of seconds, in microseconds. Raises UsageError for anything finer."""
    value = Decimal(text) * MICROSECONDS
    if value != int(value):
        raise UsageError(
            "a time is not a whole number of microseconds",
            expected="at most six decimals",
            found=text,
            where=where,
            hint=f"{where} 0.2",
        )
    return int(value)
