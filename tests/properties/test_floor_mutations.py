"""Each rule of the floor relations is held by a named case: change the rule in the SQL, and that case must fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evalframe.engines.cases import Cases, read_case
from evalframe.engines.duckdb import DuckDB
from evalframe.relations import Catalogue
from evalframe.resources import folder

CASES = Path(__file__).parents[1] / "sql"

MUTATIONS = {
    "a transition at the competing row counts": (
        "facts/floor_events",
        "c.transition_row < c.competing_row",
        "c.transition_row <= c.competing_row",
        "facts/floor_events__competing_row_is_excluded",
    ),
    "the window stops at the outcome": (
        "facts/floor_events",
        "least(c.decision_row + h.horizon_steps, coalesce(",
        "least(c.decision_row + h.horizon_steps, c.transition_row, coalesce(",
        "facts/floor_events__window_passes_the_outcome",
    ),
    "the window holds the competing row": (
        "facts/floor_events",
        "coalesce(c.competing_row - 1, c.last_row)",
        "coalesce(c.competing_row, c.last_row)",
        "facts/floor_events__competing_row_is_excluded",
    ),
    "the wearer is read on both sides": (
        "facts/floor_candidates",
        "= 'decision_row'\n        OR NOT d.wearer_changes",
        "= 'nowhere'\n        OR NOT d.wearer_changes",
        "facts/floor_candidates",
    ),
    "invalid steps are pooled over": (
        "facts/floor_events",
        "WHEN path_steps > n_valid THEN 'invalid'",
        "WHEN n_valid = 0 THEN 'invalid'",
        "facts/floor_events__invalid_step",
    ),
    "invalid comes before censored": (
        "facts/floor_events",
        "CASE\n        WHEN NOT outcome AND (competing_row",
        "CASE\n        WHEN path_steps > n_valid THEN 'invalid'\n        WHEN NOT outcome AND (competing_row",
        "facts/floor_events__censored_before_invalid",
    ),
    "an outcome near the end is censored": (
        "facts/floor_events",
        "WHEN NOT outcome AND (competing_row",
        "WHEN (competing_row",
        "facts/floor_events__censored",
    ),
    "the threshold is one rank off": (
        "calibration/operating_points",
        "AND r.position * w.denominator >= w.numerator * r.n_positives\n"
        "    AND (r.position - 1) * w.denominator < w.numerator * r.n_positives",
        "AND (r.position + 1) * w.denominator >= w.numerator * r.n_positives\n"
        "    AND r.position * w.denominator < w.numerator * r.n_positives",
        "calibration/operating_points",
    ),
    "a score must exceed the threshold": (
        "states/floor_reached_counts",
        "AND e.score >= t.threshold",
        "AND e.score > t.threshold",
        "states/floor_reached_counts",
    ),
    "an event is counted at every threshold that it reaches": (
        "states/floor_reached_counts",
        "AND e.score < t.next_threshold",
        "",
        "states/floor_reached_counts",
    ),
    "a short restart must come within the horizon": (
        "states/floor_short_resume_counts",
        "AND state = 'scored' AND NOT outcome\n",
        "AND state = 'scored' AND NOT outcome AND competing_row <= decision_row + horizon_steps\n",
        "states/floor_short_resume_counts",
    ),
    "a forecast crosses into the next recording": (
        "facts/floor_frames",
        "AND f.row + h.horizon_steps <= f.last_row",
        "",
        "facts/floor_frames",
    ),
}


@pytest.mark.parametrize("what", MUTATIONS)
def test_the_case_notices(what: str, tmp_path: Path) -> None:
    relation, original, mutated, case = MUTATIONS[what]
    sql = tmp_path / "sql"
    shutil.copytree(folder("sql"), sql)
    path = sql / f"{relation}.sql"
    text = path.read_text(encoding="utf-8")
    assert text.count(original) == 1, f"{relation} no longer says what this mutation changes"
    with DuckDB(threads=1) as engine:
        assert Cases(Catalogue((sql,)), engine).differences(read_case(CASES / f"{case}.yaml")) == []
        path.write_text(text.replace(original, mutated), encoding="utf-8")
        assert Cases(Catalogue((sql,)), engine).differences(read_case(CASES / f"{case}.yaml"))
