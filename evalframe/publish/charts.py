"""Charts as Vega-Lite specifications: plain dictionaries, the same for the same data, readable in light and dark.

Text is `currentColor`, marks keep one hue of middle lightness in either scheme, and whatever colour says is also said
by shape, dash or position. A layer that owns a selection bound to a legend comes first among those that share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalframe.compare.reading import BETTER, UNCLEAR, WORSE

Spec = dict[str, Any]
Row = Mapping[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HUES = ["#3a86c8", "#d9772b", "#2f9e77", "#b35fa8", "#8a7a1f", "#c8504a", "#5b6ee1", "#6b8e23"]
_VERDICT_HUES = {BETTER: "#3a86c8", WORSE: "#d9772b", UNCLEAR: "#8a8a8a"}
_VERDICT_SHAPES = {BETTER: "triangle-up", WORSE: "triangle-down", UNCLEAR: "circle"}

INK = "currentColor"
LINE_SYMBOL = 500
"""Area of a legend's line, which is what its length goes by."""

_CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "domainColor": INK,
        "domainOpacity": 0.35,
        "tickColor": INK,
        "tickOpacity": 0.35,
        "gridColor": INK,
        "gridOpacity": 0.1,
        "labelLimit": 260,
        "labelFontSize": 11,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "orient": "top",
        "labelLimit": 240,
        "columns": 3,
        "title": None,
        "symbolStrokeWidth": 2,
    },
    "range": {"category": HUES},
}


def chart(description: str, **parts: Any) -> Spec:
    """A chart that fills its place. `description` is read aloud instead of it."""
    sized = {"width": "container", "height": 300, "autosize": {"type": "fit", "contains": "padding"}}
    return {"$schema": SCHEMA, "description": description, "config": _CONFIG, **sized, **parts}


def reliability(rows: Sequence[Row]) -> Spec:
    """Accuracy against confidence. rows: run, confidence, accuracy, low, high, n (bins with answers only)."""
    picked = {"condition": {"param": "run_picked", "value": 1}, "value": 0.12}
    x = {
        "field": "confidence",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "title": "mean confidence of the bin",
    }
    y = {"field": "accuracy", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": "right answers in the bin"}
    return chart(
        "Reliability diagram: share of right answers against mean confidence, per bin and run, with 95 % intervals.",
        layer=[
            {
                "data": {"values": list(rows)},
                "params": [{"name": "run_picked", "select": {"type": "point", "fields": ["run"]}, "bind": "legend"}],
                "mark": {"type": "line", "point": {"size": 45, "filled": True}, "strokeWidth": 1.5},
                "encoding": {
                    "x": x,
                    "y": y,
                    **per_run(),
                    "opacity": picked,
                    "tooltip": [tip("run"), tip("confidence", ".3f"), tip("accuracy", ".3f"), tip("n")],
                },
            },
            {
                "data": {"values": list(rows)},
                "mark": {"type": "rule", "strokeWidth": 1.2},
                "encoding": {
                    "x": x,
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                    "color": per_run()["color"],
                    "opacity": picked,
                },
            },
            {
                "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
                "mark": {"type": "line", "strokeDash": [4, 4], "color": INK, "opacity": 0.45},
                "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
            },
        ],
    )


def confusion(rows: Sequence[Row], targets: Sequence[str], predictions: Sequence[str]) -> Spec:
    """Counts of true against predicted classes. rows: target, predicted, n, share (of the true class)."""
    many = max(len(targets), len(predictions)) > 24
    shared = {
        "x": {
            "field": "predicted",
            "type": "nominal",
            "sort": list(predictions),
            "title": "predicted",
            "axis": {"labelAngle": _angle(predictions), "labelLimit": 90},
            "scale": {"domain": list(predictions)},
        },
        "y": {
            "field": "target",
            "type": "nominal",
            "sort": list(targets),
            "title": "true",
            "axis": {"labelLimit": 110},
            "scale": {"domain": list(targets)},
        },
    }
    cell: Spec = {
        "mark": {"type": "rect", "color": HUES[0], "stroke": INK, "strokeOpacity": 0.12},
        "encoding": {
            **shared,
            "opacity": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 1], "range": [0, 0.85]},
                "legend": None,
            },
            "tooltip": [tip("target"), tip("predicted"), tip("n"), tip("share", ".3f")],
        },
    }
    count: Spec = {
        "mark": {"type": "text", "color": INK, "fontSize": 11},
        "encoding": {**shared, "text": {"field": "n", "type": "quantitative", "format": "d"}},
    }
    return chart(
        "Confusion matrix: counts by true class (rows) and predicted class (columns), shaded by share of the row.",
        height=max(220, min(34 * len(targets), 640)),
        data={"values": list(rows)},
        layer=[cell] if many else [cell, count],
    )


def _angle(names: Sequence[str]) -> int:
    """Of the names below a matrix: level where a narrow page has room for all of them."""
    return 0 if sum(len(name) + 2 for name in names) <= 40 else -40


def forest(rows: Sequence[Row], unit: str) -> Spec:
    """Changes with intervals, zero marked. rows: label, change, low, high, verdict (better, worse, not separable)."""
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": {"grid": False, "labelLimit": 300}}
    order = [BETTER, WORSE, UNCLEAR]
    colour = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": order, "range": [_VERDICT_HUES[v] for v in order]},
    }
    shape = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": order, "range": [_VERDICT_SHAPES[v] for v in order]},
    }
    return chart(
        f"Forest plot: change from the baseline with its 95 % interval, in {unit}.",
        height=_height_of(rows),
        data={"values": list(rows)},
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {
                    "y": y,
                    "x": {"field": "low", "type": "quantitative", "title": f"change, {unit}"},
                    "x2": {"field": "high"},
                    "color": colour,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {
                    "y": y,
                    "x": {"field": "change", "type": "quantitative"},
                    "color": colour,
                    "shape": shape,
                    "tooltip": [tip("label"), tip("change", ".4g"), tip("low", ".4g"), tip("high", ".4g")],
                },
            },
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": INK, "opacity": 0.5},
                "encoding": {"x": {"field": "zero", "type": "quantitative"}},
            },
        ],
    )


def ranking(rows: Sequence[Row], metric: str, unit: str, number: int) -> Spec:
    """Values of one board, best on top. rows: run, value, tied (whether it is told from the best)."""
    order = ["best, or tied with it", "separable from the best", "not looked at"]
    return chart(
        f"Leaderboard {number}: {metric} per run, best on top.",
        height=_height_of(rows),
        data={"values": list(rows)},
        mark={"type": "point", "filled": True, "size": 80, "opacity": 1},
        encoding={
            "y": {"field": "run", "type": "nominal", "sort": None, "title": None, "axis": {"grid": True}},
            "x": {
                "field": "value",
                "type": "quantitative",
                "title": f"{metric}, {unit}",
                "scale": {"zero": False, "nice": True, "padding": 12},
                "axis": {"tickCount": 6},
            },
            "color": {
                "field": "tied",
                "type": "nominal",
                "scale": {"domain": order, "range": [HUES[0], HUES[1], "#8a8a8a"]},
            },
            "shape": {
                "field": "tied",
                "type": "nominal",
                "scale": {"domain": order, "range": ["circle", "diamond", "square"]},
            },
            "tooltip": [tip("run"), tip("value", ".4g"), tip("tied")],
        },
    )


def by_horizon(rows: Sequence[Row], metric: str, axis: str, wanted: float | None, param: str) -> Spec:
    """One rate over horizons, per run. rows: run, horizon_s, value. wanted: a rule across."""
    owner: Spec = {
        "data": {"values": list(rows)},
        "params": [{"name": param, "select": {"type": "point", "fields": ["run"]}, "bind": "legend"}],
        "mark": {"type": "line", "point": {"size": 40, "filled": True}, "strokeWidth": 1.6},
        "encoding": {
            "x": {"field": "horizon_s", "type": "quantitative", "title": "horizon, s"},
            "y": {"field": "value", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": axis},
            **per_run(),
            "opacity": {"condition": {"param": param, "value": 1}, "value": 0.12},
            "tooltip": [tip("run"), tip("horizon_s", ".2f"), tip("value", ".3f")],
        },
    }
    rule: Spec = {
        "data": {"values": [{"wanted": wanted}]},
        "mark": {"type": "rule", "color": INK, "opacity": 0.5, "strokeDash": [4, 4]},
        "encoding": {"y": {"field": "wanted", "type": "quantitative"}},
    }
    return chart(
        f"{metric} over horizons, a line per run.", height=240, layer=[owner] if wanted is None else [owner, rule]
    )


def risk_coverage(rows: Sequence[Row]) -> Spec:
    """Share of wrong answers among those accepted, by how many are. rows: run, coverage, risk, from_confidence."""
    return chart(
        "Risk against coverage: errors among the accepted answers as the confidence asked for falls, a line per run.",
        data={"values": list(rows)},
        mark={"type": "line", "point": {"size": 40, "filled": True}, "strokeWidth": 1.6},
        encoding={
            "x": {
                "field": "coverage",
                "type": "quantitative",
                "scale": {"domain": [0, 1]},
                "title": "share of answers accepted",
            },
            "y": {"field": "risk", "type": "quantitative", "scale": {"zero": True}, "title": "errors among them"},
            **per_run(),
            "tooltip": [tip("run"), tip("coverage", ".3f"), tip("risk", ".3f"), tip("from_confidence", ".2f")],
        },
    )


def traces(rows: Sequence[Row]) -> Spec:
    """Predicted progress over frames, a line per trajectory. rows: trajectory, frame, progress, outcome, call."""
    outcomes, calls = ["success", "failure"], ["called rightly", "called wrongly", "not called"]
    return chart(
        "Progress traces: predicted progress over frames, coloured by how the trajectory ended, dashed by the call.",
        data={"values": list(rows)},
        mark={"type": "line", "strokeWidth": 1.4, "opacity": 0.85, "point": {"size": 18, "filled": True}},
        encoding={
            "x": {"field": "frame", "type": "quantitative", "title": "last frame shown to the model"},
            "y": {
                "field": "progress",
                "type": "quantitative",
                "title": "predicted progress",
                "scale": {"domain": [0, 1]} if _within(rows) else {"zero": True},
            },
            "detail": {"field": "trajectory", "type": "nominal"},
            "color": {
                "field": "outcome",
                "type": "nominal",
                "scale": {"domain": outcomes, "range": [HUES[0], HUES[1]]},
            },
            "strokeDash": {
                "field": "call",
                "type": "nominal",
                "scale": {"domain": calls, "range": [[1, 0], [6, 4], [1, 4]]},
                "legend": {"symbolType": "stroke", "symbolSize": LINE_SYMBOL},
            },
            "tooltip": [tip("trajectory"), tip("outcome"), tip("call"), tip("frame"), tip("progress", ".3f")],
        },
    )


def _within(rows: Sequence[Row]) -> bool:
    """Whether all progress lies in [0, 1], as a share does."""
    return all(0 <= row["progress"] <= 1 for row in rows)


def per_run() -> Spec:
    """Colour and dash of a line per run; the legend shows both."""
    legend = {"symbolType": "stroke", "symbolSize": LINE_SYMBOL, "symbolStrokeWidth": 2}
    channel = {"field": "run", "type": "nominal", "sort": None, "legend": legend}
    return {"color": channel, "strokeDash": dict(channel)}


def _height_of(rows: Sequence[Row]) -> int:
    """Pixels for a line per row, an axis and a legend."""
    return 24 * len(rows) + 90


def tip(field: str, format: str | None = None) -> Spec:
    """A tooltip line. Text is data there, never markup."""
    kind = "quantitative" if format else "nominal"
    return {"field": field, "type": kind, **({"format": format} if format else {})}
