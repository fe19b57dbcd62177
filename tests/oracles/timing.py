"""Times added up by hand, in fractions, written from the text. Nothing here may be taken from the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Timed:
    """One way of one work in one round: whole nanoseconds, bytes of memory where they were looked at."""

    work: str
    role: str
    round: int
    elapsed: int
    processor: int
    floor: int | None
    memory: int | None


@dataclass(frozen=True)
class Figure:
    """value: None where it is undefined, for the reason beside it. excluded: of `n`, those that do not count."""

    value: float | None
    reason: str | None
    n: int
    excluded: int


def figures(timed: Sequence[Timed]) -> dict[tuple[str, str], Figure]:
    """(metric, stratum) -> figure: of all, of each role (role=R), of each work (work=W)."""
    strata: dict[str, list[Timed]] = {"all": list(timed)}
    for each in timed:
        strata.setdefault(f"role={each.role}", []).append(each)
        strata.setdefault(f"work={each.work}", []).append(each)
    found = {}
    for stratum, members in strata.items():
        found["seconds", stratum] = _mean([each.elapsed for each in members])
        found["processor_seconds", stratum] = _mean([each.processor for each in members])
        found["seconds_of_floor", stratum] = _of_floor(members)
        found["peak_memory", stratum] = _peak(members)
    return found


def _mean(nanoseconds: Sequence[int]) -> Figure:
    value = Fraction(sum(nanoseconds), 10**9 * len(nanoseconds))
    return Figure(float(value), None, len(nanoseconds), 0)


def _of_floor(members: Sequence[Timed]) -> Figure:
    pairs = [(each.elapsed, each.floor) for each in members if each.floor is not None]
    n, excluded = len(members), len(members) - len(pairs)
    if not pairs:
        return Figure(None, "no_items", n, excluded)
    floors = sum(floor for _, floor in pairs)
    if floors == 0:
        return Figure(None, "zero_baseline", n, excluded)
    return Figure(float(Fraction(sum(elapsed for elapsed, _ in pairs), floors)), None, n, excluded)


def _peak(members: Sequence[Timed]) -> Figure:
    watched = [each.memory for each in members if each.memory is not None]
    n, excluded = len(members), len(members) - len(watched)
    if not watched:
        return Figure(None, "no_items", n, excluded)
    return Figure(float(Fraction(max(watched), 2**20)), None, n, excluded)
