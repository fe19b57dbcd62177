"""The commands that ask a store and look after it."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ExitCode
from evalframe.protocols import protocol
from evalframe.verbs.rescore import stored_run
from evalframe.verbs.score import score

Output = pytest.CaptureFixture[str]


def test_runs_lists_ids_tags_and_protocols(store: Path, capsys: Output) -> None:
    assert run(["runs", "--store", str(store), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert [(r["run_id"], r["system"], r["protocols"], r["tags"]) for r in listed] == [
        ("a", "wisp", ["wisp-har/1"], {"fold": "0", "method": "a"}),
        ("b", "wisp", ["wisp-har/1"], {"fold": "0", "method": "b"}),
    ]


@pytest.mark.parametrize(
    "relation", ["accuracy", "class_report", "class_confusion_by_cluster", "metric_values", "runs"]
)
def test_every_table_and_relation_is_a_view(relation: str, store: Path, capsys: Output) -> None:
    assert run(["sql", f"SELECT count(*) AS n FROM {relation}", "--store", str(store), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["n"] > 0


def test_a_metric_computed_live_equals_the_stored_one(store: Path, capsys: Output) -> None:
    query = (
        "SELECT m.run_id, m.value AS stored, l.value AS live FROM metric_values AS m"
        " JOIN macro_f1 AS l ON l.run_id = m.run_id WHERE m.metric = 'macro_f1'"
    )
    assert run(["sql", query, "--store", str(store), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2
    assert all(row["stored"] == row["live"] for row in rows)


def test_sql_formats_are_data(store: Path, tmp_path: Path, capsys: Output) -> None:
    query = "SELECT run_id, value FROM metric_values WHERE metric = 'accuracy' ORDER BY run_id"
    assert run(["sql", query, "--store", str(store), "--format", "csv"]) == 0
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["run_id", "value"], ["a", "0.9166666666666666"], ["b", "0.8"],
    ]  # fmt: skip
    target = tmp_path / "answer.parquet"
    assert run(["sql", query, "--store", str(store), "--format", "parquet", "--output", str(target)]) == 0
    assert pq.read_table(target)["run_id"].to_pylist() == ["a", "b"]
    assert run(["sql", query, "--store", str(store), "--format", "parquet"]) == ExitCode.USAGE


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{out}'",
        "ATTACH '{out}' AS other",
        "INSTALL httpfs",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SET enable_external_access = true",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW metric_values",
        "SELECT 1; SELECT 2",
        "PRAGMA database_list",
        "",
    ],
)
def test_sql_only_reads_the_store(query: str, store: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "leak.duckdb"
    assert run(["sql", query.format(out=out), "--store", str(store)]) == ExitCode.USAGE
    assert len(capsys.readouterr().err.strip().splitlines()) == 4
    assert not out.exists()


def test_an_unknown_table_is_answered_with_the_nearest(store: Path, capsys: Output) -> None:
    assert run(["sql", "SELECT * FROM metric_value", "--store", str(store)]) == ExitCode.USAGE
    assert "metric_values" in capsys.readouterr().err


def test_verify_names_a_flipped_byte_and_ends_with_5(store: Path, capsys: Output) -> None:
    assert run(["store", "verify", str(store)]) == ExitCode.OK
    victim = next((store / "class_predictions").rglob("*.parquet"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.chmod(0o644)
    victim.write_bytes(bytes(data))
    capsys.readouterr()
    assert run(["store", "verify", str(store), "--json"]) == ExitCode.MISMATCH
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"]
    assert any(victim.name in json.dumps(f) and "class_predictions" in json.dumps(f) for f in found["findings"])


def test_gc_touches_no_sealed_file(store: Path, capsys: Output) -> None:
    before = sorted(p for p in store.rglob("*.parquet"))
    assert run(["store", "gc", str(store)]) == 0
    assert sorted(p for p in store.rglob("*.parquet")) == before


def test_a_withdrawn_run_is_gone_from_every_view_and_its_id_stays_taken(store: Path, capsys: Output) -> None:
    assert run(["store", "withdraw", str(store), "a", "--reason", "labels shifted"]) == 0
    capsys.readouterr()
    assert run(["sql", "SELECT DISTINCT run_id FROM metric_values", "--store", str(store), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"run_id": "b"}]
    assert run(["explain", "accuracy", "--steps", "--store", str(store), "--run", "a"]) == ExitCode.USAGE


def test_a_run_is_withdrawn_for_a_reason_only(store: Path, capsys: Output) -> None:
    assert run(["store", "withdraw", str(store), "a", "--reason", " "]) == ExitCode.USAGE
    assert "without a reason" in capsys.readouterr().err
    assert evalframe.open(store).folder.run_ids() == ["a", "b"]


def test_tags_that_no_run_has_are_refused_with_those_there_are(store: Path, capsys: Output) -> None:
    assert run(["leaderboard", "--store", str(store), "--where", "method=c"]) == ExitCode.USAGE
    assert "fold=0, method=a, method=b" in capsys.readouterr().err


def test_a_protocol_that_no_run_was_scored_under_is_answered_with_one_that_is(store: Path, capsys: Output) -> None:
    told = ["compare", "--store", str(store), "--baseline", "a", "--candidate", "b", "--protocol", "kev-choice"]
    assert run(told) == ExitCode.NOT_COMPARABLE
    assert "--protocol wisp-har/1" in capsys.readouterr().err


def test_a_slip_in_the_name_of_a_table_is_answered_with_the_nearest(tmp_path: Path, capsys: Output) -> None:
    assert run(["validate", "class_prediction", str(tmp_path / "p.csv")]) == ExitCode.USAGE
    assert "evalframe explain class_predictions" in capsys.readouterr().err


def test_rescore_under_the_same_definitions_changes_nothing(store: Path, capsys: Output) -> None:
    assert run(["rescore", "--store", str(store), "--json"]) == 0
    assert [r["outcome"] for r in json.loads(capsys.readouterr().out)["rescored"]] == ["unchanged", "unchanged"]
    assert run(["rescore", "--store", str(store), "--run", "c"]) == ExitCode.USAGE


def test_rescore_takes_every_setting_that_a_run_was_scored_under(store: Path, capsys: Output) -> None:
    """One of them alone would leave runs that were comparable under another without a fingerprint that both have."""
    folder = evalframe.open(store).folder
    for failed in ("excluded", "wrong"):
        score(stored_run(folder, "a"), protocol("wisp-har"), {"failed": failed}, store=folder)
    sealed = [seal.protocol_fingerprint for seal in folder.results("a")]
    assert run(["rescore", "--store", str(store), "--run", "a", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["rescored"]
    assert [row["protocol_fingerprint"] for row in done] == sealed
    assert len(sealed) == 2


def test_explain_steps_ends_with_the_stored_value(store: Path, capsys: Output) -> None:
    arguments = ["explain", "accuracy", "--steps", "--store", str(store), "--run", "b", "--json"]
    assert run(arguments) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [s["layer"] for s in steps] == ["fact", "state", "state", "state", "metric"]
    assert steps[-1]["rows"][0]["value"] == 0.8
    assert run(arguments[:3]) == ExitCode.USAGE


def test_explain_says_that_no_step_leads_to_a_table(store: Path, capsys: Output) -> None:
    arguments = ["explain", "class_labels", "--steps", "--store", str(store), "--run", "b", "--json"]
    assert run(arguments) == ExitCode.USAGE
    hint = json.loads(capsys.readouterr().out)["error"]["hint"]
    assert run(shlex.split(hint)[1:]) == ExitCode.OK
    assert "sample_id" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["macro_f1", "class_outcomes", "wisp-har", "wisp-har/1", "metric_values"])
def test_explain_knows_metrics_relations_protocols_and_tables(name: str, capsys: Output) -> None:
    assert run(["explain", name]) == 0
    assert capsys.readouterr().out.startswith(name.split("/")[0])


def test_explain_says_a_parameter_under_every_protocol_that_sets_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "top_k_final"]) == 0
    text = capsys.readouterr().out
    assert "  top_k = 50 (robometer-filtering-top50/1), 30 (robometer-ind/1), 30 (robometer-ood/1)  (in " in text
    assert "  failed = wrong  (in " in text
    assert run(["explain", "top_k_final", "--json"]) == 0
    told = {one["name"]: one["values"] for one in json.loads(capsys.readouterr().out)["parameters"]}
    assert told["top_k"]["robometer-ind/1"] == "30"
    assert run(["explain", "filter_ranks"]) == 0
    assert "  top_k  (in filter_ranks)" in capsys.readouterr().out  # a fact has no protocol to take a value from


def test_explain_shows_no_fewer_rows_than_none(store: Path) -> None:
    words = ["explain", "accuracy", "--steps", "--store", str(store), "--run", "a"]
    assert run([*words, "--limit", "-1"]) == ExitCode.USAGE


def test_explain_answers_a_slip_with_the_nearest_name(capsys: Output) -> None:
    assert run(["explain", "marco_f1"]) == ExitCode.USAGE
    assert "evalframe explain macro_f1" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "parquet", "ndjson", "arrow"])
def test_the_example_of_a_table_is_accepted_by_validate(suffix: str, tmp_path: Path, capsys: Output) -> None:
    target = tmp_path / f"example.{suffix}"
    assert run(["explain", "class_labels", "--example", str(target)]) == 0
    assert run(["validate", "class_labels", str(target)]) == 0
    assert "3 rows" in capsys.readouterr().out


def test_validate_counts_every_broken_rule_and_ends_with_4(tmp_path: Path, capsys: Output) -> None:
    target = tmp_path / "p.csv"
    target.write_text("run_id,item_index,class_index\nr,0,1\nr,0,2\nr,-1,x\n,2,1\n")
    assert run(["validate", "class_predictions", str(target), "--json"]) == ExitCode.CONTRACT
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"]
    counts = {(f["rule"], f["column"]): f["count"] for f in found["failures"]}
    assert counts[("duplicate_key", "run_id, item_index")] == 2
    assert counts[("out_of_range", "item_index")] == 1
    assert counts[("null", "run_id")] == 1
    assert counts[("wrong_type", "class_index")] == 1
    (lacking,) = (f["first_rows"] for f in found["failures"] if f["rule"] == "null")
    assert lacking == [{"row_number": 3, "run_id": None, "item_index": 2, "class_index": "1"}]
    assert run(["validate", "class_predictions", str(target), "--format", "csv"]) == ExitCode.CONTRACT
    rows = {row["rule"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert [json.loads(row) for row in json.loads(rows["null"]["first_rows"])] == lacking


def test_a_saved_comparison_is_rows_of_the_store(store: Path, capsys: Output) -> None:
    arguments = ["compare", "--store", str(store), "--baseline", "a", "--candidate", "b", "--save", "--json"]
    assert run(arguments) == 0
    assert run(arguments) == 0
    capsys.readouterr()
    query = "SELECT candidate_run, metric, change, verdict FROM comparisons WHERE metric = 'accuracy'"
    assert run(["sql", query, "--store", str(store), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["candidate_run"], row["verdict"]) == ("b", "comparable")
    assert row["change"] == pytest.approx(0.8 - 55 / 60, abs=1e-15)
    assert run(["store", "withdraw", str(store), "b", "--reason", "wrong labels"]) == 0
    capsys.readouterr()
    assert run(["sql", query, "--store", str(store), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_gate_that_fails_ends_with_1_and_a_comparison_that_is_none_with_3(store: Path, tmp_path: Path) -> None:
    arguments = ["compare", "--store", str(store), "--baseline", "a", "--candidate", "b"]
    assert run([*arguments, "--fail-if-worse", "accuracy"]) == ExitCode.GATE_FAILED
    assert run([*arguments, "--fail-if-worse", "accuracy:20"]) == ExitCode.OK
    assert run([*arguments, "--metric", "nonsense"]) == ExitCode.USAGE
    source = store.parent / "excluded.npz"
    np.savez(source, y_true=[0, 1], y_pred=[0, 1], participant=["x", "y"], classes=["sit", "walk", "run"])
    evalframe.wisp.score(source, store=store, settings={"failed": "excluded"})
    assert run([*arguments[:-1], "excluded"]) == ExitCode.NOT_COMPARABLE


def test_a_result_older_than_a_parameter_is_read_with_its_default(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """What a new version of the package meets: a relation reads a parameter that a sealed result does not have."""
    from dataclasses import replace

    from evalframe import resources
    from evalframe.protocols import Parameter, wisp_har

    folder = store.parent / "mine"
    folder.mkdir()
    known = resources.folder("sql") / "metrics" / "classification" / "accuracy.sql"
    (folder / "strict_accuracy.sql").write_text(
        known.read_text()
        .replace("name: accuracy", "name: strict_accuracy")
        .replace("parameters: []", "parameters: [strictness]")
        .replace(
            "FROM class_scores",
            "FROM class_scores\nWHERE (SELECT value FROM protocol_parameters WHERE name = 'strictness') = 'full'",
        )
    )
    newer = replace(
        wisp_har.WISP_HAR,
        parameters=(*wisp_har.WISP_HAR.parameters, Parameter("strictness", "full", "A choice that came later.")),
    )
    monkeypatch.setattr(wisp_har, "PROTOCOLS", (newer,))
    arguments = ["compare", "--store", str(store), "--baseline", "a", "--candidate", "b", "--relations", str(folder)]
    assert run([*arguments, "--metric", "strict_accuracy", "--json"]) == ExitCode.OK
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["change"] == pytest.approx(0.8 - 55 / 60, abs=1e-15)


@pytest.mark.parametrize("words", [["{store}", "b"], ["--store", "{store}", "--run", "b"], ["{store}", "--run", "b"]])
def test_commands_on_a_store_take_its_place_with_and_without_the_word(
    store: Path, capsys: Output, words: list[str]
) -> None:
    named = [word.format(store=store) for word in words]
    place = named[: named.index("b")]
    for command in (["verify"], ["gc", "--dry-run"]):
        assert run(["store", *command, *(word for word in place if word != "--run")]) == ExitCode.OK
    assert run(["store", "withdraw", *named, "--reason", "wrong labels"]) == ExitCode.OK
    capsys.readouterr()
    assert run(["runs", "--store", str(store), "--json"]) == ExitCode.OK
    assert [one["run_id"] for one in json.loads(capsys.readouterr().out)["runs"]] == ["a"]
