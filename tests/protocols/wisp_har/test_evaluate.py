"""`wisp evaluate` on real windows: saved predictions come out again, the same bytes each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ExitCode
from tests.audit.releases import Release
from tests.inference import payloads
from tests.oracles.classification import Window, confusion

MODELS = ("cnn-f1-s0", "conv-f1-s0", "gru-f1-s0")


def command(made: Release, model: str, side: str, output: Path, *more: str) -> list[str]:
    line = made.lines[model]
    module = ["--module", line["module"]] if line["module"] else []
    return [
        "wisp", "evaluate", "--checkpoint", str(made.folder / line["checkpoint"]),
        "--checkpoint-sha256", line["checkpoint_sha256"], "--data", str(made.folder / line[side]),
        "--layout", "NCT", "--output", str(output), *module, *more,
    ]  # fmt: skip


@pytest.mark.parametrize("side", ["data", "export"])
@pytest.mark.parametrize("model", MODELS)
def test_a_checkpoint_scores_as_its_saved_predictions_do(
    watch_release: Release, model: str, side: str, tmp_path: Path
) -> None:
    assert run(command(watch_release, model, side, tmp_path / "out.json")) == ExitCode.OK
    out = json.loads((tmp_path / "out.json").read_text())
    truth, guess = watch_release.windows[model]
    windows = [Window("p", int(t), int(g)) for t, g in zip(truth, guess, strict=True)]
    assert out["confusion_matrix"] == confusion(windows, 7)
    assert out["metrics"] == pytest.approx(watch_release.frozen[model], abs=1e-15)
    assert out["checkpoint_sha256"] == watch_release.lines[model]["checkpoint_sha256"]
    assert out["data_sha256"] == watch_release.lines[model][f"{side}_sha256"]
    assert (out["command"], out["n_windows"], out["n_failed"]) == ("wisp evaluate", len(truth), 0)
    assert out["classes"] == ["PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW"]


@pytest.mark.parametrize("model", MODELS)
def test_the_same_call_writes_the_same_bytes(watch_release: Release, model: str, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        assert run(command(watch_release, model, "data", tmp_path / name, "--run-id", "r")) == ExitCode.OK
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_store_tells_recomputed_from_rescored(watch_release: Release, tmp_path: Path) -> None:
    model, store = "cnn-f1-s0", tmp_path / "store"
    more = ["--store", str(store), "--run-id", "again", "--tag", "method=cnn", "fold=1"]
    assert run(command(watch_release, model, "data", tmp_path / "a.json", *more)) == ExitCode.OK
    assert run(command(watch_release, model, "data", tmp_path / "a.json", *more)) == ExitCode.OK
    evalframe.wisp.score(watch_release.folder / f"{model}.npz", store=store, run_id="saved")
    opened = evalframe.open(store)
    rows = opened.sql("SELECT run_id, origin, metric_fingerprint FROM metric_values WHERE metric = 'macro_f1'")
    found = {row["run_id"]: (row["origin"], row["metric_fingerprint"]) for row in rows.to_pylist()}
    assert {run_id: origin for run_id, (origin, _) in found.items()} == {
        "again": "recomputed",
        "saved": "rescored_saved_predictions",
    }
    assert found["again"][1] == found["saved"][1]  # the number means the same, wherever it comes from
    compared = opened.compare("saved", "again", replicates=200).to_pylist()
    assert {row["change"] for row in compared if row["metric"] == "macro_f1"} == {0.0}


def test_another_batch_size_is_another_run(watch_release: Release, tmp_path: Path) -> None:
    more = ["--store", str(tmp_path / "store"), "--run-id", "r"]
    assert run(command(watch_release, "cnn-f1-s0", "data", tmp_path / "a.json", *more)) == ExitCode.OK
    other = [*more, "--batch-size", "7", "--force"]
    assert run(command(watch_release, "cnn-f1-s0", "data", tmp_path / "a.json", *other)) == ExitCode.CONTRACT


def refused(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out)["error"])


def test_a_wrong_digest_is_exit_5_and_nothing_is_written(
    watch_release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = command(watch_release, "cnn-f1-s0", "data", tmp_path / "out.json", "--json")
    arguments[arguments.index("--checkpoint-sha256") + 1] = "0" * 64
    assert run(arguments) == ExitCode.MISMATCH
    assert refused(capsys)["code"] == "EF602"
    assert list(tmp_path.iterdir()) == []


def test_the_wrong_layout_is_refused_with_the_right_one(
    watch_release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = command(watch_release, "cnn-f1-s0", "data", tmp_path / "out.json", "--json")
    arguments[arguments.index("NCT")] = "NTC"
    assert run(arguments) == ExitCode.CONTRACT
    assert "--layout NCT" in refused(capsys)["hint"]


def test_data_with_classes_in_another_order_are_refused(
    watch_release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(watch_release.folder / "data-f1.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "data.npz", **{**arrays, "classes": arrays["classes"][::-1]})
    arguments = command(watch_release, "cnn-f1-s0", "data", tmp_path / "out.json", "--json")
    arguments[arguments.index("--data") + 1] = str(tmp_path / "data.npz")
    assert run(arguments) == ExitCode.CONTRACT
    assert "another order" in refused(capsys)["what"]


def test_windows_that_the_data_say_failed_are_misses_whatever_is_predicted(
    watch_release: Release, tmp_path: Path
) -> None:
    with np.load(watch_release.folder / "data-f1.npz") as file:
        arrays = dict(file)
    failed = np.arange(len(arrays["y"])) % 5 == 0
    np.savez(tmp_path / "data.npz", **arrays, failed=failed)
    arguments = command(watch_release, "cnn-f1-s0", "data", tmp_path / "out.json")
    arguments[arguments.index("--data") + 1] = str(tmp_path / "data.npz")
    assert run(arguments) == ExitCode.OK
    out = json.loads((tmp_path / "out.json").read_text())
    truth, guess = watch_release.windows["cnn-f1-s0"]
    assert (out["n_windows"], out["n_failed"]) == (len(truth), int(failed.sum()))
    assert out["metrics"]["accuracy"] == pytest.approx(np.mean((truth == guess) & ~failed), abs=1e-15)


def test_a_payload_never_runs_from_the_command_line(
    watch_release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "created"
    archive = payloads.sample_inputs(tmp_path, target)
    data = str(watch_release.folder / "data-f1.npz")
    out = str(tmp_path / "out.json")
    arguments = ["wisp", "evaluate", "--checkpoint", str(archive), "--data", data, "--output", out, "--json"]
    assert run(arguments) == ExitCode.USAGE
    assert "--trust-pickle" in refused(capsys)["hint"]
    assert not target.exists()
    assert not Path(out).exists()


def test_fields_of_the_published_file_are_read_by_their_own_names(
    watch_release: Release, real_data: Any, tmp_path: Path
) -> None:
    """The whole published file, keys and all, through a window decoder: its participants are people."""
    source = real_data("har_watch") / "watch_windows_4s_25hz.npz"
    checkpoint = watch_release.folder / watch_release.lines["cnn-f1-s0"]["checkpoint"]
    keys = ["--key", "time=time_s", "classes=class_names"]
    arguments = ["wisp", "evaluate", "--checkpoint", str(checkpoint), "--data", str(source), "--layout", "NCT"]
    assert run([*arguments, "--output", str(tmp_path / "out.json"), *keys]) == ExitCode.OK
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["n_windows"] == 1149
    assert [entry["support"] for entry in out["per_class"]] == [121, 190, 192, 177, 179, 143, 147]
