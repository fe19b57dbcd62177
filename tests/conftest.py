"""Fixtures that every room of the tests may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """`real_data("tsml")`: that folder of the published data, or a skip that says why."""

    def folder(name: str) -> Path:
        root = os.environ.get("EVALFRAME_REAL_DATA")
        if not root:
            pytest.skip("EVALFRAME_REAL_DATA is not set: real published data is not shipped with the project")
        path = Path(root) / name
        assert path.is_dir(), f"EVALFRAME_REAL_DATA names {root}, which has no folder {name}"
        return path

    return folder
