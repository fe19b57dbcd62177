"""Which frames of a video a model is asked about: where prefixes end and which frames of a prefix it sees.

Source: Robometer frozen evaluation, "Metrics and historical protocol distinctions", Progress.
"""

from __future__ import annotations

import numpy as np

MAX_PREFIXES = 8
"""Prefixes asked about per trajectory."""

FRAMES_PER_QUERY = 8
"""Frames shown per prefix."""


def prefix_ends(n_frames: int) -> tuple[int, ...]:
    """Last frames of the prefixes of a trajectory of `n_frames` frames, rising; () below two frames.

    `int(linspace(1, n_frames - 1, n))` for n = min(8, n_frames - 1), truncated as the source truncates, in integers.
    """
    n = min(MAX_PREFIXES, n_frames - 1)
    if n < 1:
        return ()
    if n == 1:
        return (1,)
    return tuple(1 + i * (n_frames - 2) // (n - 1) for i in range(n))


def query_frames(end: int) -> tuple[int, ...]:
    """Frames shown for the prefix that ends with frame `end`: all up to eight, else eight spread from 0 to `end`."""
    if end + 1 <= FRAMES_PER_QUERY:
        return tuple(range(end + 1))
    return tuple(int(frame) for frame in np.rint(np.linspace(0, end, FRAMES_PER_QUERY)))


def padded(frames: tuple[int, ...]) -> tuple[int, ...]:
    """`frames` with the last one repeated up to eight, so that queries of different prefixes share a batch."""
    return frames + frames[-1:] * (FRAMES_PER_QUERY - len(frames))
