"""Every floor metric of random worlds is the oracle's: thresholds, rates, rankings, strata, folds, exposure, frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols.easycom_floor import TIMINGS, by_timing
from evalframe.relations import catalogue, plan
from tests.engines.systems import in_order
from tests.oracles import floor as oracle
from tests.oracles.floor import RESPONSE, YIELD
from tests.properties.floor_worlds import STRATA, random_session, world_tables

RECALLS = {"0.7": Fraction(7, 10), "0.80": Fraction(4, 5), "1": Fraction(1), "0.333333333": Fraction(333333333, 10**9)}
PAUSE_ROWS = 10  # 2.0 s of 0.2 s rows
Folds = Sequence[tuple[Sequence[str], Sequence[str]]]


class World:
    """One random world, scored by the relations and by the oracle."""

    def __init__(self, timing: str, seed: int, n: int, n_folds: int, annotated: bool) -> None:
        rng = np.random.default_rng([seed, n, n_folds])
        self.sessions = [random_session(rng, f"s{i:03d}", annotated) for i in range(n)]
        names = [s.name for s in self.sessions]
        parts = [names[i :: n_folds + 1] for i in range(n_folds + 1)]
        # With one fold the last part calibrates; with more, each fold calibrates on the next one and on the last part.
        self.folds: Folds = (
            [(parts[0], parts[1])]
            if n_folds == 1
            else [(parts[i], [*parts[(i + 1) % n_folds][:3], *parts[-1][:2]]) for i in range(n_folds)]
        )
        self.evaluated = [name for fold, _ in self.folds for name in fold]
        self.events = {s.name: oracle.events(s, timing) for s in self.sessions}
        annotations = sorted({interval[2] for s in self._evaluated() for interval in s.addressee})
        self.strata = ["all", *annotations, "unannotated"] if annotated else ["all"]
        self.answers = _score(self.sessions, self.folds, timing)

    def _evaluated(self) -> list[oracle.Session]:
        return [s for s in self.sessions if s.name in self.evaluated]

    def of(self, kind: str, horizon: int, stratum: str) -> list[oracle.Event]:
        return [
            e
            for name in self.evaluated
            for e in self.events[name]
            if e.kind == kind and e.horizon == horizon and stratum in ("all", e.stratum)
        ]

    def thresholds(self, kind: str, horizon: int, recall: Fraction) -> dict[str, float | None]:
        """By evaluated session: that of its fold."""
        found: dict[str, float | None] = {}
        for evaluated, calibrating in self.folds:
            events = [e for s in calibrating for e in self.events[s]]
            found |= dict.fromkeys(evaluated, oracle.threshold(events, kind, horizon, recall))
        return found

    def cells(self) -> list[tuple[str, int]]:
        return [(stratum, horizon) for stratum in self.strata for horizon in range(1, 11)]


def _score(
    sessions: list[oracle.Session],
    folds: Folds,
    timing: str,
    also: Sequence[str] = ("floor_event_counts", "floor_event_report"),
    *,
    together: bool = False,
) -> dict[str, pa.Table]:
    protocol = by_timing(timing)
    wanted = (*protocol.metrics, *protocol.stored, *also)
    with DuckDB(threads=1) as engine:
        for name, table in world_tables(sessions, folds, RECALLS).items():
            engine.bind(name, table)
        return engine.evaluate(plan(catalogue(), wanted, parameters=protocol.settings(), pooled=together))


WORLDS = [
    (timing, seed, n, n_folds, annotated)
    for timing in TIMINGS
    for seed, n, n_folds, annotated in (
        (1, 60, 1, True),
        (2, 60, 3, True),
        (3, 4, 1, False),
        (4, 2, 1, True),
        (66, 4, 1, True),
    )
]

_built = cache(World)


@pytest.fixture(params=WORLDS, ids=lambda w: f"{w[0]}-{w[2]}-sessions-{w[3]}-folds-seed-{w[1]}", scope="module")
def world(request: pytest.FixtureRequest) -> World:
    return _built(*request.param)


def close(found: float | None, wanted: Fraction | None) -> bool:
    if found is None or wanted is None:
        return found is None and wanted is None
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-15)


def rows(world: World, metric: str, *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    found = world.answers[metric].to_pylist()
    by_key = {tuple(row[key] for key in keys): row for row in found}
    assert len(by_key) == len(found)
    return by_key


def test_thresholds(world: World) -> None:
    found = rows(world, "operating_points", "fold", "kind", "horizon_steps", "recall")
    assert len(found) == len(world.folds) * 2 * 10 * len(RECALLS)
    for number, (_, calibrating) in enumerate(world.folds, 1):
        fold = str(number) if len(world.folds) > 1 else ""
        events = [e for name in calibrating for e in world.events[name]]
        for kind in (RESPONSE, YIELD):
            for horizon in range(1, 11):
                positives = sum(e.positive for e in events if (e.kind, e.horizon) == (kind, horizon))
                for recall in RECALLS.values():
                    row = found[fold, kind, horizon, float(recall)]
                    assert row["threshold"] == oracle.threshold(events, kind, horizon, recall)
                    assert row["n_positives"] == positives


RATES = {
    "response_recall": (RESPONSE, "recall", "positives_triggered", "n_positive"),
    "no_response_trigger_rate_at_recall": (RESPONSE, "false_rate", "negatives_triggered", "n_negative"),
    "short_resume_trigger_rate_at_recall": (RESPONSE, "short_resume_rate", "short_resume_triggered", "n_short_resume"),
    "yield_recall": (YIELD, "recall", "positives_triggered", "n_positive"),
    "continue_false_stop_rate_at_recall": (YIELD, "false_rate", "negatives_triggered", "n_negative"),
}


@pytest.mark.parametrize("full_horizon", [False, True], ids=["observed", "full_horizon"])
@pytest.mark.parametrize("metric", RATES)
def test_rates(world: World, metric: str, full_horizon: bool) -> None:
    kind, rate, numerator, denominator = RATES[metric]
    found = rows(world, metric + "_full_horizon" * full_horizon, "stratum", "horizon_s", "recall")
    assert len(found) == len(world.cells()) * len(RECALLS)
    for stratum, horizon in world.cells():
        events = world.of(kind, horizon, stratum)
        events = oracle.full_horizon(events) if full_horizon else events
        for recall in RECALLS.values():
            wanted = oracle.rates(events, world.thresholds(kind, horizon, recall), PAUSE_ROWS)
            row = found[stratum, horizon / 5, float(recall)]
            assert close(row["value"], getattr(wanted, rate)())
            assert (row["numerator"], row["denominator"]) == (getattr(wanted, numerator), getattr(wanted, denominator))
            assert row["n_items"] == wanted.n_candidates
            assert row["n_excluded"] == wanted.n_censored + wanted.n_empty + wanted.n_invalid
            assert row["status"] == ("undefined" if row["value"] is None else "ok")
            assert row["reason"] == reason(wanted, getattr(wanted, denominator), rate == "recall")


def reason(wanted: oracle.Rates, denominator: int, of_positives: bool) -> str | None:
    if wanted.positives_triggered is None:
        return "no_calibration_positives"
    if denominator:
        return None
    if not wanted.n_candidates:
        return "no_items"
    if wanted.n_censored == wanted.n_candidates:
        return "all_censored"
    return "no_positives" if of_positives else "no_items"


@pytest.mark.parametrize("full_horizon", [False, True], ids=["observed", "full_horizon"])
@pytest.mark.parametrize(("metric", "kind"), [("response_ap", RESPONSE), ("yield_ap", YIELD)])
def test_average_precision(world: World, metric: str, kind: str, full_horizon: bool) -> None:
    found = rows(world, metric + "_full_horizon" * full_horizon, "stratum", "horizon_s")
    assert len(found) == len(world.cells())
    for stratum, horizon in world.cells():
        events = world.of(kind, horizon, stratum)
        events = oracle.full_horizon(events) if full_horizon else events
        row = found[stratum, horizon / 5]
        assert close(row["value"], oracle.event_ap(events))
        assert row["n_items"] == len(events)
        assert row["denominator"] == sum(e.positive for e in events)


def test_counts_add_up(world: World) -> None:
    totals: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in world.answers["floor_event_counts"].to_pylist():
        if row["population"] == "observed":
            total = totals.setdefault((row["stratum"], row["kind"], row["horizon_s"]), {})
            for name, value in row.items():
                if name.startswith("n_"):
                    total[name] = total.get(name, 0) + value
    assert len(totals) == 2 * len(world.cells())
    for (stratum, kind, horizon_s), total in totals.items():
        wanted = oracle.rates(world.of(kind, round(horizon_s * 5), stratum), {"any": None}, PAUSE_ROWS)
        assert total == {
            "n_candidates": wanted.n_candidates,
            "n_positive": wanted.n_positive,
            "n_negative": wanted.n_negative,
            "n_censored": wanted.n_censored,
            "n_invalid": wanted.n_invalid,
            "n_empty_window": wanted.n_empty,
            "n_truncated": wanted.n_truncated,
        }
        ended = ("n_positive", "n_negative", "n_censored", "n_invalid", "n_empty_window")
        assert sum(total[name] for name in ended) == total["n_candidates"]
        if stratum == "all":  # strata partition the whole: what is annotated and what is not
            parts = [totals[other, kind, horizon_s]["n_candidates"] for other in world.strata[1:]]
            assert not parts or sum(parts) == total["n_candidates"]


@pytest.mark.parametrize(
    ("metric", "kind", "wearer"),
    [("false_entries_per_minute_at_recall", RESPONSE, 0), ("false_stops_per_minute_at_recall", YIELD, 1)],
)
def test_triggers_per_minute(world: World, metric: str, kind: str, wearer: int) -> None:
    found = rows(world, metric, "stratum", "horizon_s", "recall")
    if len(world.strata) == 1:
        assert not found  # without annotation there is no such number
        return
    assert len(found) == len(world.cells()) * len(RECALLS)
    sessions = [s for s in world.sessions if s.name in world.evaluated]
    for stratum, horizon in world.cells():
        one = None if stratum == "all" else stratum
        minutes = Fraction(sum(oracle.exposed_rows(s, wearer, horizon, one) for s in sessions), 300)
        for recall in RECALLS.values():
            wanted = oracle.rates(world.of(kind, horizon, stratum), world.thresholds(kind, horizon, recall), PAUSE_ROWS)
            row = found[stratum, horizon / 5, float(recall)]
            triggered = wanted.negatives_triggered
            assert close(row["denominator"], minutes)
            assert close(row["value"], None if triggered is None or not minutes else Fraction(triggered) / minutes)


def test_frames(world: World) -> None:
    found = rows(world, "framewise_ap", "stratum", "horizon_s")
    sessions = [s for s in world.sessions if s.name in world.evaluated]
    assert set(found) == {("all", step / 5) for step in range(1, 11)}
    for step in range(1, 11):
        pairs = [pair for s in sessions for pair in oracle.framewise(s, step)]
        row = found["all", step / 5]
        assert close(row["value"], oracle.average_precision(pairs))
        assert row["n_items"] - row["n_excluded"] == len(pairs)
        assert row["denominator"] == sum(positive for _, positive in pairs)


def test_worlds_reach_every_reason() -> None:
    """The worlds above are only worth something if they hold defined and undefined numbers of every kind."""
    reasons: set[str | None] = set()
    for made in WORLDS:
        world = _built(*made)
        for metric in RATES:
            reasons |= set(world.answers[metric]["reason"].to_pylist())
    assert reasons == {None, "no_items", "no_positives", "all_censored", "no_calibration_positives"}


@pytest.mark.parametrize("shown", ["floor_event_report", "floor_event_counts", "floor_reached_counts"])
def test_clusters_left_together_stay_apart_by_fold(shown: str) -> None:
    """Every fold has thresholds of its own. What is asked for besides may keep some of the states per cluster."""
    timing, *_ = chosen = next(world for world in WORLDS if world[0] == "post-boundary" and world[3] > 1)
    apart = _built(*chosen)
    together = _score(apart.sessions, apart.folds, timing, (shown,), together=True)
    for name in (*by_timing(timing).metrics, *({shown} & {"floor_event_report"})):
        assert in_order(together[name]).equals(in_order(apart.answers[name])), name


def test_strata_names_are_those_of_the_contract() -> None:
    from evalframe.contracts import contract

    assert contract("floor_addressee").column("stratum").allowed == STRATA


def test_runs_and_data_sets_side_by_side_do_not_mix() -> None:
    """Two data sets with equal session names and two runs on one of them, in one plan: each run as if alone."""
    protocol = by_timing("pre-boundary")
    wanted = (*protocol.metrics, *protocol.stored, protocol.items)
    chosen = plan(catalogue(), wanted, parameters=protocol.settings())
    names = [f"s{i:02d}" for i in range(24)]
    worlds = {}
    for run_id, labels_seed, scores_seed, annotated in (("a", 1, 1, True), ("b", 1, 2, True), ("c", 3, 3, False)):
        labels, scores = (np.random.default_rng(seed) for seed in (labels_seed, scores_seed))
        sessions = [random_session(labels, name, annotated) for name in names]
        sessions = [replace(s, pred=(scores.integers(0, 50, (len(s.target), 10)) / 49).tolist()) for s in sessions]
        worlds[run_id] = world_tables(sessions, [(names[:14], names[14:])], RECALLS, run_id)

    def answers(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
        with DuckDB(threads=2) as engine:
            for name, table in tables.items():
                engine.bind(name, table)
            return engine.evaluate(chosen)

    by_dataset = ("floor_activity", "floor_segments", "floor_addressee")
    together = answers(
        {
            # b is on the data set of a, which is stored once for both.
            name: pa.concat_tables([worlds[r][name] for r in "abc" if not (name in by_dataset and r == "b")])
            for name in worlds["a"]
        }
    )
    for run_id, tables in worlds.items():
        alone = answers(tables)
        for name in wanted:
            mine = together[name].filter([r == run_id for r in together[name]["run_id"].to_pylist()])
            assert mine.num_rows == alone[name].num_rows
            assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, alone[name].to_pylist())), name


@pytest.mark.parametrize("timing", TIMINGS)
def test_shards_of_frames_merge_to_the_whole(timing: str) -> None:
    """Sessions scored apart, under the same thresholds: states merged as they say are those of all sessions."""
    states = ("floor_event_counts", "floor_trigger_counts", "floor_short_resume_counts", "floor_exposure_counts")
    rng = np.random.default_rng(12)
    sessions = [random_session(rng, f"s{i:02d}", annotated=True) for i in range(30)]
    names = [s.name for s in sessions]
    tables = world_tables(sessions, [(names[:20], names[20:])], RECALLS)
    settings = by_timing(timing).settings()
    parts: dict[str, list[pa.Table]] = {state: [] for state in states}
    with DuckDB(threads=1) as engine:
        for name, table in tables.items():
            engine.bind(name, table)
        whole = engine.evaluate(plan(catalogue(), (*states, "operating_points"), parameters=settings))
        engine.bind("operating_points", whole["operating_points"])
        for shard in range(3):
            for name in ("floor_activity", "floor_forecasts"):
                mine = [index % 3 == shard for index in tables[name]["session_index"].to_pylist()]
                engine.bind(name, tables[name].filter(mine))
            given = frozenset({"operating_points"})
            for state, rows in engine.evaluate(plan(catalogue(), states, parameters=settings, given=given)).items():
                parts[state].append(rows)
    for state in states:
        relation = catalogue()[state]
        assert relation.merge is not None
        merged = pa.concat_tables(parts[state]).group_by(list(relation.grain)).aggregate(list(relation.merge.items()))
        merged = merged.rename_columns([*relation.grain, *relation.merge]).select(whole[state].column_names)
        order = [(name, "ascending") for name in relation.grain]
        assert merged.sort_by(order).cast(whole[state].schema).equals(whole[state].sort_by(order)), state
