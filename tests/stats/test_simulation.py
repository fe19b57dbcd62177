"""Two equally good models are told apart in about one comparison of twenty, and only if clusters are resampled."""

import pytest

from tests.stats.simulation import simulate


@pytest.mark.parametrize("position", [0, 1])
def test_clusters_give_the_promised_error_and_coverage(position: int, by_cluster: list) -> None:  # type: ignore[type-arg]
    rates = by_cluster[position]
    assert rates.within(), rates


def test_items_of_one_cluster_are_not_independent() -> None:
    for rates in simulate(40, by_item=True, replicates=299):
        assert not rates.within(), rates


@pytest.fixture(scope="module")
def by_cluster() -> list:  # type: ignore[type-arg]
    return simulate(200, replicates=399)
