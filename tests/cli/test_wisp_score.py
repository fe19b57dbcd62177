"""`evalframe wisp score` from end to end: the file, the store, the refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ExitCode

TRAP = {"y_true": [0, 0, 1, 1], "y_pred": [0, 0, 1, 0], "participant": ["a", "a", "b", "b"]}


def npz(path: Path, **arrays: Any) -> Path:
    given = {"classes": np.array(["sit", "walk", "run"]), **{k: np.array(v) for k, v in TRAP.items()}, **arrays}
    np.savez(path, **{name: array for name, array in given.items() if array is not None})
    return path


def score(predictions: Path, folder: Path, *more: str) -> int:
    return run(["wisp", "score", "--predictions", str(predictions), "--output", str(folder / "out.json"), *more])


def written(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "out.json").read_text()))


def test_the_class_universe_is_the_vocabulary_for_the_worst_class_only(tmp_path: Path) -> None:
    assert score(npz(tmp_path / "p.npz"), tmp_path) == ExitCode.OK
    out = written(tmp_path)
    assert out["metrics"]["macro_f1"] == pytest.approx(0.7333333333333333, abs=1e-15)
    assert out["metrics"]["worst_class_f1"] == 0
    assert out["metrics"]["accuracy"] == out["metrics"]["balanced_accuracy"] == 0.75
    assert out["confusion_matrix"] == [[2, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert [entry["class"] for entry in out["per_class"]] == ["sit", "walk", "run"]
    assert out["per_class"][2] == {
        "class": "run", "support": 0, "predicted": 0, "precision": None, "recall": None, "f1": 0.0,
    }  # fmt: skip
    assert out["reasons"] == {"per_class": {"run": {"precision": "no_predicted_positives", "recall": "no_positives"}}}
    assert out["protocol"]["fingerprint"].startswith("ef1-")
    assert (out["schema_version"], out["command"], out["n_windows"], out["n_failed"]) == (1, "wisp score", 4, 0)


def test_a_failed_window_is_a_miss_and_another_policy_is_another_fingerprint(tmp_path: Path) -> None:
    right, wrong, failed = [0] * 80, [1] * 10, [0] * 10
    arrays = {
        "y_true": np.zeros(100, np.int16),
        "y_pred": np.array(right + wrong + failed, np.int16),
        "participant": np.array(["a"] * 100),
        "failed": np.array([False] * 90 + [True] * 10),
    }
    path = npz(tmp_path / "p.npz", **arrays)
    assert score(path, tmp_path) == 0
    default = written(tmp_path)
    assert score(path, tmp_path, "--set", "failed=excluded", "--force") == 0
    excluded = written(tmp_path)
    assert (default["metrics"]["accuracy"], default["n_windows"], default["n_failed"]) == (0.8, 100, 10)
    assert excluded["metrics"]["accuracy"] == pytest.approx(80 / 90, abs=1e-15)
    assert default["protocol"]["fingerprint"] != excluded["protocol"]["fingerprint"]


def test_npz_parquet_and_csv_give_the_same_numbers_and_the_same_evaluation_set(tmp_path: Path) -> None:
    names = np.array(["sit", "walk", "run"])
    text = {**TRAP, "y_true": names[TRAP["y_true"]].tolist(), "y_pred": names[TRAP["y_pred"]].tolist()}
    pq.write_table(pa.table(text), tmp_path / "p.parquet")
    rows = zip(*text.values(), strict=True)
    (tmp_path / "p.csv").write_text("\n".join([",".join(text), *(",".join(row) for row in rows)]) + "\n")
    (tmp_path / "classes.json").write_text(json.dumps(names.tolist()))
    answers = []
    for path in (npz(tmp_path / "p.npz"), tmp_path / "p.parquet", tmp_path / "p.csv"):
        more = [] if path.suffix == ".npz" else ["--classes", str(tmp_path / "classes.json")]
        assert score(path, tmp_path, "--force", *more) == 0
        out = written(tmp_path)
        answers.append({k: out[k] for k in ("metrics", "per_class", "confusion_matrix", "data_digest", "protocol")})
    assert answers[0] == answers[1] == answers[2]


def test_the_same_again_is_a_no_op_and_other_content_under_the_id_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "store"), "--run-id", "r"]
    path = npz(tmp_path / "p.npz")
    assert score(path, tmp_path, *store) == 0
    before = {p: p.read_bytes() for p in (tmp_path / "store").rglob("*.parquet")}
    assert score(path, tmp_path, *store) == 0
    assert {p: p.read_bytes() for p in (tmp_path / "store").rglob("*.parquet")} == before
    capsys.readouterr()
    other = npz(tmp_path / "q.npz", y_pred=np.array([0, 0, 0, 0]))
    assert score(other, tmp_path, *store, "--force") == ExitCode.CONTRACT
    assert "predictions_sha256" in capsys.readouterr().err
    assert written(tmp_path)["metrics"]["accuracy"] == 0.75


BAD: dict[str, tuple[Callable[[Path], Path], ExitCode, str]] = {
    "object array": (lambda p: npz(p, y_pred=np.array([0, 0, 1, None], object)), ExitCode.USAGE, "y_pred"),
    "truncated": (lambda p: _cut(npz(p)), ExitCode.USAGE, "p.npz"),
    "not an archive": (lambda p: _text(p), ExitCode.USAGE, "p.npz"),
    "missing file": (lambda p: p, ExitCode.USAGE, "p.npz"),
    "missing array": (lambda p: npz(p, participant=None), ExitCode.USAGE, "participant"),
    "no vocabulary": (lambda p: npz(p, classes=None), ExitCode.USAGE, "--classes"),
    "repeated class": (lambda p: npz(p, classes=np.array(["a", "b", "a"])), ExitCode.CONTRACT, "'a'"),
    "label outside": (lambda p: npz(p, y_true=np.array([0, 0, 1, 7])), ExitCode.CONTRACT, "row 3"),
    "float labels": (lambda p: npz(p, y_pred=np.array([0.0, 0, 1, 1.4])), ExitCode.CONTRACT, "y_pred"),
    "unequal lengths": (lambda p: npz(p, y_pred=np.array([0, 0, 1])), ExitCode.CONTRACT, "3"),
    "duplicate ids": (lambda p: npz(p, sample_id=np.array(["dup", "x", "dup", "y"])), ExitCode.CONTRACT, "'dup'"),
    "NaN time": (lambda p: npz(p, time=np.array([0, 1, np.nan, 2])), ExitCode.CONTRACT, "time"),
    "two dimensions": (lambda p: npz(p, y_pred=np.zeros((4, 2), int)), ExitCode.CONTRACT, "y_pred"),
}


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:200])
    return path


def _text(path: Path) -> Path:
    path.write_text("y_true,y_pred\n")
    return path


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_four_lines_the_right_exit_code_and_nothing_written(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, code, named = BAD[kind]
    source = tmp_path / "in"
    source.mkdir()
    assert score(make(source / "p.npz"), tmp_path, "--store", str(tmp_path / "store")) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 4
    assert named in captured.err
    assert not (tmp_path / "out.json").exists()
    assert not list((tmp_path / "store").rglob("*.parquet"))


@pytest.mark.parametrize("setting", ["failed=never", "zero_division=1"])
def test_a_parameter_that_cannot_be_meant_is_refused(setting: str, tmp_path: Path) -> None:
    assert score(npz(tmp_path / "p.npz"), tmp_path, "--set", setting) == ExitCode.USAGE
    assert not (tmp_path / "out.json").exists()


def test_no_windows_is_undefined_not_zero(tmp_path: Path) -> None:
    empty = {"y_true": np.array([], int), "y_pred": np.array([], int), "participant": np.array([], str)}
    assert score(npz(tmp_path / "p.npz", **empty), tmp_path) == ExitCode.OK
    out = written(tmp_path)
    assert set(out["metrics"].values()) == {None}
    assert set(out["undefined"].values()) == {"no_items"}


def test_the_python_twin_returns_what_the_command_writes(tmp_path: Path) -> None:
    path = npz(tmp_path / "p.npz")
    scored = evalframe.wisp.score(path, store=tmp_path / "store", run_id="001", tags={"fold": "0"})
    assert score(path, tmp_path, "--run-id", "001") == 0
    assert json.loads(scored.to_json()) == written(tmp_path)
    opened = evalframe.open(tmp_path / "store")
    assert opened.runs().to_pylist()[0]["run_id"] == "001"
    values = opened.sql("SELECT metric, value FROM metric_values").to_polars()
    assert dict(values.iter_rows()) == {m: scored.value(m) for m in values["metric"]}
    assert "macro_f1" in repr(scored)
    assert scored.to_arrow().num_rows == 4


@pytest.mark.parametrize(
    "run_id",
    ["", "../../evil", "a\nb", "=cmd()", "'; DROP TABLE runs; --", "<script>", "\u202eabc", "NULL", "00042", "1.10"],
)
def test_a_run_may_have_any_name_and_keeps_it(run_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "in" / "store"
    assert score(npz(tmp_path / "p.npz"), tmp_path, "--store", str(store), "--run-id", run_id) == 0
    capsys.readouterr()
    assert run(["sql", "SELECT run_id FROM metric_values", "--store", str(store), "--format", "json"]) == 0
    assert {row["run_id"] for row in json.loads(capsys.readouterr().out)} == {run_id}
    assert run(["runs", "--store", str(store)]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 3
    assert all(c.isprintable() for line in shown.splitlines() for c in line)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out.json", "p.npz"]
    assert [p.name for p in store.parent.iterdir()] == ["store"]
