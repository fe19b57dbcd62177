"""One candidate as text: both tracks row by row, what was marked, what was forecast, how each horizon was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.errors import printable

BEFORE = 3
"""Rows shown before the decision."""

Event = dict[str, Any]


def timelines(run: str, events: pa.Table, tables: Mapping[str, pa.Table], n: int) -> list[str]:
    """The first `n` evaluated candidates of each kind, in the order of sessions and rows. tables: those of the run."""
    if n <= 0:
        return []
    tracks = Tracks(tables)
    found = candidates(events)
    return [
        timeline(run, one, tracks)
        for kind in ("response", "yield")
        for one in [one for one in found if one[0]["kind"] == kind][:n]
    ]


def candidates(events: pa.Table) -> list[list[Event]]:
    """The evaluated candidates of `floor_events`, each as its events by horizon, in the order of sessions and rows."""
    rows = events.filter(pc.equal(events["role"], "evaluation")).to_pylist()
    rows.sort(key=lambda r: (r["session"], r["boundary_row"], r["horizon_steps"]))
    return [list(some) for _, some in groupby(rows, key=lambda r: (r["session"], r["boundary_row"]))]


class Tracks:
    """What was said and what was foreseen, looked up in the contracted tables of one run."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._tables = tables
        self._activity = cache(self._read_activity)

    def speaks(self, event: Event, row: int) -> tuple[bool, bool]:
        """Whether the others and the wearer speak in a row of the event's session."""
        others, wearer = self._activity(event["session_index"])
        return others[row], wearer[row]

    def forecasts(self, event: Event) -> list[float | None]:
        """p(wearer) of the rows after the decision, as foreseen there; None where the forecast is not valid."""
        found = self._rows("floor_forecasts", event["session_index"], row=event["decision_row"], forecast_set="run")
        return [
            p if valid else None
            for p, valid in zip(found["p_wearer"][0].as_py(), found["valid"][0].as_py(), strict=True)
        ]

    def last_row(self, event: Event) -> int:
        """The last row of the event's segment."""
        found = self._rows("floor_segments", event["session_index"], first_row=event["segment_first_row"])
        return int(found["first_row"][0].as_py() + found["n_rows"][0].as_py() - 1)

    def _read_activity(self, session_index: int) -> tuple[list[bool], list[bool]]:
        rows = self._rows("floor_activity", session_index).sort_by("row")
        return rows["others"].to_pylist(), rows["wearer"].to_pylist()

    def _rows(self, name: str, session_index: int, **wanted: object) -> pa.Table:
        table = self._tables[name]
        for column, value in {"session_index": session_index, **wanted}.items():
            table = table.filter(pc.equal(table[column], pa.scalar(value, table.schema.field(column).type)))
        return table


def timeline(run: str, horizons: list[Event], tracks: Tracks) -> str:
    """The text of one candidate, given as its events by horizon.

    B is the boundary, D the decision row, R the wearer's outcome, C/excluded the competing boundary. `score` is that of
    the step alone; `event` is how the horizon that ends in this row was counted, with the score of its whole path.
    """
    event = horizons[0]
    decision, last = event["decision_row"], tracks.last_row(event)
    forecasts = tracks.forecasts(event)
    names = "  ".join(printable(text) for text in (run, event["session"]))
    lines = [
        f"{names}  {event['kind']}  boundary row {event['boundary_row']}  {event['decision_timing']}",
        "     row  others  wearer  marks       step   score  valid  event",
    ]
    first = max(event["segment_first_row"], decision - BEFORE)
    for row in range(first, min(last, decision + len(horizons)) + 1):
        bits = "".join(f"{'#' if speaks else '.':>8}" for speaks in tracks.speaks(event, row))
        line = f"{row:>8}{bits}  {' '.join(marks(row, event)):<10}"
        if row > decision:
            line += f"  {_step(row - decision, event['kind'], forecasts)}  {counted(horizons[row - decision - 1])}"
        lines.append(line.rstrip())
    if decision + len(horizons) > last:
        lines.append(f"     the recording ends with row {last}")
    for horizon in horizons:
        if horizon["truncated"]:
            lines.append(f"     horizon {horizon['horizon_s']:g} s runs past it: {counted(horizon)}")
    return "\n".join(lines)


def marks(row: int, event: Event) -> Iterator[str]:
    """What a row of the event is: B, D, R, C/excluded, in this order."""
    competing, transition = event["competing_row"], event["transition_row"]
    if row == event["boundary_row"]:
        yield "B"
    if row == event["decision_row"]:
        yield "D"
    if row == transition and (competing is None or transition < competing):
        yield "R"
    if row == competing:
        yield "C/excluded"


def _step(step: int, kind: str, forecasts: list[float | None]) -> str:
    p = forecasts[step - 1]
    if p is None:
        return f"{step:>4}  {'':>6}     no"
    return f"{step:>4}  {p if kind == 'response' else 1 - p:>6.4f}    yes"


def counted(horizon: Event) -> str:
    """How a horizon was counted: its outcome with the score of its path, or why it has none."""
    if horizon["state"] != "scored":
        return str(horizon["state"])
    return f"{'outcome' if horizon['outcome'] else 'no outcome'} {horizon['score']:.4f}"
