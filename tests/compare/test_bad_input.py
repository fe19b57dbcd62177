"""Input that has no answer, or not the one a reader expects, says so."""

from pathlib import Path

import pytest

from evalframe.errors import ExitCode, ResultsMissing, UnknownName, UsageError
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import METRICS, Item, add_run, items
from tests.compare.test_verdicts import by_metric


def test_one_cluster_has_no_interval_of_zero_width(store: Store) -> None:
    rows = [Item(str(i), "p", i % 3, i % 3) for i in range(8)]
    add_run(store, "a", rows)
    add_run(store, "b", [rows[0]._replace(predicted=2), *rows[1:]])
    found = compare(store, "a", ["b"], replicates=50)
    for metric in METRICS:
        row = by_metric(found)[metric]
        assert (row["status"], row["reason"]) == ("undefined", "one_cluster")
        assert (row["ci_low"], row["ci_high"], row["n_clusters"]) == (None, None, 1)
        assert row["change"] is not None
    assert found.exit_code == ExitCode.NOT_COMPARABLE


def test_few_clusters_are_flagged(store: Store) -> None:
    add_run(store, "a", items(200, 19, skill=0.7, seed=1))
    add_run(store, "b", items(200, 19, skill=0.7, seed=2))
    assert "few_clusters" in by_metric(compare(store, "a", ["b"], replicates=50))["accuracy"]["flags"]


def test_runs_that_agree_everywhere_are_tied(store: Store) -> None:
    rows = items(120, 8, skill=0.7, seed=1)
    add_run(store, "a", rows)
    add_run(store, "b", rows, tags={"copy": "yes"})
    row = by_metric(compare(store, "a", ["b"], replicates=500))["accuracy"]
    assert (row["change"], row["ci_low"], row["ci_high"], row["p_value"]) == (0.0, 0.0, 0.0, 1.0)
    exact = by_metric(compare(store, "a", ["b"], replicates=500))["mcnemar_exact"]
    assert (exact["p_value"], exact["wins"], exact["losses"], exact["ties"]) == (1.0, 0, 0, 120)


def test_a_metric_undefined_on_one_side_is_undefined(store: Store) -> None:
    rows = items(40, 4, skill=0.7, seed=1)
    settings = {"failed": "excluded"}
    add_run(store, "a", rows, settings=settings)
    add_run(store, "b", [row._replace(predicted=None) for row in rows], settings=settings)
    row = by_metric(compare(store, "a", ["b"], replicates=20))["macro_f1"]
    assert row["status"] in ("undefined", "refused")
    assert (row["candidate"], row["change"]) == (None, None)


def test_a_class_that_one_participant_holds_makes_the_worst_class_a_lottery(store: Store) -> None:
    rows = [Item(f"{p}/{i}", f"p{p:02d}", i % 2, i % 2) for p in range(30) for i in range(6)]
    rare = [Item("rare", "p00", 2, 2)]
    add_run(store, "a", rows + rare)
    add_run(store, "b", [rows[0]._replace(predicted=1), *rows[1:], *rare])
    found = by_metric(compare(store, "a", ["b"], replicates=200))
    worst = found["worst_class_f1"]
    assert (worst["status"], worst["reason"], worst["ci_low"]) == ("undefined", "unstable_replicates", None)
    for metric in ("worst_class_f1", "macro_f1", "balanced_accuracy"):
        assert "class_missing_in_replicates" in found[metric]["flags"]
    assert found["macro_f1"]["ci_low"] is not None
    assert found["accuracy"]["flags"] == []


def test_a_withdrawn_run_is_not_there(store: Store) -> None:
    rows = items(40, 4, skill=0.7, seed=1)
    add_run(store, "a", rows)
    add_run(store, "b", rows)
    store.withdraw("b", "wrong checkpoint")
    with pytest.raises(UnknownName, match="b"):
        compare(store, "a", ["b"])


def test_results_under_older_definitions_ask_for_rescore(store: Store, tmp_path: Path) -> None:
    rows = items(40, 4, skill=0.7, seed=1)
    add_run(store, "a", rows)
    add_run(store, "b", rows)
    seal = store.results("b")[0]
    tables = {name: store.read(name, runs=["b"]) for name in seal.contracts}
    values = tables["metric_values"].to_pylist()
    for row in values:
        row["metric_fingerprint"] = "ef1-" + "0" * 64
        row["protocol_fingerprint"] = "ef1-" + "1" * 64
    other = Store.open(tmp_path / "other", create=True)
    add_run(other, "a", rows)
    run = store.run("b")
    other.write_run(
        "b",
        system="wisp",
        dataset_id=run.dataset_id,
        tables={name: store.read(name, runs=["b"]) for name in run.contracts if name != "runs"},
        inputs=run.inputs,
        tags=run.tags,
    )
    schema = tables["metric_values"].schema
    other.write_results(
        "b",
        protocol=seal.protocol,
        protocol_fingerprint="ef1-" + "1" * 64,
        tables={"metric_values": type(tables["metric_values"]).from_pylist(values, schema=schema)},
        inputs=seal.inputs,
    )
    with pytest.raises(ResultsMissing) as refusal:
        compare(other, "a", ["b"])
    assert refusal.value.exit_code == ExitCode.NOT_COMPARABLE
    assert "rescore" in refusal.value.hint


def test_a_column_that_is_none_is_no_cluster(store: Store) -> None:
    rows = items(40, 4, skill=0.7, seed=1)
    add_run(store, "a", rows)
    add_run(store, "b", rows)
    with pytest.raises(UsageError, match="household") as refusal:
        compare(store, "a", ["b"], cluster="household")
    assert refusal.value.where == "--cluster"


def test_a_column_that_no_row_fills_makes_no_clusters(store: Store) -> None:
    rows = [item._replace(sample_id=None) for item in items(40, 4, skill=0.7, seed=1)]
    add_run(store, "a", rows)
    add_run(store, "b", rows)
    with pytest.raises(UsageError, match="empty in every row") as refusal:
        compare(store, "a", ["b"], cluster="sample_id")
    assert refusal.value.where == "--cluster"


def test_other_clusters_give_other_intervals(store: Store) -> None:
    add_run(store, "a", items(200, 8, skill=0.6, seed=1))
    add_run(store, "b", items(200, 8, skill=0.75, seed=2))
    people = by_metric(compare(store, "a", ["b"], replicates=200, metrics=["accuracy"]))["accuracy"]
    named = by_metric(compare(store, "a", ["b"], replicates=200, metrics=["accuracy"], cluster="participant"))
    assert {**named["accuracy"], "comparison_id": ""} == {**people, "comparison_id": ""}
    windows = by_metric(compare(store, "a", ["b"], replicates=200, metrics=["accuracy"], cluster="sample_id"))[
        "accuracy"
    ]
    assert (windows["cluster"], windows["n_clusters"]) == ("sample_id", 200)
    assert windows["change"] == people["change"]
    assert windows["ci_high"] - windows["ci_low"] != people["ci_high"] - people["ci_low"]
