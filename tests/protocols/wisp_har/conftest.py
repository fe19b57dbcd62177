"""One release of 36 models fitted on real windows, shared by the tests of gates, audit and exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.audit.releases import Release
from tests.protocols.wisp_har import watch


@pytest.fixture(scope="session")
def watch_release(real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Release:
    """36 models: checkpoints, data in seconds, exports in ordinals, saved predictions, a catalogue that agrees."""
    return watch.build(tmp_path_factory.mktemp("watch"), watch.real(real_data("har_watch")))
