"""Which metrics are found without a query per replicate. A fast way that silently stopped agreeing would show here."""

from __future__ import annotations

import pytest

from evalframe.compare.sampling import Sample, Sampler
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import add_run, items


@pytest.fixture
def by_query(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Metrics that a comparison asks the SQL for in every replicate."""
    found: set[str] = set()
    plain = Sampler.sample

    def sample(self: Sampler, *args: object) -> Sample:
        made = plain(self, *args)  # type: ignore[arg-type]
        found.update(made.rest)
        assert not made.unlike
        return made

    monkeypatch.setattr(Sampler, "sample", sample)
    return found


def test_windows(store: Store, by_query: set[str]) -> None:
    add_run(store, "a", items(120, 8, skill=0.6, seed=1))
    add_run(store, "b", items(120, 8, skill=0.7, seed=2))
    compare(store, "a", ["b"], replicates=20)
    assert by_query == set()


def test_choices(answers: Store, by_query: set[str]) -> None:
    compare(answers, "a", ["b"], replicates=20, strata=["headline", "all"])
    # Absolute gaps and means of means are no quotients of sums.
    assert by_query <= {"ece", "objective", "family_balanced_accuracy", "largest_perturbation_change"}


def test_videos(videos: Store, by_query: set[str]) -> None:
    compare(videos, "a", ["b"], replicates=20)
    assert by_query == set()


def test_floor(forecasts: Store, by_query: set[str]) -> None:
    compare(forecasts, "a", ["b"], replicates=20, horizons=[1.0])
    assert by_query == set()
