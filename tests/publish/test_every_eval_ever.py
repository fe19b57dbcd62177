"""Every Eval Ever records of a store with all four systems: valid by the real schema, and back without a loss."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jsonschema import Draft7Validator

import evalframe
from evalframe.errors import StoreConflict
from evalframe.identity import canonical_json
from evalframe.publish.every_eval_ever import place_of, records
from evalframe.publish.star import Star
from evalframe.publish.targets import target
from evalframe.store import Store as Folder
from evalframe.verbs.import_files import import_files
from tests.publish.conftest import star_of

SCHEMA = Path(__file__).parent / "every_eval_ever_schema" / "eval-0.3.0.jsonschema"
IDENTITY = ("protocol", "protocol_fingerprint", "metric_fingerprint", "data_digest")
CHANGED = ("metric_key", "is_authority", "origin", "claimed_protocol", "source_digest", *IDENTITY)
"""Columns that say where a value comes from: another answer after an import, by design."""


@pytest.fixture(scope="module")
def folder(whole: Star, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported records."""
    path = tmp_path_factory.mktemp("records") / "eee"
    assert target(f"eee:{path}").write(whole, force=False) == "written"
    return path


@pytest.fixture(scope="module")
def brought(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A store that knows the exported records alone."""
    path = tmp_path_factory.mktemp("brought") / "store"
    import_files(sorted(folder.glob("data/**/*.json")), store=path)
    return Folder.open(path)


def exported(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("data/**/*.json"))]


def rows(table: pa.Table, columns: Callable[[str], bool]) -> list[str]:
    """Every row as text, sorted; two rows that are alike stay two."""
    kept = [name for name in table.column_names if columns(name)]
    return sorted(canonical_json(row) for row in table.select(kept).to_pylist())


def test_every_record_is_valid_by_the_real_schema(folder: Path) -> None:
    validator = Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    found = exported(folder)
    assert len(found) > 8
    assert {record["schema_version"] for record in found} == {validator.schema["version"]}
    faults = [f"{e.json_path}: {e.message[:200]}" for record in found for e in validator.iter_errors(record)]
    assert faults == []


def test_the_schema_would_find_a_fault(folder: Path) -> None:
    validator = Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    record = exported(folder)[0]
    assert not validator.is_valid({**record, "score": 1})
    assert not validator.is_valid({**record, "retrieved_timestamp": 17})


def test_each_run_and_set_of_results_is_one_record(folder: Path, whole: Star) -> None:
    found = exported(folder)
    sets = {
        tuple(row[name] for name in ("run_id", "protocol_fingerprint", "source_digest"))
        for row in whole.table("fact_metric").to_pylist()
    }
    assert len(found) == len(sets)
    assert len({record["evaluation_id"] for record in found}) == len(found)


def test_what_has_no_value_is_never_a_score(folder: Path, whole: Star) -> None:
    values = whole.table("fact_metric").to_pylist()
    undefined = [row for row in values if row["status"] != "ok"]
    assert undefined
    found = exported(folder)
    assert sum(len(record["evaluation_results"]) for record in found) == len(values) - len(undefined)
    kept = [
        row
        for record in found
        for row in json.loads(record["eval_library"]["additional_details"].get("evalframe.results_without_value", "[]"))
    ]
    assert sorted((row["metric"], row["reason"]) for row in kept) == sorted(
        (row["metric"], row["reason"]) for row in undefined
    )


def test_a_result_carries_what_defines_it(folder: Path, whole: Star) -> None:
    fact = next(
        row
        for row in whole.table("fact_metric").to_pylist()
        if (row["run_id"], row["metric"], row["stratum"]) == ("cnn", "accuracy", "all") and row["protocol"]
    )
    (record,) = [
        one
        for one in exported(folder)
        if one["eval_library"]["additional_details"].get("evalframe.protocol_fingerprint")
        == fact["protocol_fingerprint"]
        and one["eval_library"]["additional_details"]["evalframe.run_id"] == "cnn"
    ]
    (result,) = [
        one
        for one in record["evaluation_results"]
        if one["metric_config"]["metric_id"] == "accuracy"
        and one["score_details"]["details"]["evalframe.stratum"] == "all"
    ]
    details = result["score_details"]["details"]
    assert result["score_details"]["score"] == fact["value"]
    assert result["metric_config"]["metric_unit"] == "proportion"
    assert result["metric_config"]["lower_is_better"] is False
    assert details["evalframe.metric_fingerprint"] == fact["metric_fingerprint"]
    assert result["source_data"]["additional_details"]["evalframe.data_digest"] == fact["data_digest"]
    assert json.loads(details["evalframe.numerator"]) / json.loads(details["evalframe.denominator"]) == fact["value"]
    assert json.loads(details["evalframe.n_items"]) == fact["n_items"]
    assert json.loads(details["evalframe.n_failed"]) == fact["n_failed"]
    assert details["evalframe.tainted"] == "false"


def test_a_round_trip_loses_nothing_but_the_claim_to_have_computed(brought: Folder, whole: Star) -> None:
    back = star_of(brought).table("fact_metric")
    ours = whole.table("fact_metric")
    assert rows(back, lambda name: name not in CHANGED) == rows(ours, lambda name: name not in CHANGED)
    assert any(ours["tainted"].to_pylist())
    assert ours["recall"].null_count < len(ours)
    assert ours["horizon_s"].null_count < len(ours)


def test_a_step_comes_back_as_a_whole_number(whole: Star, tmp_path: Path) -> None:
    facts = whole.table("fact_metric").slice(0, 5)
    stepped = facts.set_column(facts.column_names.index("step"), "step", pa.array([3, 30, 300, 3000, 2**40]))
    target(f"eee:{tmp_path / 'eee'}").write(
        replace(whole, tables={**whole.tables, "fact_metric": stepped}), force=False
    )
    import_files(sorted((tmp_path / "eee").glob("data/**/*.json")), store=tmp_path / "store")
    assert sorted(Folder.open(tmp_path / "store").read("metric_values")["step"].to_pylist()) == [
        3,
        30,
        300,
        3000,
        2**40,
    ]


def test_what_comes_back_is_recorded_and_compared_with_nothing(brought: Folder, whole: Star) -> None:
    back = brought.read("metric_values").to_pylist()
    assert {row["origin"] for row in back} == {"sidecar"}
    assert {row[name] for row in back for name in IDENTITY} == {None}
    claims = {(row["run_id"], row["claimed_protocol"]) for row in back}
    for row in whole.table("fact_metric").to_pylist():
        said = [row["protocol"], row["protocol_fingerprint"], row["claimed_protocol"]]
        assert (row["run_id"], " ".join(text for text in said if text is not None) or None) in claims
    assert not any(star_of(brought).table("fact_metric")["is_authority"].to_pylist())


def test_runs_come_back_with_their_system_and_tags(brought: Folder, whole: Star) -> None:
    kept = ("run_id", "system", "tags")
    with_values = set(whole.table("fact_metric")["run_id"].to_pylist())
    ours = [r for r in whole.table("dim_run").select(list(kept)).to_pylist() if r["run_id"] in with_values]
    back = star_of(brought).table("dim_run").select(list(kept)).to_pylist()
    known = {row["run_id"] for row in ours}
    assert sorted(canonical_json(row) for row in back if row["run_id"] in known) == sorted(map(canonical_json, ours))


def test_a_second_round_trip_changes_nothing_more(brought: Folder, tmp_path: Path) -> None:
    once = star_of(brought)
    target(f"eee:{tmp_path / 'eee'}").write(once, force=False)
    import_files(sorted((tmp_path / "eee").glob("data/**/*.json")), store=tmp_path / "store")
    twice = star_of(Folder.open(tmp_path / "store"))
    for name in ("fact_metric", "dim_run"):
        assert rows(twice.table(name), lambda c: c not in ("source_digest", "created_at")) == rows(
            once.table(name), lambda c: c not in ("source_digest", "created_at")
        )


def test_importing_again_is_no_change(folder: Path, brought: Folder) -> None:
    again = import_files(sorted(folder.glob("data/**/*.json")), store=brought)
    assert set(again.table["outcome"].to_pylist()) == {"unchanged"}


def test_exporting_again_is_no_change_and_other_content_is_refused(
    folder: Path, whole: Star, brought: Folder, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert target(f"eee:{folder}").write(whole, force=False) == "unchanged"
    with pytest.raises(StoreConflict, match="another export"):
        target(f"eee:{folder}").write(star_of(brought), force=False)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(StoreConflict):
        target(f"eee:{tmp_path}").write(whole, force=True)


def test_records_are_the_same_bytes_from_every_export(folder: Path, whole: Star) -> None:
    assert {str(place_of(one)) for one in records(whole)} == {
        str(path.relative_to(folder)) for path in folder.glob("data/**/*.json")
    }


def test_nothing_is_said_that_the_store_does_not_know(folder: Path) -> None:
    """The collection's own check asks for bounds where a scale is named, and refuses null there."""
    for record in exported(folder):
        assert record["source_metadata"]["source_organization_name"] == "unknown"
        assert "developer" not in record["model_info"]
        for result in record["evaluation_results"]:
            assert {"score_type", "min_score", "max_score", "metric_kind"}.isdisjoint(result["metric_config"])
            assert "uncertainty" not in result["score_details"]


def test_tags_say_who_made_the_model_and_the_record(whole: Star, tmp_path: Path) -> None:
    tags = {"model": "small", "developer": "Dev", "organization": "Org", "evaluator_relationship": "first_party"}
    runs = whole.table("dim_run")
    said = pa.array([canonical_json(tags)] * len(runs), runs.schema.field("tags").type)
    tagged = runs.set_column(runs.column_names.index("tags"), "tags", said)
    record = next(records(replace(whole, tables={**whole.tables, "dim_run": tagged})))
    assert record["model_info"] == {
        "name": "small",
        "id": "small",
        "developer": "Dev",
        "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
    }
    assert record["source_metadata"]["source_organization_name"] == "Org"
    assert record["source_metadata"]["evaluator_relationship"] == "first_party"
    assert place_of(record).parts[2:4] == ("Dev", "small")


@pytest.mark.parametrize("model", ["..", ".", "../../x", "/etc", "a/b", "", "nul\x00", "é" * 300, "con", "~", "a\nb"])
def test_no_name_leads_out_of_the_folder(whole: Star, model: str) -> None:
    record = next(records(whole))
    record["model_info"] = {**record["model_info"], "id": model, "developer": model}
    place = place_of(record)
    assert not place.is_absolute()
    assert len(place.parts) == 5
    assert {"..", ".", ""}.isdisjoint(place.parts)
    assert all(len(part.encode()) <= 255 for part in place.parts)


def test_the_command_says_where_it_wrote(tmp_path: Path, folder: Path) -> None:
    store = tmp_path / "store"
    import_files([next(iter(sorted(folder.glob("data/**/*.json"))))], store=store)
    done = evalframe.open(store).export(f"eee:{tmp_path / 'out'}", compare=False)
    assert (done.to, done.outcome) == (f"eee:{tmp_path / 'out'}", "written")
    assert len(list((tmp_path / "out" / "data").rglob("*.json"))) == 1
