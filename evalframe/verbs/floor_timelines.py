"""One candidate as text: both tracks row by row, what was marked, what was forecast, how each horizon was counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts.shards import matching
from evalframe.errors import printable

BEFORE = 3
"""Rows shown before the decision."""

Event = dict[str, Any]
KINDS = ("response", "yield")
ORDER = ("session", "boundary_row", "horizon_steps")
"""Columns that put `floor_events` into the order of sessions and rows."""


def first_candidates(events: Iterable[pa.RecordBatch], n: int) -> list[list[Event]]:
    """The first `n` evaluated candidates of each kind. events: `floor_events` by ORDER, read as far as needed."""
    found: dict[str, list[list[Event]]] = {kind: [] for kind in KINDS}
    for batch in events if n > 0 else ():
        rows = evaluated(pa.Table.from_batches([batch]))
        for kind, some in found.items():
            if len(some) <= n:  # one more says that the n-th is whole
                _append(some, rows.filter(pc.equal(rows["kind"], kind)).to_pylist())
        if all(len(some) > n for some in found.values()):
            break
    return [one for some in found.values() for one in some[:n]]


def candidates(events: Iterable[pa.Table]) -> list[list[Event]]:
    """The evaluated candidates among rows of `floor_events`, each as its events by horizon, in the order of ORDER."""
    rows = [row for part in events for row in evaluated(part).to_pylist()]
    found: list[list[Event]] = []
    _append(found, sorted(rows, key=itemgetter(*ORDER)))
    return found


def _append(found: list[list[Event]], rows: Iterable[Event]) -> None:
    """Add events in order to the candidates that they belong to."""
    for place, some in groupby(rows, key=itemgetter("session", "boundary_row")):
        if not found or (found[-1][0]["session"], found[-1][0]["boundary_row"]) != place:
            found.append([])
        found[-1] += some


def evaluated(rows: pa.Table) -> pa.Table:
    """Rows of `floor_events` that are no calibration."""
    return rows.filter(pc.equal(rows["role"], "evaluation"))


class Tracks:
    """What was said and what was foreseen in one run, looked up as it is asked for.

    read: columns of `floor_activity`, `floor_forecasts` or `floor_segments`, of rows with these whole numbers in them.
    What was read of a session is kept until another one is asked for.
    """

    def __init__(self, read: Callable[[str, Mapping[str, int], Sequence[str]], pa.Table]) -> None:
        self._read = read
        self._activity = lru_cache(maxsize=1)(self._read_activity)
        self._forecasts = lru_cache(maxsize=1)(self._read_forecasts)

    def speaks(self, event: Event, row: int) -> tuple[bool, bool]:
        """Whether the others and the wearer speak in a row of the event's session."""
        others, wearer = self._activity(event["session_index"])
        return bool(others[row]), bool(wearer[row])

    def forecasts(self, event: Event) -> list[float | None]:
        """p(wearer) of the rows after the decision, as foreseen there; None where the forecast is not valid."""
        found = matching(self._forecasts(event["session_index"]), {"row": event["decision_row"]})
        return [
            p if valid else None
            for p, valid in zip(found["p_wearer"][0].as_py(), found["valid"][0].as_py(), strict=True)
        ]

    def last_row(self, event: Event) -> int:
        """The last row of the event's segment."""
        place = {"session_index": event["session_index"], "first_row": event["segment_first_row"]}
        found = self._read("floor_segments", place, (*place, "n_rows"))
        return int(found["first_row"][0].as_py() + found["n_rows"][0].as_py() - 1)

    def _read_activity(self, session_index: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        columns = ("session_index", "row", "others", "wearer")
        rows = self._read("floor_activity", {"session_index": session_index}, columns).sort_by("row")
        return rows["others"].to_numpy(), rows["wearer"].to_numpy()

    def _read_forecasts(self, session_index: int) -> pa.Table:
        columns = ("session_index", "row", "forecast_set", "p_wearer", "valid")
        rows = self._read("floor_forecasts", {"session_index": session_index}, columns)
        return rows.filter(pc.equal(rows["forecast_set"], "run"))


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
