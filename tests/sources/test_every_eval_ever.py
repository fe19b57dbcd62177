"""Records of Every Eval Ever: each field goes where it belongs, what is not there stays unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalframe.contracts import contract, validate
from evalframe.errors import ContractError, RecordRefused
from evalframe.sources.every_eval_ever import read_record
from evalframe.sources.recorded import Published, Result
from tests.sources.foreign import record, record_result, written


def read(folder: Path, document: dict[str, Any]) -> Published:
    return read_record(written(folder / "record.json", document))


def test_every_field_of_a_result_goes_where_it_belongs(tmp_path: Path) -> None:
    (result,) = read(tmp_path, record()).results
    assert result == Result(
        metric="exact_match",
        stratum="evaluation=bench.part",
        value=62.5,
        details=result.details,
        evaluation="bench.part",
        unit="percent",
        better="lower",
        standard_error=1.5,
        interval_low=60.25,
        interval_high=64.75,
        confidence_level=0.9,
        n_samples=1024,
    )
    assert json.loads(result.details) == record_result()


def test_every_field_of_a_record_goes_where_it_belongs(tmp_path: Path) -> None:
    published = read(tmp_path, record())
    assert (published.source, published.format) == ("record.json", "every-eval-ever")
    assert (published.run_id, published.system, published.claimed_protocol) == (
        "bench/org/model/1700000001",
        None,
        None,
    )
    assert published.tags == {
        "model": "org/model",
        "developer": "The Developer",
        "organization": "The Org",
        "evaluator_relationship": "third_party",
        "evaluation_id": "bench/org/model/1700000001",
    }
    assert published.head == {name: value for name, value in record().items() if name != "evaluation_results"}


def test_what_is_not_said_is_null_in_every_table(tmp_path: Path) -> None:
    bare = {
        "evaluation_name": "bench",
        "source_data": {"dataset_name": "d", "source_type": "other"},
        "metric_config": {"lower_is_better": False},
        "score_details": {"score": 3},
    }
    published = read(tmp_path, record(bare))
    value, kept = published.metric_values("r").to_pylist()[0], published.recorded_results("r").to_pylist()[0]
    assert {name for name, cell in value.items() if cell is not None} == {
        "run_id", "metric", "stratum", "value", "status", "tainted", "unit", "better", "origin", "source_digest",
    }  # fmt: skip
    assert (value["metric"], value["unit"], value["better"], value["origin"], value["value"]) == (
        "score", "unknown", "higher", "sidecar", 3.0,
    )  # fmt: skip
    assert {name for name, cell in kept.items() if cell is None} == {
        "standard_error", "interval_low", "interval_high", "confidence_level", "n_samples",
    }  # fmt: skip
    validate(contract("metric_values"), published.metric_values("r")).raise_for_failures()
    validate(contract("recorded_results"), published.recorded_results("r")).raise_for_failures()


def test_a_level_that_is_declared_unknown_is_no_value(tmp_path: Path) -> None:
    levels = {"lower_is_better": False, "score_type": "levels", "level_names": ["low", "high"]}
    unknown = record_result(metric_config={**levels, "has_unknown_level": True}, score_details={"score": -1})
    known = record_result(metric_config={**levels, "has_unknown_level": False}, score_details={"score": -1})
    assert read(tmp_path, record(unknown)).results[0].value is None
    assert read(tmp_path, record(known)).results[0].value == -1
    assert read(tmp_path, record(unknown)).metric_values("r").to_pylist()[0]["status"] == "undefined"


def test_parameters_tell_metrics_apart(tmp_path: Path) -> None:
    config = record_result()["metric_config"]
    at = [record_result(metric_config={**config, "metric_parameters": {"k": k, "a": None}}) for k in (1, 10)]
    assert [r.metric for r in read(tmp_path, record(*at)).results] == [
        "exact_match(a=null, k=1)",
        "exact_match(a=null, k=10)",
    ]


def test_results_of_one_name_are_told_apart_by_their_ids_or_refused(tmp_path: Path) -> None:
    a, b = record_result(evaluation_result_id="a"), record_result(evaluation_result_id="b")
    assert [r.stratum for r in read(tmp_path, record(a, b)).results] == ["result=a", "result=b"]
    with pytest.raises(RecordRefused, match="one name"):
        read(tmp_path, record(a, a))


def test_older_records_are_read(tmp_path: Path) -> None:
    older = record_result()
    del older["evaluation_result_id"], older["metric_config"]["metric_id"]
    older["score_details"] = {"score": 0.5, "confidence_interval": {"lower": 0.25, "upper": 0.75}}
    whole = record(older, schema_version="0.2.0")
    del whole["eval_library"]
    (result,) = read(tmp_path, whole).results
    assert (result.metric, result.interval_low, result.interval_high) == ("Exact match", 0.25, 0.75)
    assert (result.confidence_level, result.standard_error, result.n_samples) == (None, None, None)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"schema_version": "0.1.0"}, "schema"),
        ({"schema_version": None}, "schema_version"),
        ({"schema_version": 3}, "schema_version"),
        ({"evaluation_id": ""}, "evaluation_id"),
        ({"evaluation_id": "\ud800"}, "evaluation_id"),
        ({"eval_library": {"name": "x"}}, "eval_library.version"),
        ({"model_info": {"name": "x"}}, "model_info.id"),
        ({"source_metadata": {}}, "source_metadata.source_organization_name"),
        ({"evaluation_results": "none"}, "evaluation_results"),
        ({"evaluation_results": [7]}, r"evaluation_results\[0\]"),
    ],
    ids=str,
)
def test_a_record_that_is_none_is_refused_by_place(tmp_path: Path, more: dict[str, Any], told: str) -> None:
    with pytest.raises(RecordRefused, match=told) as caught:
        read(tmp_path, record(**more))
    assert len(str(caught.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("score", {"score_details": {"score": None}}),
        ("score", {"score_details": {"score": "62"}}),
        ("score", {"score_details": {"score": True}}),
        ("score", {"score_details": {"score": float("nan")}}),
        ("score", {"score_details": {"score": float("inf")}}),
        ("score", {"score_details": {"score": 10**400}}),
        ("lower_is_better", {"metric_config": {}}),
        ("lower_is_better", {"metric_config": {"lower_is_better": "no"}}),
        ("evaluation_name", {"evaluation_name": None}),
        ("num_samples", {"score_details": {"score": 1, "uncertainty": {"num_samples": -1}}}),
        ("standard_error", {"score_details": {"score": 1, "uncertainty": {"standard_error": 0.5}}}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_result_that_is_none_is_refused_by_place(tmp_path: Path, place: str, more: dict[str, Any]) -> None:
    with pytest.raises(RecordRefused) as caught:
        read(tmp_path, record(record_result(evaluation_result_id="first"), record_result(**more)))
    assert "evaluation_results[1]" in caught.value.what
    assert place in caught.value.what


def test_a_value_that_no_table_may_hold_is_refused(tmp_path: Path) -> None:
    (result,) = read(tmp_path, record()).results
    strange = replace(result, standard_error=-1.0)
    table = Published("f", "0" * 64, "every-eval-ever", [strange]).recorded_results("r")
    with pytest.raises(ContractError):
        validate(contract("recorded_results"), table).raise_for_failures()
