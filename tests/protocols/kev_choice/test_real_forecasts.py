"""Published figures of real classifiers, language models and sports forecasts, scored as choice questions."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.sources.choice import ChoiceRun, read_outcomes
from tests.protocols.kev_choice.scoring import evaluated, run, values

RealData = Callable[[str], Path]
Row = dict[str, Any]


def question(number: int, p: list[float], label: int, kind: str = "choice") -> Row:
    return {"id": f"q{number}", "type": kind, "keys": [f"k{i}" for i in range(len(p))], "label": label, "p": p}


def outcome_run(path: Path, confidence: Any, correct: Any) -> ChoiceRun:
    """A run that kept only confidence and correctness, by way of a file."""
    columns = {"id": [str(i) for i in range(len(correct))], "confidence": confidence, "correct": correct}
    pq.write_table(pa.table(columns), path)
    return read_outcomes(path, "r")


@pytest.mark.parametrize(
    ("file", "n_bins", "ece", "accuracy", "tolerance"),
    [
        # The files are float32, the published figures are of float64.
        ("probs_resnet110_c10_logits", "15", 0.0475035186, 0.9356, 6e-9),
        ("probs_densenet40_c100_logits", "15", 0.2115628528, 0.70, 6e-9),
        ("resnext101_32x8d", "20", 0.08073629151433703, 0.79312, 1e-15),
    ],
)
def test_calibration_errors_of_image_classifiers(
    real_data: RealData, tmp_path: Path, file: str, n_bins: str, ece: float, accuracy: float, tolerance: float
) -> None:
    saved = np.load(real_data("calibration") / f"{file}.npz")
    one = outcome_run(tmp_path / "o.parquet", saved["confidence"], saved["true_label"] == saved["pred_label"])
    found = values([one], settings={"n_bins": n_bins}, metrics=("ece", "choice_accuracy", "mean_confidence"))
    assert found["r", "ece", "all"]["value"] == pytest.approx(ece, rel=0, abs=tolerance)
    assert found["r", "accuracy", "all"]["value"] == accuracy
    if file.startswith("resnext"):
        assert found["r", "mean_confidence", "all"]["value"] == pytest.approx(0.8737401799026132, rel=0, abs=1e-15)


def test_80_accuracies_of_a_language_model(real_data: RealData) -> None:
    """Eight subjects under ten prompts each, published with three decimals."""
    folder = real_data("llama_mmlu")
    published = json.loads((folder / "published_accuracy.json").read_text())
    saved = np.load(folder / "llama13b_mmlu8_probs.npz")
    runs = {
        f"{subject} {prompt}": run(
            [
                question(i, [float(x) for x in p], int(label))
                for i, (p, label) in enumerate(zip(probabilities, saved[f"{subject}__targets"], strict=True))
            ],
            f"{subject} {prompt}",
        )
        for subject in published
        for prompt, probabilities in enumerate(saved[f"{subject}__probs"])
    }
    found = values(list(runs.values()), metrics=("choice_accuracy",))
    ours = {name: round(found[name, "accuracy", "all"]["value"], 3) for name in runs}
    assert len(ours) == 80
    assert ours == {f"{subject} {i}": value for subject, ten in published.items() for i, value in enumerate(ten)}


@pytest.fixture(scope="module")
def games(real_data: RealData) -> list[Row]:
    """The games that were not tied: the first team wins, or it does not."""
    with (real_data("football") / "nfl_games.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if float(row["result1"]) != 0.5]
    return [
        question(i, [1 - float(row["elo_prob1"]), float(row["elo_prob1"])], int(float(row["result1"])), "noul")
        for i, row in enumerate(rows)
    ]


def test_football_forecasts(games: list[Row]) -> None:
    found = values([run(games)], metrics=("choice_accuracy", "nll", "brier", "ece"))
    assert len(games) == 16494
    assert found["r", "accuracy", "all"]["value"] == pytest.approx(0.6654541046, rel=0, abs=1e-10)
    assert found["r", "nll", "all"]["value"] == pytest.approx(0.6108828629, rel=0, abs=1e-10)
    # Published for one probability; the sum over both options is twice that.
    assert found["r", "brier", "all"]["value"] / 2 == pytest.approx(0.2117049602, rel=0, abs=1e-10)
    assert found["r", "ece", "all"]["value"] == pytest.approx(0.0038980348, rel=0, abs=1e-10)


def test_football_calibration_under_right_closed_bins(games: list[Row]) -> None:
    """The published figure counts a confidence on an edge in the bin below."""
    found = values([run(games)], settings={"bin_rule": "right_closed"}, metrics=("ece",))
    assert found["r", "ece", "all"]["value"] == pytest.approx(0.0039586629, rel=0, abs=1e-10)


@pytest.mark.parametrize(
    ("file", "n", "rps", "nll", "brier"),
    [
        ("world_cup_matches_men.csv", 176, 0.204014, 0.899169, 0.537532),
        ("world_cup_matches_women.csv", 103, 0.151068, 0.678398, 0.401998),
    ],
)
def test_world_cup_forecasts(real_data: RealData, file: str, n: int, rps: float, nll: float, brier: float) -> None:
    """Win, tie, loss in this order; no tie was possible in some of the games."""
    names = ("prob1", "probtie", "prob2")
    with (real_data("worldcup") / file).open(encoding="utf-8", newline="") as text:
        rows = [
            question(
                i,
                [float(row[name]) for name in names],
                [float(row[f"{name}_outcome"]) for name in names].index(1.0),
                "score",
            )
            for i, row in enumerate(csv.DictReader(text))
        ]
    assert len(rows) == n
    found = values([run(rows)], metrics=("rps", "nll", "brier"))
    for metric, published in (("rps", rps), ("nll", nll), ("brier", brier)):
        assert found["r", metric, "all"]["value"] == pytest.approx(published, rel=0, abs=5e-7)


def test_a_published_table_of_ranked_probability_scores(real_data: RealData) -> None:
    table = json.loads((real_data("rps_table") / "cases.json").read_text())["constantinou_fenton_2012"]
    forecasts = zip(table["probs"], table["observed"], strict=True)
    one = run([question(i, p, label, "score") for i, (p, label) in enumerate(forecasts)])
    outcomes = evaluated([one], ["choice_outcomes"])["choice_outcomes"].sort_by("item_index")
    assert outcomes["rps"].to_pylist() == pytest.approx(table["published_rps"], rel=0, abs=1e-15)
    mean = values([one], metrics=("rps",))["r", "rps", "all"]["value"]
    assert mean == pytest.approx(table["published_mean"], rel=0, abs=1e-15)


def test_log_losses_with_exact_zeros_and_ones(real_data: RealData) -> None:
    """Three classifiers, two data sets, three resamples. A certain miss costs what the floor says: -ln of epsilon."""
    folder = real_data("tsml")
    runs, published, right = [], {}, {}
    for classifier in ("1NN-DTW", "ROCKET", "TSF"):
        losses = _by_data_set(folder / "published" / f"{classifier}_logloss.csv")
        accuracies = _by_data_set(folder / "published" / f"{classifier}_accuracy.csv")
        for data_set in ("Chinatown", "Trace"):
            for resample in range(3):
                name = f"{classifier} {data_set} {resample}"
                path = folder / "predictions" / classifier / data_set / f"testResample{resample}.csv"
                runs.append(run(_tsml_rows(path), name))
                published[name], right[name] = losses[data_set][resample], accuracies[data_set][resample]
    found = values(runs, settings={"nll_floor": "2.220446049250313e-16"}, metrics=("nll", "choice_accuracy"))
    # The published loss also lowers 1 by epsilon, which is below this tolerance.
    ours = {name: found[name, "nll", "all"]["value"] for name in published}
    assert len(ours) == 18
    assert ours == {name: pytest.approx(value, rel=0, abs=1e-12) for name, value in published.items()}
    assert {name: found[name, "accuracy", "all"]["value"] for name in right} == right


def _by_data_set(path: Path) -> dict[str, list[float]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row[0]: [float(cell) for cell in row[1:]] for row in list(csv.reader(file))[1:]}


def _tsml_rows(path: Path) -> list[Row]:
    """Three lines of header, then true class, predicted class, nothing, probabilities."""
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))[3:]
    return [question(i, [float(cell) for cell in row[3:]], int(float(row[0]))) for i, row in enumerate(cells)]


@pytest.fixture(scope="module")
def peers(real_data: RealData) -> dict[str, list[dict[str, Any]]]:
    """Small expected values from the tests and documentation of other libraries."""
    found: dict[str, list[dict[str, Any]]] = json.loads((real_data("peer_cases") / "cases.json").read_text())
    return found


@pytest.mark.parametrize(("metric", "kind"), [("brier", "brier_multiclass_sum"), ("nll", "nll")])
def test_losses_of_peers(peers: dict[str, list[dict[str, Any]]], metric: str, kind: str) -> None:
    for case in peers[kind]:
        rows = [question(i, p, label) for i, (p, label) in enumerate(zip(case["p"], case["y"], strict=True))]
        assert values([run(rows)], metrics=(metric,))["r", metric, "all"]["value"] == pytest.approx(
            case["expected"], rel=0, abs=1e-7
        )


def test_the_brier_score_of_one_probability_is_half_of_ours(peers: dict[str, list[dict[str, Any]]]) -> None:
    for case in peers["brier_binary"]:
        rows = [question(i, [1 - p, p], y, "noul") for i, (p, y) in enumerate(zip(case["p1"], case["y"], strict=True))]
        ours = values([run(rows)], metrics=("brier",))["r", "brier", "all"]["value"]
        assert ours / 2 == pytest.approx(case["expected"], rel=0, abs=1e-12)


def test_the_ranked_probability_score_is_the_mean_over_thresholds(peers: dict[str, list[dict[str, Any]]]) -> None:
    for case in peers["rps_sum_form"]:
        ours = values([run([question(0, case["p"], case["obs"] - 1, "score")])], metrics=("rps",))["r", "rps", "all"]
        assert ours["value"] == pytest.approx(case["div_K_minus_1"], rel=0, abs=1e-15)
        assert ours["value"] * (len(case["p"]) - 1) == pytest.approx(case["expected"], rel=0, abs=1e-12)


def test_calibration_errors_of_peers(peers: dict[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    """Top labels directly; the probability of the positive class as the confidence that it is meant to be."""
    for case in peers["ece_top_label"]:
        rows = [question(i, p, label) for i, (p, label) in enumerate(zip(case["p"], case["y"], strict=True))]
        found = values([run(rows)], settings={"n_bins": str(case["bins"])}, metrics=("ece",))
        assert found["r", "ece", "all"]["value"] == pytest.approx(case["l1"], rel=0, abs=1e-12)
    for case in peers["ece_binary_p1"]:
        one = outcome_run(tmp_path / "o.parquet", case["p1"], [bool(y) for y in case["y"]])
        found = values([one], settings={"n_bins": str(case["bins"])}, metrics=("ece",))
        assert found["r", "ece", "all"]["value"] == pytest.approx(case["l1"], rel=0, abs=1e-12)
