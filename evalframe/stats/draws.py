"""Random draws over clusters, by a fixed recipe: the same seed and cluster count give the same draws on any machine.

Clusters are positions 0..C-1 in the order of their sorted ids. One set of draws serves both sides of a comparison and
every metric, which is what makes the comparison paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

SwapMethod = Literal["swap_exact", "swap_mc"]

# Replicates come in blocks of about this many cells, so that 50,000 clusters need no more memory than 50.
BLOCK_CELLS = 4_000_000


def block_lengths(replicates: int, cells_each: int, block_cells: int = BLOCK_CELLS) -> Iterator[int]:
    """Lengths that add up to `replicates`, each at most `block_cells` cells of `cells_each` (but at least 1)."""
    length = max(1, block_cells // max(1, cells_each))
    for start in range(0, replicates, length):
        yield min(length, replicates - start)


def count_rows(indices: NDArray[np.int64], clusters: int) -> NDArray[np.int64]:
    """How often each of `clusters` stands in each row of `indices` [B, n]: the weight matrix [B, clusters]."""
    offset = np.arange(len(indices), dtype=np.int64)[:, None] * clusters
    return np.bincount((indices + offset).ravel(), minlength=len(indices) * clusters).reshape(-1, clusters)


def bootstrap_weights(
    clusters: int, replicates: int, seed: int | Sequence[int], block_cells: int = BLOCK_CELLS
) -> Iterator[NDArray[np.int64]]:
    """Blocks [b, clusters] of how often each cluster was drawn, in replicate order, `replicates` rows in all.

    The draws are `default_rng(seed).integers(0, clusters, size=(replicates, clusters))`; a generator keeps its place,
    so taking them block by block yields the same numbers. A second, independent resampling takes a seed sequence.
    """
    rng = np.random.default_rng(seed)
    for length in block_lengths(replicates, clusters, block_cells):
        yield count_rows(rng.integers(0, clusters, size=(length, clusters)), clusters)


def swap_method(clusters: int, replicates: int) -> SwapMethod:
    """All 2^C patterns where they are no more than the replicates asked for, else random ones."""
    # 2**clusters is not formed for many clusters: it would be a number of thousands of digits.
    return "swap_exact" if clusters <= 62 and 2**clusters <= replicates else "swap_mc"


def swap_count(clusters: int, replicates: int) -> int:
    """Number of patterns that `swap_patterns` yields."""
    return 2**clusters if swap_method(clusters, replicates) == "swap_exact" else replicates


def swap_patterns(
    clusters: int, replicates: int, seed: int, block_cells: int = BLOCK_CELLS
) -> Iterator[NDArray[np.int64]]:
    """Blocks [b, clusters] of 0 and 1; 1 exchanges the two sides' states of that cluster.

    Exact: every pattern once, in binary order (the first is the identity). Random:
    `default_rng([seed, 1]).integers(0, 2, size=(replicates, clusters))`.
    """
    if swap_method(clusters, replicates) == "swap_exact":
        bits = np.arange(clusters, dtype=np.int64)
        start = 0
        for length in block_lengths(2**clusters, clusters, block_cells):
            yield (np.arange(start, start + length, dtype=np.int64)[:, None] >> bits) & 1
            start += length
        return
    rng = np.random.default_rng([seed, 1])
    for length in block_lengths(replicates, clusters, block_cells):
        yield rng.integers(0, 2, size=(length, clusters))
