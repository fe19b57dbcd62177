"""A new store for each test."""

from pathlib import Path

import pytest

from evalframe.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True, durable=False)
