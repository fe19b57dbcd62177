"""Floor events row by row: one candidate of each kind and ending, with what the compared runs foresaw of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evalframe.errors import printable
from evalframe.publish.page import Figure, Section
from evalframe.publish.timeline_chart import MARKS, timeline
from evalframe.verbs.floor_stored import StoredEvents
from evalframe.verbs.floor_timelines import BEFORE, Event, Tracks, counted, marks
from evalframe.verbs.report_material import Material

if TYPE_CHECKING:
    from evalframe.publish.charts import Spec

RUNS, PROTOCOLS = 2, 1
"""Runs on one timeline, and protocols whose events are drawn."""


def timelines(material: Material) -> Section:
    """The first candidate of each kind with an outcome and without one, as the first runs of a protocol saw it."""
    section = Section("Event timelines", "timelines")
    with_events = [pair for pair in material.protocols if "floor_events" in pair[0].stored][:PROTOCOLS]
    for rules, fingerprint in with_events:
        runs = material.runs_of(rules.label, fingerprint)[:RUNS]
        figures = list(_figures({run: StoredEvents(material.store, run, fingerprint) for run in runs}))
        if figures:
            section.say(
                "Whoever speaks is a bar; below, the score of each step as it was foreseen at the decision row."
                " Up to three rows before the decision are shown."
            )
            section.blocks.append(figures)
            letters = "; ".join(f"{letter}: {said}" for letter, said in MARKS.items())
            section.say(f"{letters}. {rules.label}, {fingerprint[:20]}", "note")
    return section


def _figures(stored: dict[str, StoredEvents]) -> Iterator[Figure]:
    first = next(iter(stored))
    places = stored[first].telling()
    found = {run: events.candidates(places) for run, events in stored.items()}
    tracks = {run: events.tracks for run, events in stored.items()}
    for place in places:
        seen = {run: by_place[place] for run, by_place in found.items() if place in by_place}
        horizons = seen[first]
        event = horizons[0]
        name = f"{event['kind']}, {printable(event['session'], 60)}, boundary row {event['boundary_row']}"
        ends = "with its outcome" if horizons[-1]["outcome"] else "without outcome"
        if horizons[-1]["state"] != "scored":
            ends = f"{horizons[-1]['state']}, not scored"
        yield Figure(f"{name}: {ends}", chart_of(seen, tracks), _note(horizons))


def chart_of(seen: dict[str, list[Event]], tracks: dict[str, Tracks]) -> Spec:
    """The chart of one candidate, given per run as its events by horizon."""
    first, horizons = next(iter(seen.items()))
    event, own = horizons[0], tracks[first]
    length = event["horizon_s"] / event["horizon_steps"]
    start = max(event["segment_first_row"], event["decision_row"] - BEFORE)
    end = min(own.last_row(event), event["decision_row"] + len(horizons))

    def at(row: float) -> float:
        return float(round((row - event["boundary_row"]) * length, 6))  # the middle of a row

    steps = [row for run, one in seen.items() for row in _steps(run, one, tracks[run], end, at)]
    letters: dict[int, list[str]] = {}
    for row in range(start, end + 1):
        for mark in marks(row, event):
            letters.setdefault(row, []).append(mark[0])
    marked = [
        {"mark": " ".join(found), "said": "; ".join(MARKS[letter] for letter in found), "at": at(row)}
        for row, found in letters.items()
    ]
    competing = event["competing_row"]
    excluded = (at(competing - 0.5), at(end + 0.5)) if competing is not None and competing <= end else None
    return timeline(list(_spells(own, event, start, end, at)), steps, marked, excluded, event["kind"])


def _steps(
    run: str, horizons: list[Event], tracks: Tracks, end: int, at: Callable[[float], float]
) -> Iterator[dict[str, Any]]:
    event = horizons[0]
    for horizon, p in zip(horizons, tracks.forecasts(event), strict=False):
        row = event["decision_row"] + horizon["horizon_steps"]
        if row > end:
            return
        score = None if p is None else p if event["kind"] == "response" else 1 - p
        yield {
            "run": printable(run, 80),
            "step": horizon["horizon_steps"],
            "at": at(row),
            "score": score,
            "place": 0.0 if score is None else score,
            "valid": "not valid" if score is None else "valid",
            "counted": counted(horizon),
        }


def _spells(
    tracks: Tracks, event: Event, start: int, end: int, at: Callable[[float], float]
) -> Iterator[dict[str, Any]]:
    """Rows in which somebody speaks, those that touch as one."""
    for place, who in enumerate(("others", "wearer")):
        begun: int | None = None
        for row in range(start, end + 2):
            speaks = row <= end and tracks.speaks(event, row)[place]
            if speaks and begun is None:
                begun = row
            elif not speaks and begun is not None:
                yield {"who": who, "from": at(begun - 0.5), "to": at(row - 0.5)}
                begun = None


def _note(horizons: list[Event]) -> str:
    """How the horizons of the first run were counted, those alike together."""
    said: list[tuple[str, str]] = []
    for horizon in horizons:
        state = counted(horizon).rpartition(" ")[0] if horizon["state"] == "scored" else counted(horizon)
        if not said or said[-1][1] != state:
            said.append((f"{horizon['horizon_s']:g} s", state))
    return "How its horizons were counted: " + "; ".join(f"from {start} {state}" for start, state in said) + "."
