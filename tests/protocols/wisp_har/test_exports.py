"""Two exports of real windows: seconds against ordinals is the documented case, another order is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import evalframe
from tests.audit.releases import Release


def test_seconds_against_ordinals_differ_in_time_values_alone(watch_release: Release) -> None:
    for fold in range(4):
        folder = watch_release.folder
        found = evalframe.wisp.compare_exports(folder / f"data-f{fold}.npz", folder / f"export-f{fold}.npz")
        assert {row["name"]: row["equal"] for row in found.to_pylist()} == {
            "signals": True,
            "participants": True,
            "labels": True,
            "permutation": True,
            "time": False,
        }
        assert found.equal


def test_time_that_runs_over_all_series_of_a_person_is_another_order(watch_release: Release, tmp_path: Path) -> None:
    """Were the person the participant, times of different series would tie and interleave."""
    folder = watch_release.folder
    for side in ("data", "export"):
        with np.load(folder / f"{side}-f1.npz") as file:
            arrays = dict(file)
        people = np.array([name.partition("/")[0] for name in arrays["participant"]])
        counts = np.arange(len(people)) if side == "export" else arrays["time"]
        np.savez(tmp_path / f"{side}.npz", **{**arrays, "participant": people, "time": counts})
    found = evalframe.wisp.compare_exports(tmp_path / "data.npz", tmp_path / "export.npz")
    assert {row["name"]: row["equal"] for row in found.to_pylist()}["permutation"] is False
