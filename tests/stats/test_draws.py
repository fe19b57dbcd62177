"""The draws follow the written recipe, whatever the size of the blocks they come in."""

from collections import Counter

import numpy as np
import pytest

from evalframe.stats.draws import bootstrap_weights, swap_count, swap_method, swap_patterns
from tests.oracles import statistics as oracle


@pytest.mark.parametrize("clusters", [1, 3, 200, 70_000])
@pytest.mark.parametrize("block_cells", [1, 7_000, 10**9])
def test_bootstrap_weights_count_the_drawn_clusters(clusters: int, block_cells: int) -> None:
    names = [f"{i:06d}" for i in range(clusters)]
    expected = oracle.drawn_clusters(names, 5, seed=11)
    weights = np.concatenate(list(bootstrap_weights(clusters, 5, 11, block_cells)))
    assert weights.shape == (5, clusters)
    for row, drawn in zip(weights, expected, strict=True):
        assert {names[i]: int(row[i]) for i in np.flatnonzero(row)} == Counter(drawn)


def test_a_second_resampling_is_another_stream() -> None:
    first = np.concatenate(list(bootstrap_weights(50, 20, 0)))
    second = np.concatenate(list(bootstrap_weights(50, 20, [0, 2])))
    expected = np.random.default_rng([0, 2]).integers(0, 50, size=(20, 50))
    assert (second[3] == np.bincount(expected[3], minlength=50)).all()
    assert not (first == second).all()


@pytest.mark.parametrize("block_cells", [1, 6, 10**9])
def test_every_pattern_is_visited_once_when_they_are_few(block_cells: int) -> None:
    patterns = np.concatenate(list(swap_patterns(3, 8, 0, block_cells)))
    assert swap_method(3, 8) == "swap_exact"
    assert swap_count(3, 8) == 8
    assert not patterns[0].any()
    assert sorted(map(tuple, patterns.tolist())) == [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]


@pytest.mark.parametrize("block_cells", [1, 10**9])
def test_random_patterns_follow_the_recipe_when_there_are_too_many(block_cells: int) -> None:
    patterns = np.concatenate(list(swap_patterns(3, 7, 5, block_cells)))
    assert swap_method(3, 7) == "swap_mc"
    assert swap_count(3, 7) == 7
    assert (patterns == np.random.default_rng([5, 1]).integers(0, 2, size=(7, 3))).all()


def test_thousands_of_clusters_are_never_enumerated() -> None:
    assert swap_method(50_000, 10_000) == "swap_mc"
