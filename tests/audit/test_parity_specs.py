"""Specs of other references: scikit-learn, a calibration error that differs as declared, and real answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalframe.cli.run import run
from evalframe.errors import DigestMismatch, FileUnreadable, UsageError
from evalframe.verbs.parity import audit_parity
from tests.audit.parity_references import FUNCTIONS, REFERENCES, sha256


@pytest.mark.parametrize(
    ("spec", "metrics"),
    [
        ("scikit_learn_windows.yaml", {"macro_f1", "balanced_accuracy", "accuracy", "worst_class_f1"}),
        (
            "scikit_learn_failures.yaml",
            {"failure_ap", "failure_roc_auc", "failure_accuracy", "failure_precision", "failure_recall", "failure_f1"},
        ),
        ("scikit_learn_choices.yaml", {"nll", "brier"}),
    ],
)
def test_scikit_learn_agrees(spec: str, metrics: set[str]) -> None:
    found = audit_parity(REFERENCES / spec)
    assert {row["metric"]: row["outcome"] for row in found.to_pylist()} == dict.fromkeys(metrics, "agrees")
    assert all(row["n_compared"] + row["n_undefined"] == 12 for row in found.to_pylist())
    assert found.exit_code == 0
    assert found.body()["versions"]["sklearn"]


def test_a_bin_of_its_own_for_1_is_a_declared_difference(tmp_path: Path) -> None:
    found = audit_parity(REFERENCES / "bucketed_ece.yaml")
    (ece,) = found.body()["comparisons"]
    assert (ece["outcome"], ece["n_compared"]) == ("agrees", 30)
    assert ece["largest_difference"] <= 1e-12
    assert ece["declared"]["batches"] == 30
    assert ece["declared"]["differing"] > 0
    assert ece["declared"]["largest_difference"] > 1e-3
    assert any("declared difference" in line for line in found.body()["scope"]["shown"])


def test_torchmetrics_has_that_bin() -> None:
    pytest.importorskip("torchmetrics")
    found = audit_parity(REFERENCES / "torchmetrics_ece.yaml")
    (ece,) = found.body()["comparisons"]
    assert (ece["outcome"], ece["n_compared"]) == ("agrees", 20)
    assert ece["declared"]["differing"] > 0
    assert ece["declared"]["largest_difference"] > 1e-3
    assert found.body()["versions"]["torchmetrics"]


def _spec(folder: Path, changes: dict[str, Any]) -> Path:
    """bucketed_ece.yaml with other content, beside its reference."""
    content = yaml.safe_load((REFERENCES / "bucketed_ece.yaml").read_text(encoding="utf-8"))
    (folder / "bucketed_ece.py").write_bytes((REFERENCES / "bucketed_ece.py").read_bytes())
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump({**content, **changes}), encoding="utf-8")
    return path


def test_the_same_difference_undeclared_is_a_mismatch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare = [{"metric": "ece", "call": ["calibration_error", "confidences", "correct"]}]
    spec = _spec(tmp_path, {"compare": compare})
    assert run(["audit", "parity", "--spec", str(spec), "--output", str(tmp_path / "out.json"), "--json"]) == 5
    body = json.loads(capsys.readouterr().out)
    assert body == json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (ece,) = body["comparisons"]
    assert (ece["outcome"], ece["n_compared"]) == ("differs", 60)
    assert 0 < ece["n_mismatched"] <= 30


def test_a_declared_difference_may_not_cover_everything(tmp_path: Path) -> None:
    inputs = {"kind": "choices", "seed": 4, "batches": 3, "rows": 40}
    with pytest.raises(UsageError, match="declared"):
        audit_parity(_spec(tmp_path, {"inputs": inputs}))


def test_a_spec_pins_its_files(tmp_path: Path) -> None:
    spec = _spec(tmp_path, {})
    with (tmp_path / "bucketed_ece.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(DigestMismatch):
        audit_parity(spec)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"surprise": 1}, "spec"),
        ({"protocol": "no-such/1"}, "no protocol"),
        ({"inputs": {"kind": "images"}}, "inputs.kind"),
        ({"inputs": {"kind": "choices", "rows": "many"}}, "inputs.rows"),
        ({"inputs": {"kind": "windows", "file": "rows.json"}}, "inputs.file"),
        ({"inputs": {"kind": "choices", "boundaries": "some"}}, "inputs.boundaries"),
        ({"compare": []}, "compare"),
        ({"compare": [{"metric": "macro_f1", "call": ["calibration_error", "confidences"]}]}, "metric"),
        ({"compare": [{"metric": "ece", "call": ["calibration_error", "certainty"]}]}, "call"),
        ({"compare": [{"metric": "ece", "call": ["another", "confidences"]}]}, "call"),
        ({"compare": [{"metric": "ece", "call": ["calibration_error"], "forms": ["frame"]}]}, "forms"),
    ],
)
def test_a_spec_that_cannot_be_meant_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        audit_parity(_spec(tmp_path, changes))


def test_a_spec_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("{", encoding="utf-8")
    with pytest.raises(FileUnreadable):
        audit_parity(tmp_path / "spec.yaml")


# ---- real answers ---------------------------------------------------------------------------------------------------

_REAL = {"kev": "autojev_semif_rows.json", "semif": "authored144_27b_exl3_17rows.jsonl"}


@pytest.mark.parametrize("folder", _REAL)
def test_real_answers_agree_with_the_reference(folder: str, real_data: Callable[[str], Path], tmp_path: Path) -> None:
    rows = real_data(folder) / _REAL[folder]
    names = {"choice_accuracy": "acc", "nll": "nll", "brier": "brier", "ece": "ece", "mean_confidence": "mean_conf",
             "confident_error_rate": "confident_error_rate", "coverage_at_0_9": "coverage_at_0_9",
             "coverage_at_error_0.01": "coverage_at_1pct_error"}  # fmt: skip
    files = ("kev/evaluate.py", "kev/benchmark.py")
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes((REFERENCES / file).read_bytes())
    spec = tmp_path / "spec.yaml"
    content = {
        "reference": [{"file": f, "sha256": sha256(REFERENCES / f), "functions": FUNCTIONS[f]} for f in files],
        "protocol": "kev-choice/1",
        "inputs": {"kind": "choices", "file": str(rows)},
        "compare": [{"metric": ours, "call": ["metrics", "rows"], "result": name} for ours, name in names.items()],
    }
    spec.write_text(yaml.safe_dump(content), encoding="utf-8")
    found = audit_parity(spec)
    assert {row["metric"]: row["outcome"] for row in found.to_pylist()} == {
        (ours if ours != "choice_accuracy" else "accuracy"): "agrees" for ours in names
    }
    assert all(row["largest_difference"] <= 1e-12 for row in found.to_pylist())
