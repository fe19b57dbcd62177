"""Numbers that cannot be: each identity by a table that breaks it, and tables that break none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from evalframe.audit.values import Reported
from evalframe.audit.values_identities import IDENTITIES
from evalframe.audit.values_tables import bin_findings, confusion_findings, records
from evalframe.cli.run import run
from evalframe.errors import MissingField
from evalframe.store import Store
from evalframe.verbs import kev, wisp
from evalframe.verbs.audit_values import audit_values

SOUND = {
    "wide": """
        model_id,accuracy,balanced_accuracy,macro_f1,worst_class_f1,n
        a,0.853,0.81,0.8,0.5,150
        b,1.0,1.0,1.0,1.0,150
        """,
    "long": """
        run_id,metric,value,n
        a,accuracy,0.8533333333333334,150
        a,ece,0.05,150
        a,confidence_bias,-0.05,150
        """,
    "percent of an unknown number": """
        model,accuracy
        a,0.8541
        """,
    "per class": """
        class,precision,recall,f1,support
        walk,0.50,1.00,0.67,4
        run,1.00,0.50,0.67,8
        macro avg,0.75,0.75,0.67,12
        """,
    "a class that is never met": """
        class,precision,recall,f1,support
        walk,,,0,0
        run,1.00,1.00,1,8
        """,
    "confusion": """
        class,walk,run,support,predicted,recall
        walk,3,1,4,5,0.75
        run,2,6,8,7,0.75
        """,
    "standard error of lm-eval": """
        model,acc,acc_stderr,n
        a,0.62,0.0156,967
        b,0.62,0.01561,967
        """,
    "floor events": """
        run,horizon_s,n_response_candidates,n_response,n_no_response,n_response_censored,n_response_invalid,n_response_empty_window,n_short_resume,response_recall_0.8,no_response_trigger_rate_at_recall_0.8,no_response_trigger_count_at_recall_0.8
        a,0.2,20,6,10,2,1,1,3,0.8333333333333334,0.4,4
        """,
    "calls": """
        run,tp,fp,fn,precision,recall,f1
        a,3,1,2,0.75,0.6,0.6666666666666666
        """,
}

# name: (table, identity, metric, row)
BROKEN = {
    "an F1 above 1": ("model,macro_f1\na,0.9\nb,1.2", "in_range", "macro_f1", 2),
    "a negative recall": ("model,recall\na,-0.1", "in_range", "recall", 1),
    "a negative log likelihood below 0": ("model,nll\na,0.5\nb,-0.1", "in_range", "nll", 2),
    "a negative mean squared error": ("model,progress_mse\na,-0.02", "in_range", "progress_mse", 1),
    "an objective above 0": ("model,objective\na,0.3", "in_range", "objective", 1),
    "a Brier score above 2": ("model,brier\na,2.01", "in_range", "brier", 1),
    "an ECE above 1": ("model,ece\na,12.5", "in_range", "ece", 1),
    "a correlation above 1": ("model,progress_spearman\na,1.01", "in_range", "progress_spearman", 1),
    "half an event": ("run,n_response\na,3.5", "whole_counts", "n_response", 1),
    "an accuracy of no count": ("model,accuracy,n\na,0.855,20", "share_of_items", "accuracy", 1),
    "an accuracy of no count, long": (
        "run,metric,value,n\na,ece,0.1,20\na,acc,0.855,20",
        "share_of_items",
        "accuracy",
        2,
    ),
    "a recall of no count": ("class,recall,support\nx,0.30,4", "share_of_items", "recall", 1),
    "another numerator": (
        "run_id,metric,value,numerator,denominator\na,accuracy,0.5,4,10",
        "value_is_quotient",
        "accuracy",
        1,
    ),
    "more than all": (
        "run_id,metric,value,numerator,denominator\na,accuracy,1.2,12,10",
        "value_is_quotient",
        "accuracy",
        1,
    ),
    "divided by nothing": (
        "run_id,metric,value,numerator,denominator\na,accuracy,0,0,0",
        "value_is_quotient",
        "accuracy",
        1,
    ),
    "more failures than items": (
        "run_id,metric,value,n_items,n_failed\na,ece,0.5,10,11",
        "exclusions_within_items",
        "ece",
        1,
    ),
    "macro-F1 below the worst class": (
        "model,macro_f1,worst_class_f1\na,0.50,0.60",
        "macro_between_classes",
        "macro_f1",
        1,
    ),
    "macro-F1 above the best class": (
        "class,f1\nwalk,0.5\nrun,0.7\nmacro avg,0.9",
        "macro_between_classes",
        "macro_f1",
        3,
    ),
    "F1 of other precision": ("model,precision,recall,f1\na,0.50,0.50,0.60", "f1_is_harmonic_mean", "f1", 1),
    "rates of other counts": ("run,tp,fp,fn,recall\na,3,1,2,0.7", "rates_follow_from_counts", "recall", 1),
    "a standard error of another n": (
        "model,acc,acc_stderr,n\na,0.62,0.0156,200",
        "standard_error",
        "accuracy_stderr",
        1,
    ),
    "ECE below the bias": ("model,ece,confidence_bias\na,0.01,-0.2", "calibration", "ece", 1),
    "ECE below confidence less accuracy": (
        "model,accuracy,mean_conf,ece\na,0.60,0.90,0.10",
        "calibration",
        "ece",
        1,
    ),
    "another bias": ("model,acc,mean_conf,confidence_bias\na,0.6,0.9,0.1", "calibration", "confidence_bias", 1),
    "right and wrong": ("model,accuracy_at_0_9,error_rate_at_0_9\na,0.90,0.20", "complement", "error_rate_at_0_9", 1),
    "a larger budget that covers less": (
        "model,coverage_at_1pct_error,coverage_at_5pct_error\na,0.50,0.40",
        "selective_order",
        "coverage_at_error_0.05",
        1,
    ),
    "half the rows cover less": (
        "model,selective_coverage_0.5\na,0.40",
        "selective_order",
        "selective_coverage_0.5",
        1,
    ),
    "candidates that went missing": (
        "run,n_yield_candidates,n_yield,n_continue,n_yield_censored,n_yield_invalid,n_yield_empty_window\na,9,1,2,3,1,1",
        "candidates_add_up",
        "n_yield_candidates",
        1,
    ),
    "more short resumes than resumes": (
        "run,n_no_response,n_short_resume\na,3,4",
        "candidates_add_up",
        "n_short_resume",
        1,
    ),
    "more triggers than events": (
        "run,n_continue,continue_false_stop_count_at_recall_0.8\na,3,4",
        "triggers_within_events",
        "continue_false_stop_count_at_recall_0.8",
        1,
    ),
    "a trigger rate of another count": (
        "run,n_continue,continue_false_stop_count_at_recall_0.8,continue_false_stop_rate_at_recall_0.8\na,4,1,0.5",
        "triggers_within_events",
        "continue_false_stop_rate_at_recall_0.8",
        1,
    ),
    "a recall of no event": ("run,n_yield,yield_recall_0.8\na,4,0.80", "triggers_within_events", "yield_recall_0.8", 1),
    "a support that is no row sum": (
        "class,walk,run,support\nwalk,3,1,5\nrun,2,6,8",
        "confusion_sums",
        "support",
        1,
    ),
    "a column that is not what was predicted": (
        "class,walk,run,predicted\nwalk,3,1,5\nrun,2,6,8",
        "confusion_sums",
        "predicted",
        2,
    ),
    "a recall that is not on the diagonal": (
        "class,walk,run,recall\nwalk,3,1,0.75\nrun,2,6,0.25",
        "confusion_sums",
        "recall",
        2,
    ),
}


def _table(folder: Path, text: str) -> Path:
    path = folder / "results.csv"
    path.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("what", SOUND)
def test_a_sound_table_has_no_finding(tmp_path: Path, what: str) -> None:
    found = audit_values(_table(tmp_path, SOUND[what]))
    assert found.to_pylist() == []
    assert found.n_numbers > 0


@pytest.mark.parametrize("what", BROKEN)
def test_an_impossible_number_is_named_with_its_identity_and_row(tmp_path: Path, what: str) -> None:
    text, identity, metric, row = BROKEN[what]
    rows = [
        (each["identity"], each["metric"], each["row"]) for each in audit_values(_table(tmp_path, text)).to_pylist()
    ]
    assert (identity, metric, row) in rows


def test_every_identity_has_a_table_that_breaks_it() -> None:
    assert {each.name for each in IDENTITIES} <= {identity for _, identity, _, _ in BROKEN.values()}


def test_the_command_exits_5_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _table(tmp_path, "model,accuracy,n\na,0.85,20\nb,0.855,20")
    assert run(["audit", "values", "--store", str(path), "--json"]) == 5
    body = json.loads(capsys.readouterr().out)
    assert [(each["run"], each["row"], each["identity"]) for each in body["findings"]] == [("b", 2, "share_of_items")]
    assert body["ok"] is False
    assert run(["audit", "values", "--store", str(_table(tmp_path, SOUND["wide"]))]) == 0
    assert "none is impossible" in capsys.readouterr().out


def test_a_table_without_a_known_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingField, match="reports nothing"):
        audit_values(_table(tmp_path, "a,b\n1,2"))


def test_a_number_stands_for_all_that_round_to_it() -> None:
    assert Reported.written("0.67").near(2 / 3)  # type: ignore[union-attr]
    assert not Reported.written("0.670").near(2 / 3)  # type: ignore[union-attr]
    assert Reported.written("0.6666666666666666").near(2 / 3)  # type: ignore[union-attr]
    assert not Reported.written("0.6666666666000000").near(2 / 3)  # type: ignore[union-attr]
    assert Reported.written("nan") is None
    assert Reported.written("n/a") is None


# ---- stores ---------------------------------------------------------------------------------------------------------


def _windows(folder: Path) -> Path:
    path = folder / "windows.csv"
    rows = [(i, f"p{i % 3}", i % 2, (i // 3) % 2) for i in range(24)]
    lines = [f"{i},{who},c{truth},c{said}" for i, who, truth, said in rows]
    path.write_text("\n".join(["time,participant,y_true,y_pred", *lines]) + "\n", encoding="utf-8")
    (folder / "classes.json").write_text('["c0", "c1", "c2"]', encoding="utf-8")
    return path


def _scored(folder: Path) -> tuple[pa.Table, pa.Table]:
    """metric_values and confusion counts of a run that is sound."""
    wisp.score(_windows(folder), output=folder / "o.json", classes=folder / "classes.json", store=folder / "store")
    store = Store.open(folder / "store")
    return store.read("metric_values"), store.read("class_confusion_by_cluster")


def test_a_scored_store_is_sound(tmp_path: Path) -> None:
    _scored(tmp_path)
    found = audit_values(tmp_path / "store")
    assert found.to_pylist() == []
    assert found.n_numbers == 4


def _with(table: pa.Table, column: str, row: int, value: float) -> pa.Table:
    cells = table[column].to_pylist()
    cells[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(cells, table[column].type))


def _row_of(values: pa.Table, metric: str) -> int:
    return int(values["metric"].to_pylist().index(metric))


def test_confusion_counts_hold_the_values_beside_them(tmp_path: Path) -> None:
    values, confusion = _scored(tmp_path)
    assert list(confusion_findings(confusion, values)) == []

    def identities(changed: pa.Table, counts: pa.Table = confusion) -> set[tuple[str, str]]:
        return {(each.identity, each.metric) for each in confusion_findings(counts, changed)}

    fewer = _with(confusion, "n", 0, confusion["n"][0].as_py() + 1)
    assert ("confusion_sums", "accuracy") in identities(values, fewer)
    assert identities(values, _with(confusion, "n", 0, -1)) == {("whole_counts", "n")}
    accuracy = _with(values, "value", _row_of(values, "accuracy"), 0.25)
    assert identities(accuracy) == {("confusion_sums", "accuracy")}
    macro = _with(values, "value", _row_of(values, "macro_f1"), 0.99)
    assert identities(macro) == {("macro_between_classes", "macro_f1")}
    worst = _with(values, "value", _row_of(values, "worst_class_f1"), 0.9)
    assert identities(worst) == {("macro_between_classes", "worst_class_f1")}


def test_stored_values_are_held_to_the_identities(tmp_path: Path) -> None:
    values, _ = _scored(tmp_path)
    broken = _with(values, "value", _row_of(values, "accuracy"), 0.51)
    (record,) = records(broken)
    names = {rule.name for rule in IDENTITIES for _ in rule.check(record)}
    assert names == {"value_is_quotient", "share_of_items"}


def test_bins_hold_the_calibration_error(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    rows = real_data("kev") / "autojev_semif_rows.json"
    kev.score(rows=rows, output=tmp_path / "o.json", store=tmp_path / "store", run_id="r")
    found = audit_values(tmp_path / "store")
    assert found.to_pylist() == []
    assert found.n_numbers > 200
    store = Store.open(tmp_path / "store")
    values, bins = store.read("metric_values"), store.read("choice_bins")
    full = next(row for row, n in enumerate(bins["n"].to_pylist()) if n)
    n = bins["n"][full].as_py()
    assert {each.metric for each in bin_findings(_with(bins, "correct", full, n + 1), values)} == {"correct", "ece"}
    assert "confidence_sum" in {each.metric for each in bin_findings(_with(bins, "lo", full, 1.0), values)}
