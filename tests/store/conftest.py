"""Objects in memory, for the tests of a store that lies elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.objects import Objects, reach


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Objects:
    kept = Objects()
    reach(monkeypatch, tmp_path / "cache", memory=kept)
    return kept
