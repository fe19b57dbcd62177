"""One candidate as text: both tracks row by row, what was marked, what was forecast, how each horizon was counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.errors import printable
from evalframe.sources.floor_forecasts import RunFolder
from evalframe.sources.floor_targets import Targets

BEFORE = 3
"""Rows shown before the decision."""

Event = dict[str, Any]


def timelines(run: str, events: pa.Table, targets: Targets, sets: Mapping[str, RunFolder], n: int) -> list[str]:
    """The first `n` evaluated candidates of each kind, in the order of sessions and rows."""
    if n <= 0:
        return []
    texts = []
    for kind in ("response", "yield"):
        for candidate in candidates(events, kind)[:n]:
            texts.append(timeline(run, candidate, *tracks(candidate[0], targets, sets)))
    return texts


def candidates(events: pa.Table, kind: str | None = None) -> list[list[Event]]:
    """The evaluated candidates (of one kind), each as its events by horizon, in the order of sessions and rows."""
    rows = [r for r in events.to_pylist() if r["role"] == "evaluation" and kind in (None, r["kind"])]
    rows.sort(key=lambda r: (r["session"], r["boundary_row"], r["kind"], r["horizon_steps"]))
    return [list(some) for _, some in groupby(rows, key=lambda r: (r["session"], r["boundary_row"], r["kind"]))]


def tracks(
    event: Event, targets: Targets, sets: Mapping[str, RunFolder]
) -> tuple[NDArray[np.bool_], list[float | None], int]:
    """The session's activity, p(wearer) per step made at the decision row (None: not valid), the segment's last row."""
    session = targets.sessions[event["session"]]
    (forecasts,) = (f for f in sets["run"].forecasts if f.session.name == session.name)
    row = event["decision_row"]
    steps = [
        float(p) if usable else None
        for p, usable in zip(forecasts.p_wearer[row].tolist(), forecasts.usable[row].tolist(), strict=True)
    ]
    (last,) = (s.last for s in session.segments if s.first == event["segment_first_row"])
    return session.activity, steps, last


def timeline(
    run: str, horizons: list[Event], activity: NDArray[np.bool_], p_wearer: list[float | None], last_row: int
) -> str:
    """The text of one candidate. horizons: its events in order. activity: bool [T, 2], wearer and others.

    B is the boundary, D the decision row, R the wearer's outcome, C/excluded the competing boundary. `score` is that of
    the step alone; `event` is how the horizon that ends in this row was counted, with the score of its whole path.
    """
    event = horizons[0]
    decision, first = event["decision_row"], event["segment_first_row"]
    shown = range(max(first, decision - BEFORE), min(last_row, decision + len(horizons)) + 1)
    head = (
        f"{printable(run)}  {printable(event['session'])}  {event['kind']}  boundary row {event['boundary_row']}"
        f"  {event['decision_timing']}"
    )
    lines = [head, "     row  others  wearer  marks       step   score  valid  event"]
    lines += [_line(row, event, horizons, activity, p_wearer) for row in shown]
    if last_row < decision + len(horizons):
        lines.append(f"     the recording ends with row {last_row}")
    lines += [
        f"     horizon {h['horizon_s']:g} s ends after the recording: {_counted(h)}"
        for h in horizons
        if decision + h["horizon_steps"] > last_row
    ]
    return "\n".join(lines)


def _line(
    row: int, event: Event, horizons: list[Event], activity: NDArray[np.bool_], p_wearer: list[float | None]
) -> str:
    marks = " ".join(_marks(row, event))
    tracks = "".join(f"{'#' if speaks else '.':>8}" for speaks in (activity[row][1], activity[row][0]))
    step = row - event["decision_row"]
    if step < 1:
        return f"{row:>8}{tracks}  {marks}".rstrip()
    p = p_wearer[step - 1]
    score = None if p is None else p if event["kind"] == "response" else 1 - p
    shown = f"{step:>4}  {'' if score is None else f'{score:.4f}':>6}  {'no' if p is None else 'yes':>5}"
    return f"{row:>8}{tracks}  {marks:<10}  {shown}  {_counted(horizons[step - 1])}".rstrip()


def _marks(row: int, event: Event) -> Iterable[str]:
    competing, transition = event["competing_row"], event["transition_row"]
    if row == event["boundary_row"]:
        yield "B"
    if row == event["decision_row"]:
        yield "D"
    if row == transition and (competing is None or transition < competing):
        yield "R"
    if row == competing:
        yield "C/excluded"


def _counted(horizon: Event) -> str:
    if horizon["state"] != "scored":
        return str(horizon["state"])
    return f"{'outcome' if horizon['outcome'] else 'no outcome'} {horizon['score']:.4f}"
