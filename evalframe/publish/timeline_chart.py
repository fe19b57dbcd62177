"""One floor event as a Vega-Lite specification: who speaks, where the marks stand, what was foreseen step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalframe.publish.charts import HUES, INK, Spec, chart, per_run, tip

WEARER, OTHERS, TRACK_HEIGHT, TOP = 1.2, 1.46, 0.2, 1.86
"""Lower edges of the two tracks and their height, and where the letters of the marks stand, in units of the score."""

MARKS = {
    "B": "boundary: the change of talk that makes the candidate",
    "D": "decision: the forecast is read after this row",
    "R": "outcome: what a response or a yield is",
    "C": "competing boundary: from here on nothing is counted",
}


def timeline(
    tracks: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    marks: Sequence[Mapping[str, Any]],
    excluded: tuple[float, float] | None,
    kind: str,
) -> Spec:
    """A chart over seconds from the middle of the boundary row.

    tracks: who (others, wearer), from, to: spells of speech. steps: run, at, score (null where the forecast is not
    valid), place (score, or 0), valid (valid, not valid), step, counted. marks: mark (letters of MARKS), said, at.
    excluded: from, to. kind: response or yield, whose score is p(wearer) or 1 - p(wearer).
    """
    time = {"type": "quantitative", "title": "seconds from the boundary row", "scale": {"nice": False, "padding": 4}}
    y = {
        "type": "quantitative",
        "scale": {"domain": [0, TOP + 0.1], "nice": False},
        "title": None,
        "axis": {
            "values": [0, 0.5, 1, WEARER + TRACK_HEIGHT / 2, OTHERS + TRACK_HEIGHT / 2],
            "labelExpr": "datum.value > 1.4 ? 'others' : datum.value > 1.1 ? 'wearer' : format(datum.value, '.1f')",
            "grid": False,
            "labelOverlap": False,
        },
    }
    bands = [
        {
            "from": spell["from"],
            "to": spell["to"],
            "who": spell["who"],
            "low": OTHERS if spell["who"] == "others" else WEARER,
            "high": (OTHERS if spell["who"] == "others" else WEARER) + TRACK_HEIGHT,
        }
        for spell in tracks
    ]
    layers: list[Spec] = [
        {
            "data": {"values": list(steps)},
            "transform": [{"filter": "datum.score !== null"}],
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {
                "x": {"field": "at", **time},
                "y": {"field": "score", **y},
                **per_run(),
            },
        },
        {
            "data": {"values": list(steps)},
            "mark": {"type": "point", "size": 55, "strokeWidth": 1.8, "opacity": 1},
            "encoding": {
                "x": {"field": "at", **time},
                "y": {"field": "place", **y},
                **per_run(),
                "shape": {
                    "field": "valid",
                    "type": "nominal",
                    "scale": {"domain": ["valid", "not valid"], "range": ["circle", "cross"]},
                },
                "tooltip": [tip("run"), tip("step"), tip("score", ".4f"), tip("valid"), tip("counted")],
            },
        },
        {
            "data": {"values": bands},
            "mark": {"type": "rect", "color": INK, "opacity": 0.55},
            "encoding": {
                "x": {"field": "from", **time},
                "x2": {"field": "to"},
                "y": {"field": "low", **y},
                "y2": {"field": "high"},
                "tooltip": [tip("who"), tip("from", ".1f"), tip("to", ".1f")],
            },
        },
        {
            "data": {"values": list(marks)},
            "mark": {"type": "rule", "color": INK, "opacity": 0.5, "strokeDash": [3, 3]},
            "encoding": {"x": {"field": "at", **time}, "y": {"datum": 0, **y}, "y2": {"datum": TOP - 0.07}},
        },
        {
            "data": {"values": list(marks)},
            "mark": {"type": "text", "color": INK, "fontWeight": "bold", "fontSize": 12},
            "encoding": {
                "x": {"field": "at", **time},
                "y": {"datum": TOP, **y},
                "text": {"field": "mark"},
                "tooltip": [tip("mark"), tip("said")],
            },
        },
    ]
    if excluded is not None:
        region = {"data": {"values": [{"from": excluded[0], "to": excluded[1], "said": "not counted"}]}}
        span = {
            "x": {"field": "from", **time},
            "x2": {"field": "to"},
            "y": {"datum": 0, **y},
            "y2": {"datum": TOP - 0.12},
        }
        layers.append({**region, "mark": {"type": "rect", "color": HUES[1], "opacity": 0.13}, "encoding": span})
        layers.append(
            {
                **region,
                "mark": {
                    "type": "text",
                    "color": INK,
                    "align": "right",
                    "dx": -3,
                    "fontSize": 11,
                    "fontStyle": "italic",
                },
                "encoding": {"x": {"field": "to", **time}, "y": {"datum": 1.1, **y}, "text": {"field": "said"}},
            }
        )
    score = "p(wearer speaks)" if kind == "response" else "1 - p(wearer speaks)"
    return chart(
        f"Timeline of a {kind} candidate: speech of both sides above, below it {score} per step as foreseen at the"
        " decision, with boundary, decision, outcome and competing boundary marked.",
        height=230,
        layer=layers,
    )
