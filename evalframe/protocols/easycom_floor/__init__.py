"""EasyCom floor events: does a model enter or yield the floor when it should not?"""

from __future__ import annotations

from evalframe.protocols.base import Parameter, Protocol

PRE, POST = "pre-boundary", "post-boundary"
TIMINGS = (PRE, POST)

_RATES = (
    "response_recall",
    "no_response_trigger_rate_at_recall",
    "short_resume_trigger_rate_at_recall",
    "yield_recall",
    "continue_false_stop_rate_at_recall",
)
_RANKINGS = ("response_ap", "yield_ap")
_PER_MINUTE = ("false_entries_per_minute_at_recall", "false_stops_per_minute_at_recall")
_SECONDARY = (*(f"{name}_full_horizon" for name in (*_RATES, *_RANKINGS)), "framewise_ap")


def _timing(value: str) -> Parameter:
    return Parameter(
        "decision_timing",
        value,
        "Row at which the decision is taken: the last row before the boundary, or the first row after it.",
        choices=(value,),
    )


_PARAMETERS = (
    Parameter("row_seconds", "0.2", "How long one row lasts.", "decimal", minimum="0.000001", maximum="3600"),
    Parameter("n_horizons", "10", "Horizons are 1 to this many rows.", "integer", minimum="1", maximum="10"),
    Parameter(
        "midturn_pause_max_seconds",
        "2",
        "A pause of the others that is no longer than this is a short one.",
        "decimal",
        minimum="0",
        maximum="86400",
    ),
    Parameter(
        "wearer_read_at",
        "decision_row",
        "The wearer's state of a candidate is read at the decision row, or must hold on both sides of the boundary. On"
        " both sides, no outcome could come within the first row.",
        choices=("decision_row", "both_sides"),
        reading=True,
    ),
    Parameter(
        "exposure_path",
        "observable",
        "A row counts towards exposure if all its forecasts up to the horizon or the end of the recording are valid"
        " (observable), or only if the whole horizon lies inside the recording (full).",
        choices=("observable", "full"),
        reading=True,
    ),
    Parameter(
        "threshold_rule",
        "ceil_rank",
        "The threshold for recall q is the ceil(q x P)-th largest score of P positives.",
        choices=("ceil_rank",),
    ),
    Parameter(
        "calibration_mode",
        "calibrated",
        "Thresholds come from sessions that are not evaluated, from other folds, or from the evaluated sessions"
        " themselves (never a result).",
        choices=("calibrated", "cross_fitted", "in_sample"),
    ),
    Parameter("calibration_sessions", "[]", "Canonical JSON: the calibration sessions, or the folds."),
    Parameter(
        "official_test_sessions",
        '["Session_1","Session_2","Session_3"]',
        "JSON list: sessions that must never calibrate. A guard; no number depends on it.",
    ),
)


def _protocol(timing: str, title: str, claims: str) -> Protocol:
    return Protocol(
        name=f"easycom-floor-{timing}",
        version="1",
        system="floor",
        title=title,
        metrics=(*_RATES, *_RANKINGS, *_PER_MINUTE, *_SECONDARY),
        primary=(
            "no_response_trigger_rate_at_recall",
            "short_resume_trigger_rate_at_recall",
            "continue_false_stop_rate_at_recall",
        ),
        parameters=(_timing(timing), *_PARAMETERS),
        stored=("floor_events", "operating_points"),
        items="floor_items",
        cluster="session",
        primary_recall="0.8",
        secondary=frozenset(_SECONDARY),
        by_parts=True,
        claims=claims,
    )


PRE_BOUNDARY = _protocol(
    PRE,
    "Anticipation: decided on the last row before the others change",
    "A behaviour evaluation from timing alone: neither end-of-turn semantics, nor addressee, nor single speakers.",
)
POST_BOUNDARY = _protocol(
    POST,
    "Reaction: decided on the first row after the others changed (a diagnostic)",
    "A separately named reactive diagnostic; it does not stand in for the pre-boundary protocol.",
)

PROTOCOLS = (PRE_BOUNDARY, POST_BOUNDARY)


def by_timing(timing: str) -> Protocol:
    """The protocol of a decision timing, `pre-boundary` or `post-boundary`."""
    return {PRE: PRE_BOUNDARY, POST: POST_BOUNDARY}[timing]
