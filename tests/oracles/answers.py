"""Marked answers counted by hand: a plain loop, written from the text. Nothing here may be taken from the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True)
class Answer:
    """One attempt: how it was marked, or that it failed."""

    task: str | None
    correct: bool | None
    failed: bool


@dataclass(frozen=True)
class Count:
    """value: None where nothing is left to divide by."""

    value: float | None
    right: int
    counted: int
    n: int
    failed: int


def accuracy(answers: Sequence[Answer], failed: Literal["wrong", "excluded"] = "wrong") -> dict[str, Count]:
    """Population -> its accuracy: all, and task=T (of no task: `task=`) where any answer has a task."""
    found: dict[str, list[Answer]] = {"all": list(answers)}
    if any(answer.task is not None for answer in answers):
        for answer in answers:
            found.setdefault(f"task={answer.task or ''}", []).append(answer)
    return {name: _count(members, failed) for name, members in found.items()}


def _count(answers: Sequence[Answer], failed: str) -> Count:
    right = counted = fails = 0
    for answer in answers:
        if answer.failed:
            fails += 1
            counted += failed == "wrong"
        elif answer.correct is not None:
            counted += 1
            right += answer.correct
    value = float(Fraction(right, counted)) if counted else None
    return Count(value, right, counted, len(answers), fails)
