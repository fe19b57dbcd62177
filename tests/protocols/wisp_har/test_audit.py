"""`wisp audit` over real models: what is planted among 36 is found and explained, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import evalframe
from tests.audit.releases import Release, scores


@pytest.fixture
def planted(watch_release: Release, tmp_path: Path) -> Release:
    """The release with sidecars of its own, five of them wrong; the files of the models stay where they are."""
    return Release(
        tmp_path,
        {
            model: {**line, "predictions": str(watch_release.folder / line["predictions"])}
            for model, line in watch_release.lines.items()
        },
        {model: dict(own) for model, own in watch_release.frozen.items()},
        {model: dict(own) for model, own in watch_release.sidecars.items()},
        watch_release.windows,
    )


def test_planted_causes_are_found_among_real_models(planted: Release) -> None:
    said, frozen = planted.sidecars, planted.frozen
    said["cnn-f0-s0"]["macro_f1"] *= 6 / 7  # fold 0 omits an activity
    said["cnn-f1-s0"]["macro_f1"] = float(np.float32(frozen["cnn-f1-s0"]["macro_f1"]))
    said["conv-f2-s1"]["balanced_accuracy"] *= 100
    said["gru-f1-s0"], said["gru-f1-s1"] = dict(frozen["gru-f1-s1"]), dict(frozen["gru-f1-s0"])
    said["gru-f3-s2"]["macro_f1"] += 0.0123456789
    truth, guess = planted.windows["conv-f3-s0"]
    said["conv-f3-s0"]["macro_f1"] = scores(truth[:-1], guess[:-1], 7)["macro_f1"]
    planted.write()
    audited = evalframe.wisp.audit(planted.inventory, planted.catalogue, output=planted.folder / "out")
    rows = {(row["run_id"], row["metric"]): row for row in audited.to_pylist()}
    wanted = {
        ("cnn-f1-s0", "macro_f1"): "float32",
        ("conv-f2-s1", "balanced_accuracy"): "per cent",
        ("gru-f1-s0", "macro_f1"): "swapped with run gru-f1-s1",
        ("gru-f1-s1", "macro_f1"): "swapped with run gru-f1-s0",
        ("conv-f3-s0", "macro_f1"): "partition without the last window",
    }
    for place, told in wanted.items():
        assert (rows[place]["explanation"], rows[place]["explained_by"]) == ("explained", [told])
    assert rows["gru-f3-s2", "macro_f1"]["explanation"] == "unexplained"
    assert "classes: vocabulary" in " ".join(rows["cnn-f0-s0", "macro_f1"]["explained_by"])
    assert {model for model, _ in rows} == {
        "cnn-f0-s0", "cnn-f1-s0", "conv-f2-s1", "gru-f1-s0", "gru-f1-s1", "gru-f3-s2", "conv-f3-s0",
    }  # fmt: skip
    body = json.loads((planted.folder / "out" / "audit.json").read_text())
    assert (body["n_models"], body["n_discrepant_models"]) == (36, 7)
    assert body["n_discrepancies"] == len(rows) == sum(body["by_metric"].values())


def test_a_release_that_agrees_has_no_findings(planted: Release) -> None:
    planted.write()
    assert len(evalframe.wisp.audit(planted.inventory, planted.catalogue).table) == 0
