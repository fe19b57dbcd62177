"""Published numbers of real KEV runs, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evalframe.sources.choice import read_outcomes, read_rows
from tests.protocols.kev_choice.scoring import Values, evaluated, run, values

RealData = Callable[[str], Path]

PUBLISHED = {
    "acc": "accuracy",
    "nll": "nll",
    "ece": "ece",
    "brier": "brier",
    "mean_conf": "mean_confidence",
    "confident_error_rate": "confident_error_rate",
    "coverage_at_0_9": "coverage_at_0_9",
    "coverage_at_5pct_error": "coverage_at_error_0.05",
    "coverage_at_1pct_error": "coverage_at_error_0.01",
    "aurc": "aurc",
    "confidence_bias": "confidence_bias",
    "accuracy_at_0_9": "accuracy_at_0_9",
    "error_rate_at_0_9": "error_rate_at_0_9",
}
"""Their names and ours; `n` is the fourteenth figure."""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def report(real_data: RealData) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((real_data("kev") / "autojev_semif_report_extract.json").read_text())
    return found


@pytest.fixture(scope="module")
def scored(real_data: RealData) -> Values:
    return values([read_rows(real_data("kev") / "autojev_semif_rows.json", "r")])


def stratum_of(name: str) -> str:
    if name == "clean":
        return name
    return f"task={name}" if name.startswith("semif_") else f"variant={name}"


def test_seven_populations_by_fourteen_figures(report: dict[str, Any], scored: Values) -> None:
    populations = report["populations"]
    assert len(populations) == 7
    for name, figures in populations.items():
        stratum = stratum_of(name)
        assert scored["r", "accuracy", stratum]["n_items"] == figures["n"]
        for theirs, ours in PUBLISHED.items():
            assert scored["r", ours, stratum]["value"] == pytest.approx(figures[theirs], rel=0, abs=1e-15), (name, ours)


def test_top_bins_and_selective_answering(report: dict[str, Any], scored: Values) -> None:
    for name, figures in report["populations"].items():
        for cutoff, theirs in figures["top_bins"].items():
            ours = scored["r", f"error_rate_at_{cutoff.replace('.', '_')}", stratum_of(name)]
            assert (ours["denominator"], ours["numerator"], ours["value"]) == tuple(theirs.values())
        for fraction, theirs in figures["selective"].items():
            for what in ("coverage", "accuracy"):
                ours = scored["r", f"selective_{what}_{fraction}", stratum_of(name)]
                assert ours["value"] == pytest.approx(theirs[what], rel=0, abs=1e-15)


def test_the_cutoffs_of_selective_answering(report: dict[str, Any], real_data: RealData) -> None:
    rows = evaluated([read_rows(real_data("kev") / "autojev_semif_rows.json", "r")], ["choice_selections"])
    cutoffs = {(row["stratum"], row["fraction"]): row["cutoff"] for row in rows["choice_selections"].to_pylist()}
    for name, figures in report["populations"].items():
        for fraction, theirs in figures["selective"].items():
            assert cutoffs[stratum_of(name), fraction] == theirs["confidence_cutoff"]


def test_the_objective(report: dict[str, Any], scored: Values) -> None:
    assert scored["r", "objective", "all"]["value"] == pytest.approx(report["objective"], rel=0, abs=1e-15)


@pytest.fixture(scope="module")
def hard_run(real_data: RealData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 111 answers as outcomes; the correct option of the wrong ones was not published."""
    rows = lines(real_data("kev") / "jevbench_kev9b_hard_111rows.jsonl")
    path = tmp_path_factory.mktemp("hard") / "hard.parquet"
    columns = {
        "id": [row["task_id"] for row in rows],
        "confidence": [max(row["probs"]) for row in rows],
        "correct": [row["correct"] for row in rows],
        "task": [row["family"] for row in rows],
    }
    pq.write_table(pa.table(columns), path)
    return path


def test_the_published_bins_under_their_own_rule(real_data: RealData, hard_run: Path) -> None:
    summary = json.loads((real_data("kev") / "jevbench_kev9b_hard_summary_extract.json").read_text())
    run_ = read_outcomes(hard_run, "r")
    truncated = {"bin_rule": "truncated"}
    found = values([run_], settings=truncated, metrics=("choice_accuracy", "ece"))
    assert found["r", "accuracy", "all"]["value"] == summary["accuracy"]
    assert found["r", "ece", "all"]["value"] == pytest.approx(summary["ece"], rel=0, abs=1e-15)
    for family, figures in summary["per_family"].items():
        assert found["r", "accuracy", f"task={family}"]["value"] == figures["accuracy"]
        assert found["r", "ece", f"task={family}"]["value"] == pytest.approx(figures["ece"], rel=0, abs=1e-15)
    bins = of_all(evaluated([run_], ["choice_bins"], settings=truncated)["choice_bins"])
    for ours, theirs in zip(bins, summary["ece_bins"], strict=True):
        assert (ours["lo"], ours["hi"], ours["n"]) == (theirs["lo"], theirs["hi"], theirs["n"])
        if theirs["n"]:
            assert ours["correct"] / ours["n"] == pytest.approx(theirs["accuracy"], rel=0, abs=1e-15)
            mean = float(ours["confidence_sum"]) / ours["n"]
            assert mean == pytest.approx(theirs["mean_confidence"], rel=0, abs=1e-15)


def test_our_bins_beside_the_published_ones(hard_run: Path) -> None:
    """One row each at exactly 0.6 and 0.7 moves down a bin; 0.4 and 0.5 are edges in float64 and stay."""
    run_ = read_outcomes(hard_run, "r")
    counts = {
        rule: [
            row["n"] for row in of_all(evaluated([run_], ["choice_bins"], settings={"bin_rule": rule})["choice_bins"])
        ]
        for rule in ("truncated", "left_closed")
    }
    assert counts["truncated"] == [0, 0, 1, 4, 4, 5, 6, 11, 8, 72]
    assert counts["left_closed"] == [0, 0, 1, 4, 4, 6, 6, 10, 8, 72]


def of_all(bins: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = bins.filter(pc.equal(bins["stratum"], "all")).sort_by("bin").to_pylist()
    return rows


def test_families_whose_right_options_are_known(real_data: RealData) -> None:
    """Brier scores need the right option, which the file implies for these families in every row."""
    summary = json.loads((real_data("kev") / "jevbench_kev9b_hard_summary_extract.json").read_text())
    rows = [
        {
            "id": row["task_id"],
            "task": row["family"],
            "type": "choice",
            "keys": [str(i) for i in range(len(row["probs"]))],
            "label": row["gold_index"],
            "p": row["probs"],
        }
        for row in lines(real_data("kev") / "jevbench_kev9b_hard_111rows.jsonl")
    ]
    found = values([run(rows)], metrics=("brier", "choice_accuracy"))
    for family in ("adversarial", "judge_hard"):
        theirs = summary["per_family"][family]
        assert found["r", "accuracy", f"task={family}"]["denominator"] == theirs["n"]
        assert found["r", "brier", f"task={family}"]["value"] == pytest.approx(theirs["brier_mean"], rel=0, abs=1e-15)


@pytest.mark.parametrize("order", ["as published", "reversed"])
@pytest.mark.parametrize("policy", ["kev-choice/1", "kev-choice/2"])
def test_25_rows_under_both_policies_in_both_orders(real_data: RealData, policy: str, order: str) -> None:
    goldens = json.loads((real_data("kev") / "computed_goldens.json").read_text())
    expected = goldens["autojev_devtools_25rows"]
    rows = lines(real_data("kev") / "autojev_devtools_25rows.jsonl")
    covered = expected
    if order == "reversed":
        rows, covered = rows[::-1], goldens["autojev_devtools_25rows_reversed_order"]
    found = values([run(rows)], policy)
    rule = "split" if policy.endswith("/1") else "group"
    for budget in ("0.01", "0.05"):
        assert found["r", f"coverage_at_error_{budget}", "all"]["value"] == covered[f"coverage_{rule}_{budget}"]
    for theirs, ours in PUBLISHED.items():
        if theirs in expected and ("r", ours, "all") in found:
            # Some of these rows add up to 1 only to 2e-12, are divided by their sum here, and were not there.
            assert found["r", ours, "all"]["value"] == pytest.approx(expected[theirs], rel=0, abs=1e-12)
    bins = of_all(evaluated([run(rows)], ["choice_bins"], policy)["choice_bins"])
    assert [row["n"] for row in bins] == expected["bins"]


def test_ordinal_losses_of_real_answers(real_data: RealData) -> None:
    goldens = json.loads((real_data("kev") / "computed_goldens.json").read_text())["score_hand"]
    rows = [
        {"id": str(i), "type": "score", "keys": list("abcde"[: len(g["p"])]), "label": g["label"], "p": g["p"]}
        for i, g in enumerate(goldens)
    ]
    outcomes = evaluated([run(rows)], ["choice_outcomes"])["choice_outcomes"].sort_by("item_index").to_pylist()
    for ours, theirs in zip(outcomes, goldens, strict=True):
        assert ours["score_error"] == pytest.approx(theirs["mae"], rel=0, abs=1e-15)
        assert ours["rps"] == pytest.approx(theirs["rps_div_Km1"], rel=0, abs=1e-15)


def test_recorded_logits_are_the_temperature_of_these_probabilities(real_data: RealData) -> None:
    """softmax(logits) = p, as recorded; twice the temperature takes the square root of it."""
    rows = lines(real_data("kev") / "hv1_P08_4rows.jsonl")
    answers = evaluated([run(rows)], ["choice_answers"], settings={"temperature": "2"})["choice_answers"]
    for row, answer in zip(rows, answers.sort_by("item_index").to_pylist(), strict=True):
        roots = [p**0.5 for p in row["p"]]
        assert answer["p"] == pytest.approx([root / sum(roots) for root in roots], rel=1e-14)


def test_a_second_model_on_the_same_rows(real_data: RealData) -> None:
    """The rows of another model meet these by id once they carry the suite's prefix."""
    kev = {row["id"]: row for row in json.loads((real_data("kev") / "autojev_semif_rows.json").read_text())}
    theirs = lines(real_data("semif") / "authored144_27b_exl3_17rows.jsonl")
    prefixed = [
        {**row, "id": f"semif_authored/{row['id']}", "group": f"semif_authored/{row['group']}"} for row in theirs
    ]
    same = [kev[row["id"]] for row in prefixed]
    assert [(row["group"], row["keys"], row["label"]) for row in prefixed] == [
        (row["group"], row["keys"], row["label"]) for row in same
    ]
    found = values([run(prefixed, "semif"), run(same, "kev")], metrics=("choice_accuracy", "nll"))
    assert found["semif", "accuracy", "all"]["n_items"] == found["kev", "accuracy", "all"]["n_items"] == 17
    items = evaluated([run(prefixed, "semif"), run(same, "kev")], ["choice_items"])["choice_items"]
    names = {
        name: items.filter(pc.equal(items["run_id"], name)).sort_by("item_id")["item_id"].to_pylist()
        for name in ("semif", "kev")
    }
    assert names["semif"] == names["kev"]
