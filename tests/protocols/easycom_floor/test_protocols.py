"""The two protocols: two identities, what each number depends on, recalls and times as exact text."""

from __future__ import annotations

from fractions import Fraction

import pytest

from evalframe.errors import RecallRefused, UsageError
from evalframe.protocols.easycom_floor import POST_BOUNDARY, PRE_BOUNDARY, by_timing
from evalframe.protocols.easycom_floor.recalls import read_recalls
from evalframe.protocols.easycom_floor.times import microseconds
from evalframe.relations import catalogue, metric_fingerprint


def prints(protocol_name: str, **settings: str) -> dict[str, str]:
    protocol = by_timing(protocol_name)
    chosen = protocol.settings(settings)
    return {
        metric: metric_fingerprint(
            catalogue(), metric, protocol=protocol.name, version=protocol.version, parameters=chosen
        )
        for metric in protocol.metrics
    }


def changed(**settings: str) -> set[str]:
    before, after = prints("pre-boundary"), prints("pre-boundary", **settings)
    return {metric for metric in before if before[metric] != after[metric]}


RATES = {"response_recall", "no_response_trigger_rate_at_recall", "yield_recall", "continue_false_stop_rate_at_recall"}
RESUME = {"short_resume_trigger_rate_at_recall"}
PER_MINUTE = {"false_entries_per_minute_at_recall", "false_stops_per_minute_at_recall"}
RANKINGS = {"response_ap", "yield_ap"}


def with_full_horizon(metrics: set[str]) -> set[str]:
    return metrics | {f"{metric}_full_horizon" for metric in metrics}


def test_no_number_of_one_timing_is_comparable_with_the_other() -> None:
    pre, post = prints("pre-boundary"), prints("post-boundary")
    assert set(pre) == set(post)
    assert not set(pre.values()) & set(post.values())
    with pytest.raises(UsageError):
        PRE_BOUNDARY.settings({"decision_timing": "post-boundary"})


def test_what_depends_on_calibration() -> None:
    thresholds = with_full_horizon(RATES | RESUME) | PER_MINUTE
    assert changed(calibration_sessions='["x"]') == thresholds
    assert changed(calibration_mode="in_sample") == thresholds


def test_the_pause_defines_short_restarts_only() -> None:
    assert changed(midturn_pause_max_seconds="1.5") == with_full_horizon(RESUME)


def test_the_readings_define_what_they_are_about() -> None:
    assert changed(wearer_read_at="both_sides") == with_full_horizon(RATES | RESUME | RANKINGS) | PER_MINUTE
    assert changed(exposure_path="full") == PER_MINUTE


def test_what_is_official_is_a_guard_and_no_definition() -> None:
    assert changed(official_test_sessions="[]") == set()
    assert changed(row_seconds="0.20") == set()  # another spelling of the same


def test_secondary_figures_are_marked() -> None:
    for protocol in (PRE_BOUNDARY, POST_BOUNDARY):
        assert protocol.secondary == {m for m in protocol.metrics if catalogue()[m].secondary}
        assert not protocol.secondary & set(protocol.primary)


def test_recalls_are_exact() -> None:
    assert [(r.label, r.exact) for r in read_recalls(["0.7", "1", "0.80"])] == [
        ("0.7", Fraction(7, 10)),
        ("1", Fraction(1)),
        ("0.80", Fraction(4, 5)),
    ]


@pytest.mark.parametrize(
    "texts",
    [[], ["0"], ["1.1"], ["-0.5"], ["8e-1"], ["nan"], ["0.8", "0.80"], ["0.1234567891"], ["½"], ["0,8"], [" 1"]],
)
def test_recalls_that_are_refused(texts: list[str]) -> None:
    with pytest.raises(RecallRefused):
        read_recalls(texts)


def test_times_are_whole_microseconds() -> None:
    assert microseconds("0.2", "--row-seconds") == 200_000
    with pytest.raises(UsageError):
        microseconds("0.0000001", "--row-seconds")
