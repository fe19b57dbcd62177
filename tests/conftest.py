"""Fixtures that every room of the tests may use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# Shrinking a failure can take minutes; where nobody watches, the failing example itself is enough.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
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


@pytest.fixture
def leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary files go into a folder of the test, which holds no spill folder at its end."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    assert not list(place.glob("evalframe-spill-*"))


# Seconds each leg of the suite may take on two cores; of several workers that is a share of their sum. Printed, never
# asserted: a slow machine must not fail a test.
_BUDGETS = {
    "core": 240,
    "wisp": 180,
    "floor": 120,
    "robometer": 120,
    "kev": 60,
    "publish": 300,
    "engines": 180,
    "faults": 120,
}
_LEG_OF_FOLDER = {
    "tests/protocols/wisp_har": "wisp",
    "tests/protocols/easycom_floor": "floor",
    "tests/protocols/robometer_frozen": "robometer",
    "tests/protocols/kev_choice": "kev",
    "tests/publish": "publish",
    "tests/audit/test_engines": "engines",
    "tests/audit/test_parity": "kev",
    "tests/audit": "wisp",
    "tests/inference": "wisp",
    "tests/engines": "engines",
    "tests/faults": "faults",
    "tests/store": "faults",
}
_spent: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    leg = next((leg for folder, leg in _LEG_OF_FOLDER.items() if report.nodeid.startswith(folder)), "core")
    _spent[leg] = _spent.get(leg, 0.0) + report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    workers = terminalreporter.config.getoption("numprocesses", None) or 1
    for leg in (name for name in _BUDGETS if name in _spent):
        terminalreporter.write_line(f"leg {leg}: {_spent[leg] / workers:.0f} s of {_BUDGETS[leg]} s")
