"""`kev score` from end to end: OUT.json, the store, the same again, and what differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evalframe
from evalframe.errors import StoreConflict, UnknownName, UsageError
from evalframe.verbs.explain import explain
from evalframe.verbs.kev import ChoiceScores, score

ROWS: list[dict[str, Any]] = [
    {"id": "a", "group": "g", "task": "t", "source": "s", "type": "choice", "keys": ["x", "y"], "label": 0,
     "p": [0.75, 0.25], "pair_id": "p", "sibling": "a"},
    {"id": "b", "group": "g", "task": "t", "source": "s", "type": "choice", "keys": ["y", "x"], "label": 0,
     "p": [0.95, 0.05], "pair_id": "p", "sibling": "b"},
    {"id": "a/rev", "group": "g", "task": "t", "source": "s", "type": "choice", "keys": ["y", "x"], "label": 1,
     "p": [0.5, 0.5], "variant": "reversed", "parent": "a"},
    {"id": "c", "task": "u", "source": "unknowable", "type": "noul", "keys": ["no", "yes"], "label": 0,
     "p": [0.25, 0.75], "control_id": "d"},
    {"id": "d", "task": "u", "source": "s", "type": "score", "keys": ["1", "2", "3"], "label": 2,
     "p": [0.0, 0.25, 0.75]},
    {"id": "e", "task": "u", "source": "s", "type": "choice", "keys": ["x", "y"], "label": 1, "p": None,
     "error": "timeout"},
]  # fmt: skip


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "base.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ChoiceScores:
    """The rows under the default protocol, with no store."""
    path = tmp_path_factory.mktemp("scored") / "base.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return score(rows=path)


def test_out_json(rows: Path, tmp_path: Path) -> None:
    scored = score(rows=rows, output=tmp_path / "OUT.json")
    told = json.loads((tmp_path / "OUT.json").read_text())
    assert told == json.loads(scored.to_json())
    assert told["command"] == "kev score"
    assert told["protocol"]["name"] == "kev-choice"
    assert told["run_id"] == "base"
    populations = told["populations"]
    assert sorted(populations) == sorted(
        ["all", "clean", "headline", "unknowable", "by_task", "by_type", "by_source", "by_variant"]
    )
    assert sorted(populations["by_task"]) == ["t", "u"]
    assert sorted(populations["by_variant"]) == ["clean", "reversed"]
    clean = populations["clean"]
    assert (clean["n"], clean["n_labelled"], clean["n_failed"]) == (5, 4, 1)
    assert clean["accuracy"] == {
        "value": 0.75, "numerator": 3.0, "denominator": 4.0, "n_items": 5, "n_excluded": 1, "n_failed": 1,
    }  # fmt: skip
    assert [(row["bin"], row["n"], row["correct"]) for row in clean["bins"] if row["n"]] == [(7, 2, 2), (9, 1, 1)]
    assert len(clean["bins"]) == 10
    assert clean["top_bins"]["0.9"] == {"n": 1, "errors": 0, "error_rate": 0.0}
    assert clean["top_bins"]["0.99"] == {"n": 0, "errors": 0, "error_rate": None}
    assert clean["selective"]["0.5"] == {"coverage": 0.75, "accuracy": 1.0, "confidence_cutoff": 0.75}
    assert populations["unknowable"]["accuracy"]["reason"] == "no_items"
    assert "rps" in populations["by_type"]["score"]
    assert "rps" not in populations["by_type"]["choice"]
    assert told["pairs"] == {
        "pairs": 1, "flip_rate": 1.0, "both_correct_rate": 1.0, "invariant_pairs": 0, "invariance_rate": None,
        "invariant_both_correct_rate": None, "incomplete_pairs": 0,
    }  # fmt: skip
    assert told["controls"] == {
        "control_pairs": 1, "incomplete_control_pairs": 0, "control_both_correct_rate": None, "control_flip_rate": 1.0,
    }  # fmt: skip
    assert told["reasons"] == {
        "pairs": {"invariance_rate": "no_pairs", "invariant_both_correct_rate": "no_pairs"},
        "controls": {"control_both_correct_rate": "no_pairs"},
        "perturbations": {},
    }
    assert told["perturbations"]["n"] == 1
    assert told["perturbations"]["perturbation_change"] == 0.25
    assert told["perturbations"]["by_variant"]["reversed"]["perturbation_flip_rate"] == 1.0
    assert told["objective"] < 0


def test_every_population_has_every_metric_of_its_rows(scored: ChoiceScores) -> None:
    populations = json.loads(scored.to_json())["populations"]
    whole = {name for name in populations["all"] if name not in ("score_mae", "rps")}
    groups = [one for field in ("task", "type", "source", "variant") for one in populations[f"by_{field}"].values()]
    for population in [populations[name] for name in ("clean", "headline", "unknowable")] + groups:
        assert whole <= set(population)


def test_a_store_holds_rows_that_sql_finds(rows: Path, tmp_path: Path) -> None:
    score(rows=rows, store=tmp_path / "store", run_id="base", tags={"model": "m"})
    store = evalframe.open(tmp_path / "store")
    found = store.sql(
        "SELECT metric, value FROM metric_values WHERE stratum = 'headline' AND metric IN ('accuracy', 'nll', 'ece')"
    ).to_pylist()
    assert {row["metric"] for row in found} == {"accuracy", "nll", "ece"}
    outcomes = store.sql("SELECT item_id, confidence, correct FROM choice_outcomes ORDER BY item_index").to_pylist()
    assert [row["item_id"] for row in outcomes] == [row["id"] for row in ROWS]
    assert outcomes[-1] == {"item_id": "e", "confidence": None, "correct": False}
    again = store.sql("SELECT value FROM choice_accuracy WHERE stratum = 'all'").to_pylist()
    assert again == [{"value": 0.6}]


def test_the_same_again_is_a_no_op_and_another_policy_is_another_result(rows: Path, tmp_path: Path) -> None:
    def outcome(**more: Any) -> str:
        return score(rows=rows, store=tmp_path / "store", run_id="base", **more).outcome

    assert [outcome(), outcome(), outcome(policy="kev-choice/1"), outcome(settings={"n_bins": "15"})] == [
        "written",
        "unchanged",
        "written",
        "written",
    ]


def test_other_rows_under_the_same_id_are_refused(rows: Path, tmp_path: Path) -> None:
    score(rows=rows, store=tmp_path / "store", run_id="base")
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:3]))
    with pytest.raises(StoreConflict):
        score(rows=rows, store=tmp_path / "store", run_id="base")


def test_parameters_are_part_of_the_identity_of_the_numbers_they_define(rows: Path, scored: ChoiceScores) -> None:
    binned = score(rows=rows, settings={"n_bins": "15"})
    changed = {
        metric
        for metric, fingerprint in scored.identity.metric_fingerprints.items()
        if binned.identity.metric_fingerprints[metric] != fingerprint
    }
    assert "ece" in changed
    assert not changed & {"score_mae", "rps", "pairs", "flip_rate"}


def test_fingerprints_stand_under_the_names_that_their_values_have(scored: ChoiceScores) -> None:
    by_value = {row["metric"]: row["metric_fingerprint"] for row in scored.to_pylist()}
    assert scored.body()["metric_fingerprints"] == by_value
    assert "accuracy" in by_value
    explained = explain("kev-choice/2").body
    assert {one["name"]: one["fingerprint"] for one in explained["metrics"]} == by_value
    assert {"name": "accuracy", "relation": "choice_accuracy"}.items() <= explained["metrics"][0].items()
    assert explained["primary"][0] == "accuracy"


def test_explain_takes_the_relation_that_gives_a_run_its_values_of_a_name(rows: Path, tmp_path: Path) -> None:
    score(rows=rows, store=tmp_path / "store", run_id="base")
    store = evalframe.open(tmp_path / "store")
    stored = store.sql("SELECT stratum, value FROM metric_values WHERE metric = 'accuracy'").to_pylist()
    last = store.explain("accuracy", run="base", steps=True).body["steps"][-1]
    assert last["relation"] == "choice_accuracy"
    assert {row["stratum"]: row["value"] for row in last["rows"]} == {r["stratum"]: r["value"] for r in stored[:10]}
    assert "choice_accuracy" in explain("accuracy").body["same_name"]


@pytest.mark.parametrize(("text", "n_rows"), [("0.75", 1), ("0.750", 1), ("0.7", 0), ("three quarters", 0)])
def test_where_follows_numbers_however_they_are_written(rows: Path, tmp_path: Path, text: str, n_rows: int) -> None:
    score(rows=rows, store=tmp_path / "store", run_id="base")
    told = explain("ece", steps=True, store=tmp_path / "store", run="base", where={"confidence": text})
    (outcomes,) = (step for step in told.body["steps"] if step["relation"] == "choice_outcomes")
    assert outcomes["n_rows"] >= n_rows
    assert bool(outcomes["n_rows"]) is bool(n_rows)


def test_the_policies_share_no_fingerprint(rows: Path, scored: ChoiceScores) -> None:
    first = score(rows=rows, policy="kev-choice/1")
    assert not set(first.identity.metric_fingerprints.values()) & set(scored.identity.metric_fingerprints.values())
    assert "aurc" not in first.identity.metric_fingerprints


@pytest.mark.parametrize("policy", ["wisp-har/1", "wisp-har", "kev-answers/1", "kev-choice/9", "unknown"])
def test_a_policy_that_does_not_fit_is_refused_with_those_that_do(rows: Path, policy: str) -> None:
    with pytest.raises(UsageError) as refused:
        score(rows=rows, policy=policy)
    assert refused.value.where == "--policy"
    assert refused.value.expected == "kev-choice/1 or kev-choice/2"
    assert refused.value.hint == "--policy kev-choice/2"


@pytest.mark.parametrize("name", ["ties", "unknown"])
def test_what_is_no_choice_cannot_be_set(rows: Path, name: str) -> None:
    with pytest.raises((UnknownName, UsageError)):
        score(rows=rows, settings={name: "prefix"})


def test_exactly_one_file_is_scored(rows: Path) -> None:
    for given in ({}, {"rows": rows, "outcomes": rows}):
        with pytest.raises(UsageError, match="one file of answers"):
            score(**given)  # type: ignore[arg-type]
