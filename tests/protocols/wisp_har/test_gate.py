"""The four gates over 36 fitted models: what a release note may say, and what fails when something differs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ExitCode
from tests.audit.releases import Release
from tests.inference import payloads

SELECTED = "method=conv,fold=0"


@pytest.fixture(scope="module")
def gated(watch_release: Release) -> Any:
    return evalframe.wisp.gate(
        watch_release.inventory,
        watch_release.catalogue,
        output=watch_release.folder / "gates",
        full_inference=[SELECTED, "method=gru,fold=0,seed=1"],
        layout="NCT",
    )


def test_every_checkpoint_loads_and_runs_one_batch(gated: Any) -> None:
    body = gated.body()["gates"]["checkpoint_loading"]
    assert (body["exercised"], body["of"], body["passed"], body["failed"], body["not_run"]) == (36, 36, 36, 0, 0)
    assert body["subjects"] == {"data": {"passed": 36, "failed": 0, "not_run": 0}}


def test_full_inference_is_run_where_it_was_asked_for_and_nowhere_else(gated: Any) -> None:
    body = gated.body()["gates"]["prediction_equivalence"]
    assert (body["exercised"], body["passed"], body["failed"], body["not_run"]) == (4, 4, 0, 32)
    assert body["subjects"] == {side: {"passed": 4, "failed": 0, "not_run": 32} for side in ("data", "export")}
    ran = {name for name, own in gated.statuses.items() if own["prediction_equivalence"] == "passed"}
    assert ran == {"conv-f0-s0", "conv-f0-s1", "conv-f0-s2", "gru-f0-s1"}


def test_exports_in_ordinals_pass_with_time_told(gated: Any) -> None:
    body = gated.body()["gates"]["export_equivalence"]
    assert (body["passed"], body["failed"]) == (36, 0)
    assert body["subjects"]["time"]["failed"] == body["subjects"]["permutation"]["passed"] == 36


def test_the_release_note_claims_no_more_than_was_run(gated: Any, watch_release: Release) -> None:
    text = (watch_release.folder / "gates" / "gate.md").read_text()
    assert "36 of 36 checkpoints were loaded and ran one batch (36 on their data); 0 failed." in text
    assert f"full inference was run for 4 of 36 models ({SELECTED}; method=gru,fold=0,seed=1); 4 passed" in text
    windows = 4 * len(watch_release.windows["conv-f0-s0"][0])
    for side in ("data", "export"):
        assert f"On {side} 4 of 4 reproduced their saved predictions exactly ({windows} windows)." in text
    assert "The other 32 were not run." in text
    assert "36 of 36 models were rescored against the frozen record within 1e-12; 36 passed, 0 failed" in text
    assert "Each gate speaks for itself" in text
    assert gated.exit_code == ExitCode.OK


def test_a_gate_that_was_due_and_not_run_fails_the_command(watch_release: Release, tmp_path: Path) -> None:
    made = one(watch_release, "cnn-f0-s0", tmp_path, lambda r: None)
    command = ["wisp", "gate", "--inventory", str(made.inventory), "--frozen", str(made.catalogue), "--layout", "NCT"]
    out = ["--output", str(tmp_path / "out")]
    assert run([*command, *out, "--require", "prediction_equivalence=all"]) == ExitCode.GATE_FAILED
    body = json.loads((tmp_path / "out" / "gate.json").read_text())
    assert body["unmet_requirements"] == ["prediction_equivalence was required of 1 models and run on 0 of 1"]
    full = ["--full-inference", "all", "--require", "prediction_equivalence=all", "checkpoint_loading=all", "--force"]
    assert run([*command, *out, *full]) == ExitCode.OK


def one(whole: Release, model: str, folder: Path, change: Callable[[Release], object]) -> Release:
    """A release of one model, in a folder of its own, changed."""
    made = Release(folder)
    made.lines[model] = dict(whole.lines[model])
    made.frozen[model] = dict(whole.frozen[model])
    made.sidecars[model] = dict(whole.sidecars[model])
    made.windows[model] = whole.windows[model]
    for name in ("checkpoint", "predictions", "data", "export"):
        shutil.copy(whole.folder / whole.lines[model][name], folder)
    beside = whole.folder / f"{whole.lines[model]['checkpoint']}.json"
    if beside.exists():
        shutil.copy(beside, folder)
    change(made)
    return made.write()


def flip_a_prediction(made: Release) -> None:
    path = made.folder / "conv-f0-s0.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["y_pred"][5] = (arrays["y_pred"][5] + 1) % 7
    np.savez(path, **arrays)


def shuffle_the_predictions(made: Release) -> None:
    path = made.folder / "conv-f0-s0.npz"
    with np.load(path) as file:
        arrays = dict(file)
    order = np.random.default_rng(0).permutation(len(arrays["y_pred"]))
    np.savez(path, **{name: array if name == "classes" else array[order] for name, array in arrays.items()})


def rename(made: Release, **cells: str) -> None:
    made.lines["conv-f0-s0"].update(cells)


def reverse_the_export(made: Release) -> None:
    with np.load(made.folder / "export-f0.npz") as file:
        arrays = dict(file)
    np.savez(made.folder / "export-f0.npz", **{**arrays, "time": -arrays["time"]})
    rename(made, export_sha256="")


def put_a_payload(made: Release) -> None:
    payloads.sample_inputs(made.folder, made.folder / "created")
    rename(made, checkpoint="model.pt2", checkpoint_sha256="")


L, P, E, M = "checkpoint_loading", "prediction_equivalence", "export_equivalence", "metric_equivalence"
CHANGES: dict[str, tuple[Callable[[Release], object], dict[str, str], str]] = {
    "nothing": (lambda r: None, {L: "passed", P: "passed", E: "passed", M: "passed"}, ""),
    "a prediction": (flip_a_prediction, {L: "passed", P: "failed", E: "passed", M: "failed"}, "1 of "),
    "order of rows": (shuffle_the_predictions, {L: "passed", P: "passed", E: "passed", M: "passed"}, ""),
    "wrong digest": (
        lambda r: rename(r, checkpoint_sha256="0" * 64),
        {L: "failed", P: "failed", E: "passed", M: "passed"},
        "EF602",
    ),
    "missing checkpoint": (
        lambda r: rename(r, checkpoint="gone.pt2"),
        {L: "failed", P: "failed", E: "passed", M: "passed"},
        "EF111",
    ),
    "no checkpoint": (
        lambda r: rename(r, checkpoint=""),
        {L: "not_run", P: "not_run", E: "passed", M: "passed"},
        "the inventory names no checkpoint",
    ),
    "a payload": (put_a_payload, {L: "failed", P: "failed", E: "passed", M: "passed"}, "EF116"),
    "data of another digest": (
        lambda r: rename(r, data_sha256="0" * 64),
        {L: "failed", P: "failed", E: "failed", M: "passed"},
        "EF602",
    ),
    "no data": (
        lambda r: rename(r, data="", data_sha256=""),
        {L: "passed", P: "passed", E: "not_run", M: "passed"},
        "the inventory names no data",
    ),
    "export in reverse": (
        reverse_the_export,
        {L: "passed", P: "failed", E: "failed", M: "passed"},
        "have another prediction",
    ),
    "another frozen value": (
        lambda r: r.frozen["conv-f0-s0"].update(macro_f1=0.5),
        {L: "passed", P: "passed", E: "passed", M: "failed"},
        "recorded as 0.5",
    ),
}


@pytest.mark.parametrize(("change", "wanted", "told"), CHANGES.values(), ids=list(CHANGES))
def test_each_gate_fails_for_its_own_reason_alone(
    watch_release: Release,
    change: Callable[[Release], object],
    wanted: dict[str, str],
    told: str,
    tmp_path: Path,
) -> None:
    made = one(watch_release, "conv-f0-s0", tmp_path, change)
    gated = evalframe.wisp.gate(made.inventory, made.catalogue, full_inference=["all"], layout="NCT")
    assert gated.statuses["conv-f0-s0"] == wanted
    assert told in " ".join(f.reason or "" for f in gated.findings)
    assert gated.exit_code == (ExitCode.GATE_FAILED if "failed" in wanted.values() else ExitCode.OK)
    assert not (tmp_path / "created").exists()


def test_without_data_a_batch_of_zeros_is_counted_apart(watch_release: Release, tmp_path: Path) -> None:
    made = one(watch_release, "gru-f1-s0", tmp_path, lambda r: r.lines["gru-f1-s0"].update(data="", data_sha256=""))
    gated = evalframe.wisp.gate(made.inventory, made.catalogue, layout="NCT")
    subjects = gated.body()["gates"][L]["subjects"]
    assert subjects == {"zeros": {"passed": 1, "failed": 0, "not_run": 0}}
    assert "(1 on zeros, having no data)" in gated.said[0]
