"""What the command tests share: a small store of two runs of windows, and the tour of `evalframe demo`, made once."""

from __future__ import annotations

import io
import shutil
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import evalframe
from evalframe.cli.run import run


class Tour(NamedTuple):
    """A folder that holds what `evalframe demo` made there, and what it printed."""

    folder: Path
    printed: str


@pytest.fixture(scope="session")
def _sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed")
    for name, wrong in (("a", 5), ("b", 12)):
        truth = np.arange(60) % 3
        guess = np.where(np.arange(60) % 60 < wrong, (truth + 1) % 3, truth)
        np.savez(
            folder / f"{name}.npz",
            y_true=truth,
            y_pred=guess,
            participant=np.arange(60) // 10,
            time=np.arange(60) % 10 * 2.0,
            classes=np.array(["sit", "walk", "run"]),
        )
        evalframe.wisp.score(folder / f"{name}.npz", store=folder / "store", tags={"method": name, "fold": "0"})
    return folder / "store"


@pytest.fixture
def store(_sealed: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    shutil.copytree(_sealed, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture(scope="session")
def _toured(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    folder = tmp_path_factory.mktemp("tour")
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with chdir(folder), redirect_stdout(printed):
        assert run(["demo"]) == 0
    printed.seek(0)
    return Tour(folder, printed.read())


@pytest.fixture
def tour(_toured: Tour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tour:
    """A copy that a test may change, and works in."""
    shutil.copytree(_toured.folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Tour(tmp_path, _toured.printed)
