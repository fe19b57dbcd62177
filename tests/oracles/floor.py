"""Floor events by a loop written from the text: one candidate, one horizon, one forecast at a time, no array tricks.

Rows are integers from 0. `target` is a session's rows of (wearer, others) bits, `pred[t][j]` the probability that the
wearer speaks in row t as forecast j + 1 rows earlier, `valid[t][j]` whether that forecast may be used: the layout in
which runs are saved. Ratios are exact fractions. Nothing here may be taken from, or shared with, the SQL.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

PRE, POST = "pre-boundary", "post-boundary"
RESPONSE, YIELD = "response", "yield"
CENSORED, EMPTY, INVALID, SCORED = "censored", "empty_window", "invalid", "scored"


@dataclass(frozen=True)
class Session:
    """One session. segments: (first_row, n_rows), each a recording of its own; addressee: (first, last, stratum)."""

    name: str
    target: Sequence[tuple[int, int]]
    pred: Sequence[Sequence[float]]
    valid: Sequence[Sequence[bool]]
    segments: Sequence[tuple[int, int]]
    addressee: Sequence[tuple[int, int, str]] = ()

    def wearer(self, row: int) -> int:
        return self.target[row][0]

    def others(self, row: int) -> int:
        return self.target[row][1]

    def stratum(self, row: int) -> str:
        for first, last, stratum in self.addressee:
            if first <= row <= last:
                return stratum
        return "unannotated"

    def forecast(self, source: int, step: int) -> float | None:
        """p(wearer) for row source + step, made at row `source`; None where it is not valid and finite."""
        row = source + step
        if not self.valid[row][step - 1] or not math.isfinite(self.pred[row][step - 1]):
            return None
        return float(self.pred[row][step - 1])


@dataclass(frozen=True)
class Event:
    """One candidate at one horizon. `competing` and `transition` are rows, None where there is none."""

    session: str
    segment: int
    kind: str
    boundary: int
    decision: int
    horizon: int
    competing: int | None
    transition: int | None
    state: str
    outcome: bool
    score: float | None
    truncated: bool
    stratum: str

    @property
    def positive(self) -> bool:
        return self.state == SCORED and self.outcome

    @property
    def negative(self) -> bool:
        return self.state == SCORED and not self.outcome

    def short_resume(self, limit_rows: int) -> bool:
        """A scored no-response event after which the others are back within the limit, whatever the horizon."""
        near = self.competing is not None and self.competing - self.boundary <= limit_rows
        return self.kind == RESPONSE and self.negative and near


def events(session: Session, timing: str, horizons: Iterable[int] = range(1, 11)) -> list[Event]:
    """Every candidate of `session` at every horizon, segment by segment."""
    horizons = list(horizons)
    found = []
    for first, n_rows in session.segments:
        last = first + n_rows - 1
        for boundary in range(first + 1, last + 1):
            kind = _candidate(session, boundary, timing)
            if kind is not None:
                found += [_event(session, first, last, kind, boundary, timing, k) for k in horizons]
    return found


def _candidate(session: Session, b: int, timing: str) -> str | None:
    s = b - 1 if timing == PRE else b
    before, after = session.others(b - 1), session.others(b)
    if before == 1 and after == 0 and session.wearer(s) == 0:
        return RESPONSE
    if before == 0 and after == 1 and session.wearer(s) == 1:
        return YIELD
    return None


def _event(session: Session, first: int, last: int, kind: str, b: int, timing: str, k: int) -> Event:
    s = b - 1 if timing == PRE else b
    c = next((row for row in range(b + 1, last + 1) if session.others(row) != session.others(b)), None)
    r = next((row for row in range(s + 1, last + 1) if session.wearer(row) != session.wearer(row - 1)), None)
    outcome = r is not None and r <= s + k and (c is None or r < c)
    score = None
    if not outcome and not (c is not None and c <= s + k) and s + k > last:
        state = CENSORED
    elif timing == POST and c == s + 1:
        state = EMPTY
    else:
        end = min(s + k, last) if c is None else min(s + k, c - 1, last)
        path = [session.forecast(s, step) for step in range(1, end - s + 1)]
        if any(p is None for p in path):
            state = INVALID
        else:
            state = SCORED
            score = max(p if kind == RESPONSE else 1.0 - p for p in path if p is not None)
    return Event(
        session=session.name,
        segment=first,
        kind=kind,
        boundary=b,
        decision=s,
        horizon=k,
        competing=c,
        transition=r,
        state=state,
        outcome=outcome,
        score=score,
        truncated=s + k > last,
        stratum=session.stratum(b),
    )


def threshold(calibration: Iterable[Event], kind: str, horizon: int, recall: Fraction) -> float | None:
    """The ceil(recall * P)-th largest score of the scored positives; None when there is none."""
    scores = [e.score for e in calibration if e.kind == kind and e.horizon == horizon and e.positive]
    ranked = sorted((s for s in scores if s is not None), reverse=True)
    return ranked[math.ceil(recall * len(ranked)) - 1] if ranked else None


@dataclass(frozen=True)
class Rates:
    """One kind at one horizon and recall: counts, and the thresholds' answers. None: undefined."""

    n_candidates: int
    n_positive: int
    n_negative: int
    n_censored: int
    n_empty: int
    n_invalid: int
    n_truncated: int
    n_short_resume: int
    positives_triggered: int | None
    negatives_triggered: int | None
    short_resume_triggered: int | None

    def recall(self) -> Fraction | None:
        return _ratio(self.positives_triggered, self.n_positive)

    def false_rate(self) -> Fraction | None:
        return _ratio(self.negatives_triggered, self.n_negative)

    def short_resume_rate(self) -> Fraction | None:
        return _ratio(self.short_resume_triggered, self.n_short_resume)


def rates(events: Iterable[Event], thresholds: Mapping[str, float | None], limit_rows: int) -> Rates:
    """Counts and rates of events of one kind at one horizon; `thresholds` by session (a fold may have its own)."""
    events = list(events)
    positive = [e for e in events if e.positive]
    negative = [e for e in events if e.negative]
    resumed = [e for e in events if e.short_resume(limit_rows)]
    undefined = any(t is None for t in thresholds.values())

    def triggered(some: list[Event]) -> int | None:
        return None if undefined else sum(_triggers(e, thresholds[e.session]) for e in some)

    def in_state(state: str) -> int:
        return sum(e.state == state for e in events)

    return Rates(
        n_candidates=len(events),
        n_positive=len(positive),
        n_negative=len(negative),
        n_censored=in_state(CENSORED),
        n_empty=in_state(EMPTY),
        n_invalid=in_state(INVALID),
        n_truncated=sum(e.truncated for e in positive),
        n_short_resume=len(resumed),
        positives_triggered=triggered(positive),
        negatives_triggered=triggered(negative),
        short_resume_triggered=triggered(resumed),
    )


def _triggers(event: Event, threshold: float | None) -> bool:
    assert event.score is not None
    assert threshold is not None
    return event.score >= threshold


def average_precision(scored: Iterable[tuple[float, bool]]) -> Fraction | None:
    """Step AP over (score, positive): equal scores are one group. None without positives."""
    groups: dict[float, list[bool]] = {}
    for score, positive in scored:
        groups.setdefault(score, []).append(positive)
    total = sum(sum(group) for group in groups.values())
    if total == 0:
        return None
    hits = seen = 0
    area = Fraction(0)
    for score in sorted(groups, reverse=True):
        hits += sum(groups[score])
        seen += len(groups[score])
        area += Fraction(sum(groups[score]), total) * Fraction(hits, seen)
    return area


def event_ap(events: Iterable[Event]) -> Fraction | None:
    """AP of the scored events given: outcomes against the rest."""
    return average_precision((e.score, e.outcome) for e in events if e.state == SCORED and e.score is not None)


def full_horizon(events: Iterable[Event]) -> list[Event]:
    """The candidates whose whole horizon lies inside their segment."""
    return [e for e in events if not e.truncated]


def framewise(session: Session, step: int) -> list[tuple[float, bool]]:
    """(p(wearer), wearer speaks) of every row with a valid forecast made `step` rows earlier in the same segment."""
    pairs = []
    for first, n_rows in session.segments:
        for row in range(first + step, first + n_rows):
            p = session.forecast(row - step, step)
            if p is not None:
                pairs.append((p, session.wearer(row) == 1))
    return pairs


def exposed_rows(session: Session, wearer: int, horizon: int, stratum: str | None) -> int:
    """Rows with that wearer state whose path at the horizon lies in the segment, is not empty and is all valid."""
    count = 0
    for first, n_rows in session.segments:
        last = first + n_rows - 1
        for s in range(first, last):
            inside = stratum is None or session.stratum(s) == stratum
            steps = range(1, min(s + horizon, last) - s + 1)
            if inside and session.wearer(s) == wearer and all(session.forecast(s, j) is not None for j in steps):
                count += 1
    return count


def _ratio(numerator: int | None, denominator: int) -> Fraction | None:
    return None if numerator is None or denominator == 0 else Fraction(numerator, denominator)
