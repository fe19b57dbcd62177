"""Outcomes that cannot be meant are refused by row; those that can are read without guessing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.errors import ContractError, DuplicateItem, EvalframeError, ExitCode, InputError
from evalframe.sources.choice import read_outcomes
from evalframe.verbs.kev import score

HEAD = "id,confidence,correct"


def csv(path: Path, *lines: str, head: str = HEAD) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


BAD_CSV: dict[str, tuple[str, list[str], type[EvalframeError], str]] = {
    "confidence above 1": (HEAD, ["a,0.5,true", "b,1.5,true"], ContractError, "'1.5' in row 1 (from 0), id 'b'"),
    "confidence below 0": (HEAD, ["a,-0.1,true"], ContractError, "row 0"),
    "NaN": (HEAD, ["a,0.5,true", "b,NaN,true"], ContractError, "row 1"),
    "an infinity": (HEAD, ["a,inf,true"], ContractError, "row 0"),
    "no number": (HEAD, ["a,0.5,true", "b,high,true"], ContractError, "'high' in row 1"),
    "no confidence": (HEAD, ["a,,true"], ContractError, "an error that says why"),
    "confidence and error": (f"{HEAD},error", ["a,0.5,true,timeout"], ContractError, "not both"),
    "unclear truth": (HEAD, ["a,0.5,maybe"], ContractError, "'maybe' in row 0"),
    "truth as float": (HEAD, ["a,0.5,1.0"], ContractError, "'1.0' in row 0"),
    "no id": (HEAD, [",0.5,true"], ContractError, "id is missing"),
    "unknown type": (f"{HEAD},type", ["a,0.5,true,boolean"], ContractError, "'boolean' in row 0"),
    "an id twice": (
        HEAD,
        ["dup,0.5,0", "b,0.5,1", "dup,0.5,1"],
        DuplicateItem,
        "'dup', question 'decision' in rows 0 and 2",
    ),
    "a missing column": ("id,confidence", ["a,0.5"], InputError, "no correct"),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_a_row_is_refused_by_name_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    head, lines, error, told = BAD_CSV[name]
    path = csv(tmp_path / "outcomes.csv", *lines, head=head)
    with pytest.raises(error) as refused:
        score(outcomes=path, output=tmp_path / "OUT.json", store=tmp_path / "store")
    assert refused.value.exit_code is (ExitCode.USAGE if error is InputError else ExitCode.CONTRACT)
    assert told in str(refused.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["outcomes.csv"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("id", [0.5]),
        ("confidence", [True]),
        ("correct", [0.5]),
        ("correct", [2]),
        ("correct", ["perhaps"]),
        ("task", [1.5]),
    ],
)
def test_a_parquet_column_of_the_wrong_kind_is_refused(tmp_path: Path, column: str, values: list[Any]) -> None:
    columns = {"id": ["a"], "confidence": [0.5], "correct": [True]} | {column: values}
    pq.write_table(pa.table(columns), tmp_path / "o.parquet")
    with pytest.raises(ContractError, match=column):
        read_outcomes(tmp_path / "o.parquet", "r")


def test_csv_and_parquet_of_the_same_rows_are_the_same_run(tmp_path: Path) -> None:
    lines = ["001,0.25,true,g,t,s,choice,clean", "1,1,0,,,,,reversed", "é,0.5,,,t,unknowable,,"]
    head = f"{HEAD},group,task,source,type,variant"
    columns = {
        "id": ["001", "1", "é"],
        "confidence": [0.25, 1.0, 0.5],
        "correct": [True, False, None],
        "group": ["g", None, None],
        "task": ["t", None, "t"],
        "source": ["s", None, "unknowable"],
        "type": ["choice", None, None],
        "variant": ["clean", "reversed", None],
    }
    pq.write_table(pa.table(columns), tmp_path / "o.parquet")
    one = read_outcomes(csv(tmp_path / "o.csv", *lines, head=head), "r")
    other = read_outcomes(tmp_path / "o.parquet", "r")
    assert one.tables == other.tables
    assert one.dataset_id == other.dataset_id
    assert one.tables["choice_confidences"]["item_id"].to_pylist() == ["001", "1", "é"]
    assert one.tables["choice_confidences"]["correct"].to_pylist() == [True, False, None]


@pytest.mark.parametrize("correct", [pa.array([1, 0], pa.int8()), pa.array(["TRUE", "False"]), pa.array([True, False])])
def test_truth_is_written_in_several_ways(tmp_path: Path, correct: pa.Array) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "confidence": [0.5, 0.5], "correct": correct}), tmp_path / "o.parquet")
    found = read_outcomes(tmp_path / "o.parquet", "r").tables["choice_confidences"]
    assert found["correct"].to_pylist() == [True, False]


def test_float32_is_widened_once_and_binned_by_its_own_value(tmp_path: Path) -> None:
    """0.3, 0.6, 0.7 and 0.9 as float64 lie in bins 2, 5, 6, 9; as float32 they are a little more, or less."""
    confidences = [0.3, 0.6, 0.7, 0.9]
    bins = {}
    for kind in (np.float64, np.float32):
        path = tmp_path / f"{kind.__name__}.parquet"
        columns = {"id": list("abcd"), "confidence": np.array(confidences, kind), "correct": [True] * 4}
        pq.write_table(pa.table(columns), path)
        scored = score(outcomes=path)
        rows = scored.relations["choice_bins"].to_pylist()
        bins[kind] = [row["bin"] for row in rows if row["stratum"] == "all" and row["n"]]
    assert bins[np.float64] == [2, 5, 6, 9]
    assert [float(np.float32(c)) > c for c in confidences] == [True, True, False, False]
    assert bins[np.float32] == [3, 6, 8]  # 0.6 and 0.7 in one bin now


def test_metrics_that_need_probabilities_are_absent(tmp_path: Path) -> None:
    scored = score(outcomes=csv(tmp_path / "o.csv", "a,0.9,1", "b,0.6,0", head=HEAD))
    metrics = {row["metric"] for row in scored.to_pylist()}
    assert {"accuracy", "ece", "aurc", "coverage_at_error_0.05", "mean_confidence"} <= metrics
    absent = {"nll", "brier", "rps", "score_mae", "objective", "family_balanced_accuracy", "pairs", "flip_rate"}
    assert not absent & metrics
    assert "pairs" not in scored.body()
    assert "nll" not in scored.body()["populations"]["all"]


def test_a_failed_outcome_stays_in(tmp_path: Path) -> None:
    path = csv(tmp_path / "o.csv", "a,0.9,1,", "b,,0,timeout", "c,,,timeout", head=f"{HEAD},error")
    scored = score(outcomes=path)
    assert scored.value("accuracy") == 0.5
    assert scored.value("mean_confidence") == 0.9
    row = next(row for row in scored.to_pylist() if (row["metric"], row["stratum"]) == ("accuracy", "all"))
    assert (row["n_items"], row["n_excluded"], row["n_failed"]) == (3, 1, 1)
    assert score(outcomes=path, settings={"failed": "excluded"}).value("accuracy") == 1.0


def test_a_missing_column_is_answered_without_an_option_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_outcomes(csv(tmp_path / "o.csv", "0.5,true", head="confidence,correct"), "r")
    assert refused.value.hint == "write it with the columns id, confidence, correct"
