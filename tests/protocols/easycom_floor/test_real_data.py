"""Four real meetings, two real forecasters: the published figures, and the oracle on every session."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.floor import convert_miniroada, evaluate, rasterize
from tests.oracles import floor as oracle
from tests.properties.floor_worlds import saved_session

TEST, TRAIN = ["ES2004a", "ES2005a", "ES2010a"], "ES2011a"


@pytest.fixture(scope="module")
def meetings(real_data: Callable[[str], Path]) -> Path:
    return real_data("ami_floor")


@pytest.fixture(scope="module")
def body(meetings: Path) -> dict[str, Any]:
    done = evaluate(
        meetings / "target",
        runs={name: meetings / name for name in ("baseline", "candidate")},
        sessions=TEST,
        calibration_sessions=[TRAIN],
    )
    found: dict[str, Any] = json.loads(done.to_json())
    return found


def at_one_second(body: dict[str, Any], run: str) -> dict[str, Any]:
    (row,) = (row for row in body["rows"] if row["run"] == run and row["horizon_s"] == 1.0)
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize(
    ("run", "ap", "triggers", "reached"), [("baseline", 0.3373, 46, 23), ("candidate", 0.5059, 31, 17)]
)
def test_the_figures_at_one_second(body: dict[str, Any], run: str, ap: float, triggers: int, reached: int) -> None:
    row = at_one_second(body, run)
    assert (row["n_response_candidates"], row["n_response"], row["n_no_response"]) == (93, 29, 64)
    assert (row["n_yield_candidates"], row["n_yield"], row["n_continue"]) == (95, 22, 73)
    assert round(row["response_ap"], 4) == ap
    assert row["no_response_trigger_count_at_recall_0.8"] == triggers
    assert row["no_response_trigger_rate_at_recall_0.8"] == triggers / 64
    assert row["response_recall_0.8"] == reached / 29


@pytest.mark.parametrize("run", ["baseline", "candidate"])
def test_every_horizon_is_the_oracles(meetings: Path, body: dict[str, Any], run: str) -> None:
    sessions = {name: saved_session(meetings, name, run) for name in (*TEST, TRAIN)}
    for row in (row for row in body["rows"] if row["run"] == run):
        horizon = round(row["horizon_s"] * 5)
        events = {name: oracle.events(session, oracle.PRE, [horizon]) for name, session in sessions.items()}
        for kind, positive, negative in (("response", "response", "no_response"), ("yield", "yield", "continue")):
            some = [e for name in TEST for e in events[name] if e.kind == kind]
            chosen = oracle.threshold(events[TRAIN], kind, horizon, Fraction(4, 5))
            wanted = oracle.rates(some, dict.fromkeys(TEST, chosen), 10)
            assert row[f"{kind}_threshold_at_recall_0.8"] == chosen
            assert (row[f"n_{positive}"], row[f"n_{negative}"]) == (wanted.n_positive, wanted.n_negative)
            assert row[f"{kind}_recall_0.8"] == float(wanted.recall() or 0)
            assert row[f"{kind}_ap"] == pytest.approx(float(oracle.event_ap(some) or 0), rel=1e-12)
            if kind == "response":
                assert row["n_short_resume"] == wanted.n_short_resume
                assert row["short_resume_trigger_count_at_recall_0.8"] == wanted.short_resume_triggered
                assert row["no_response_trigger_count_at_recall_0.8"] == wanted.negatives_triggered
            else:
                assert row["continue_false_stop_count_at_recall_0.8"] == wanted.negatives_triggered


def test_raw_forecasts_convert_bit_for_bit(meetings: Path, tmp_path: Path) -> None:
    sessions = [*TEST, TRAIN]
    convert_miniroada(meetings / "raw_baseline", meetings / "target", tmp_path, sessions=sessions)
    for name in sessions:
        for part in ("pred", "valid"):
            written, published = (root / part / f"{name}.npy" for root in (tmp_path, meetings / "baseline"))
            assert written.read_bytes() == published.read_bytes()


def test_turns_rasterise_exactly(meetings: Path, tmp_path: Path) -> None:
    rasterize(sorted((meetings / "rttm").glob("*.rttm")), wearer="most-speech", output_dir=tmp_path)
    for name in (*TEST, TRAIN):
        published = np.load(meetings / "target" / f"{name}.npy")
        assert np.array_equal(np.load(tmp_path / f"{name}.npy"), published)
    assert not (tmp_path / "segments.csv").exists()
