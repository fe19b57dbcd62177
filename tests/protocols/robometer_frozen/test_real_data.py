"""Published traces and failure signals of real robots, through the relations."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.protocols.robometer_frozen.scoring import evaluated, tables, value
from tests.protocols.robometer_frozen.worlds import TRACE_SCHEMA

RealData = Callable[[str], Path]

FALLING = "soar_put_green_stick_in_brown_bowl"
NORMAL = ("normal", "ok")
AUC = {"lp1": 0.790334, "lp2": 0.937037, "lp3": 0.937037, "lp4": 0.854839, "lp5": 0.765057}


def traces_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([{"run_id": "r", "step": 0, "error": None, **row} for row in rows], schema=TRACE_SCHEMA)


RAMPS: dict[str, Callable[[int], Any]] = {
    "mse_first": lambda n: np.linspace(0, 1, n),
    "mse_total": lambda n: np.arange(1, n + 1) / n,
}
"""Targets that rise from 0 at the first frame, or by one n-th with each."""


def example_videos(
    folder: Path, ramp: Callable[[int], Any] = RAMPS["mse_first"]
) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """The three traces against a linear target, and what the relations say of each, by name."""
    goldens = json.loads((folder / "computed_goldens.json").read_text(encoding="utf-8"))
    traces, targets = [], []
    for file in goldens:
        name = file.removesuffix("_rewards.npy")
        progress = np.load(folder / file).astype(np.float64)
        success = np.load(folder / f"{name}_rewards_success_probs.npy").astype(np.float64)
        for i, (p, s, t) in enumerate(zip(progress, success, ramp(len(progress)), strict=True)):
            traces.append(
                {"trajectory_id": name, "query_task": "t", "prefix_index": i, "frame_index": i}
                | {"progress": float(p), "success_probability": float(s)}
            )
            targets.append(
                {"trajectory_id": name, "task": "t", "outcome": "success", "frame_index": i, "target_progress": t}
            )
    run = tables(traces_of(traces), pl.DataFrame(targets))
    found = evaluated(run, "robometer-ind", top_k="1")
    found["features"] = run["progress_features"].to_pylist()
    return {file.removesuffix("_rewards.npy"): golden for file, golden in goldens.items()}, found


def test_three_real_traces(real_data: RealData) -> None:
    goldens, found = example_videos(real_data("robometer_traces"))
    calls = {row["trajectory_id"]: row for row in found["progress_calls"]}
    features = {row["trajectory_id"]: row for row in found["features"]}
    for name, golden in goldens.items():
        assert calls[name]["spearman"] == pytest.approx(golden["spearman"], abs=1e-12)
        assert features[name]["window_pearson"] == pytest.approx(golden["pearson5_windows"], abs=5e-7)
        assert features[name]["window_pearson"][-1] == pytest.approx(golden["last5"], abs=1e-12)
        assert min(features[name]["window_pearson"]) == pytest.approx(golden["min5"], abs=1e-12)
        assert features[name]["final_progress"] == golden["final"]
        assert features[name]["final_success_probability"] == golden["success_last"]
    last = {name: row["window_pearson"][-1] for name, row in features.items()}
    assert round(last.pop(FALLING), 3) == 0.484
    assert all(r > 0.95 for r in last.values())


@pytest.mark.parametrize("ramp", RAMPS)
def test_errors_of_three_real_traces(real_data: RealData, ramp: str) -> None:
    goldens, found = example_videos(real_data("robometer_traces"), RAMPS[ramp])
    assert len(found["progress_calls"]) == 3
    for row in found["progress_calls"]:
        assert row["mse"] == pytest.approx(goldens[row["trajectory_id"]][ramp], abs=1e-15)


def test_no_window_of_the_real_traces_falls(real_data: RealData) -> None:
    _, found = example_videos(real_data("robometer_traces"))
    assert [row["because"] for row in found["failure_calls"]] == ["neither"] * 3
    assert value(found["failure_accuracy"])["value"] == 1.0
    recall = value(found["failure_recall"])
    assert (recall["value"], recall["reason"]) == (None, "no_positives")


def executions(path: Path) -> list[tuple[str, list[float]]]:
    """(label, the largest |force| so far at each of the 15 samples) per execution."""
    found = []
    for block in re.split(r"\n\s*\n", path.read_text(encoding="latin-1").strip()):
        label, *lines = [line.strip() for line in block.strip().splitlines()]
        forces = [max(abs(int(v)) for v in line.split()[:3]) for line in lines]
        found.append((label, [float(max(forces[: i + 1])) for i in range(len(forces))]))
    return found


@pytest.mark.parametrize("name", AUC)
def test_force_tells_failed_executions_as_published(real_data: RealData, name: str) -> None:
    """The success probability falls with the largest force, so 1 - it ranks executions as the force does."""
    runs = executions(real_data("robot_failures") / f"{name}.data")
    largest = max(forces[-1] for _, forces in runs)
    traces, targets = [], []
    for number, (label, forces) in enumerate(runs):
        identity = f"{number:03d}"
        targets.append(
            {"trajectory_id": identity, "task": name, "outcome": "success" if label in NORMAL else "failure"}
            | {"frame_index": 14, "target_progress": 1.0}
        )
        traces.append(
            {"trajectory_id": identity, "query_task": name, "prefix_index": 0, "frame_index": 14}
            | {"progress": 0.0, "success_probability": 1 - forces[-1] / (largest + 1)}
        )
    found = evaluated(tables(traces_of(traces), pl.DataFrame(targets)), "robometer-ood", top_k="1")
    auc = value(found["failure_roc_auc"])
    assert auc["value"] == pytest.approx(AUC[name], abs=5e-7)
    n_normal = sum(label in NORMAL for label, _ in runs)
    assert auc["denominator"] == n_normal * (len(runs) - n_normal)


CELLS = [f"carrot__{kind}__n{n}" for kind in ("control", "semantic") for n in (0, 4, 8, 10, 14, 18)]


def episodes(folder: Path, cell: str) -> tuple[list[dict[str, str]], str]:
    """The rows of results.csv of one cell, and the report beside it."""
    (place,) = (folder / "runs").glob(f"{cell}_*")
    with (place / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), (place / "comparison_report.md").read_text(encoding="utf-8")


def as_run(rows: list[dict[str, str]], policy: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Each episode is wanted to succeed; progress is 1 where it did, so that `final progress < 0.5` calls the rest."""
    traces, targets = [], []
    for row in rows:
        identity = f"{row['seed']}/{row['episode']}"
        done = float(row[f"{policy}_success"])
        targets.append(
            {"trajectory_id": identity, "task": "carrot", "outcome": "success", "frame_index": 1}
            | {"target_progress": 1.0}
        )
        traces.append(
            {"trajectory_id": identity, "query_task": "carrot", "prefix_index": 0, "frame_index": 1}
            | {"progress": done, "success_probability": done}
        )
    return traces_of(traces), pl.DataFrame(targets)


@pytest.mark.parametrize("cell", CELLS)
def test_real_episodes_give_the_reported_success_rates(real_data: RealData, cell: str) -> None:
    rows, report = episodes(real_data("pi0_paired"), cell)
    section = report.partition("### Success Rate (SR)")[2].partition("###")[0]
    cells = [[cell.strip() for cell in line.split("|")] for line in section.splitlines() if line.startswith("|")]
    means = {cell[1]: cell[2] for cell in cells}
    called: dict[str, dict[str, bool]] = {}
    for policy, name in (("baseline", "Baseline"), ("cgvd", "CGVD")):
        traces, targets = as_run(rows, policy)
        found = evaluated(tables(traces, targets), "robometer-ood", ["failure_accuracy", "failure_calls"])
        rate = value(found["failure_accuracy"])
        assert rate["denominator"] == 200
        assert f"{100 * rate['value']:.1f}%" == means[name]
        called[policy] = {row["trajectory_id"]: row["called_failure"] for row in found["failure_calls"]}
    pairs = [(called["baseline"][i], called["cgvd"][i]) for i in called["baseline"]]
    worse, better = pairs.count((False, True)), pairs.count((True, False))
    assert worse == sum(r["baseline_success"] == "1" and r["cgvd_success"] == "0" for r in rows)
    assert better == sum(r["baseline_success"] == "0" and r["cgvd_success"] == "1" for r in rows)
