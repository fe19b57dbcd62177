"""Numbers that cannot be: what result tables are checked for when nothing but the tables is there.

A record is what one run reports at one place (a stratum, a horizon, a line of a CSV file), by name. Every identity
looks at one record. A written number stands for all that round to it: three digits are held to three.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from evalframe.audit.recorded import Recorded

_EXACT_DIGITS = 15
"""Significant digits from which a written number is taken for a float64, not for a rounded one."""

_ROUND_OFF = 1e-12


@dataclass(frozen=True)
class Reported:
    """One number. slack: how far the exact one may lie from it. row: where it stands, from 1; counts where known."""

    value: float
    slack: float
    row: int | None = None
    numerator: float | None = None
    denominator: float | None = None
    n_items: int | None = None
    n_excluded: int | None = None
    n_failed: int | None = None

    @classmethod
    def exact(cls, value: float, row: int | None = None, **counts: float | int | None) -> Reported:
        """A stored float64: right but for round-off."""
        return cls(value, _ROUND_OFF * max(1.0, abs(value)), row, **counts)  # type: ignore[arg-type]

    @classmethod
    def written(cls, text: str, row: int | None = None, **counts: float | int | None) -> Reported | None:
        """A number as text; None where the text is empty or none that is finite."""
        try:
            recorded = Recorded.of(text)
        except ValueError:
            return None
        if recorded.value is None:
            return None
        if recorded.significant >= _EXACT_DIGITS or "e" in text.lower():
            return cls.exact(recorded.value, row, **counts)
        slack = 0.5 * 10.0**-recorded.decimals if "." in text else 0.0
        return cls(recorded.value, slack + _ROUND_OFF, row, **counts)  # type: ignore[arg-type]

    @property
    def low(self) -> float:
        """The smallest number this may stand for."""
        return self.value - self.slack

    @property
    def high(self) -> float:
        """The largest."""
        return self.value + self.slack

    def near(self, low: float, high: float | None = None, more: float = 0.0) -> bool:
        """Whether some number in [low, high] rounds to this one."""
        top = low if high is None else high
        # A bound that is not there has no round-off: infinite, it would let every number pass the other one.
        margin = more + _ROUND_OFF * max(1.0, *(abs(bound) for bound in (low, top) if math.isfinite(bound)))
        return self.low <= top + margin and self.high >= low - margin


@dataclass(frozen=True)
class Record:
    """Numbers of one run at one place. n: how many items they are about, where one number says it for all."""

    source: str
    run: str
    place: str
    numbers: Mapping[str, Reported]
    n: int | None = None
    row: int | None = None

    def items(self, name: str) -> int | None:
        """How many items the number is a share of."""
        number = self.numbers[name]
        if number.denominator is not None and number.denominator == math.floor(number.denominator):
            return int(number.denominator)
        if number.n_items is not None:
            return number.n_items - (number.n_excluded or 0)
        return self.n


@dataclass(frozen=True)
class Finding:
    """One identity that does not hold, and where."""

    identity: str
    source: str
    row: int | None
    run: str
    place: str
    metric: str
    found: str
    expected: str


Check = Callable[[Record], Iterator[tuple[str, str, str]]]
"""Yields (metric, found, expected) for what does not hold."""


@dataclass(frozen=True)
class Identity:
    """A rule with a name and a sentence that says it."""

    name: str
    sentence: str
    check: Check = field(repr=False)


def findings(records: Iterable[Record], identities: Iterable[Identity]) -> Iterator[Finding]:
    """What does not hold, record by record."""
    rules = tuple(identities)
    for record in records:
        for rule in rules:
            for metric, found, expected in rule.check(record):
                number = record.numbers.get(metric)
                row = number.row if number is not None and number.row is not None else record.row
                yield Finding(rule.name, record.source, row, record.run, record.place, metric, found, expected)
