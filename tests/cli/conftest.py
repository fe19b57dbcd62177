"""A small store that the command tests share: two runs of windows, scored once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import evalframe


@pytest.fixture(scope="session")
def _sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    for run, wrong in (("a", 5), ("b", 12)):
        truth = np.arange(60) % 3
        guess = np.where(np.arange(60) % 60 < wrong, (truth + 1) % 3, truth)
        np.savez(
            folder / f"{run}.npz",
            y_true=truth,
            y_pred=guess,
            participant=np.arange(60) // 10,
            time=np.arange(60) % 10 * 2.0,
            classes=np.array(["sit", "walk", "run"]),
        )
        evalframe.wisp.score(folder / f"{run}.npz", store=folder / "store", tags={"method": run, "fold": "0"})
    return folder / "store"


@pytest.fixture
def store(_sealed: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    shutil.copytree(_sealed, tmp_path / "store")
    return tmp_path / "store"
