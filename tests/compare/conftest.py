"""A new store for each test, and one of each other system that all tests read."""

from pathlib import Path

import pytest

from evalframe.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True, durable=False)


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Answers of `a` and `b`; read them only."""
    from tests.compare.test_choices import add, questions

    made = Store.open(tmp_path_factory.mktemp("answers") / "store", create=True, durable=False)
    add(made, "a", questions(160, 24, skill=0.6, seed=1))
    add(made, "b", questions(160, 24, skill=0.8, seed=2))
    return made


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Traces of `a` and `b`; read them only."""
    from tests.compare.test_other_systems import add_videos

    made = Store.open(tmp_path_factory.mktemp("videos") / "store", create=True, durable=False)
    add_videos(made)
    return made


@pytest.fixture(scope="session")
def forecasts(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Forecasts of `a` and `b` with thresholds from one other session; read them only."""
    from tests.compare.test_other_systems import floor_runs

    folder = tmp_path_factory.mktemp("forecasts")
    made = Store.open(folder / "store", create=True, durable=False)
    floor_runs(made, folder, calibration=1)
    return made
