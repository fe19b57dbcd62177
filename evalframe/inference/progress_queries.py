"""Videos -> queries -> predictions: frames streamed, queries batched, a failure kept to its own trajectory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalframe.errors import printable
from evalframe.features.prefixes import padded, prefix_ends, query_frames
from evalframe.inference.progress import Predictor, Query

PROGRESS_LIMIT = 1e6
"""Beyond this a prediction is no progress; the contract of `progress_traces` has the same bound."""

_ERROR_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Video:
    """One trajectory to be asked about. read: gives its frames (N, H, W, 3); n_frames: N, known without reading."""

    trajectory_id: str
    n_frames: int
    read: Callable[[], NDArray[np.uint8]]


class Answer(NamedTuple):
    """One prediction, or why there is none."""

    trajectory_id: str
    query_task: str
    prefix_index: int
    frame_index: int
    progress: float | None
    success_probability: float | None
    error: str | None


class _Asked(NamedTuple):
    trajectory_id: str
    prefix_index: int
    frame_index: int
    query: Query


def answers(
    predictor: Predictor,
    videos: Sequence[Video],
    tasks_of: Callable[[Video], Sequence[str]],
    batch_size: int,
) -> Iterator[Answer]:
    """Every prefix of every video for every task of `tasks_of`, in that order; batches run across all three.

    At most two videos and one batch are in memory. A video of fewer than two frames has no prefix and no answer.
    """
    queue = _queries(videos, tasks_of)
    while batch := list(islice(queue, batch_size)):
        yield from _answered(predictor, batch)


def _queries(videos: Sequence[Video], tasks_of: Callable[[Video], Sequence[str]]) -> Iterator[_Asked]:
    for video, frames in _read_ahead([video for video in videos if prefix_ends(video.n_frames)]):
        shown = []
        for prefix_index, end in enumerate(prefix_ends(video.n_frames)):
            chosen = query_frames(end)
            shown.append((prefix_index, end, frames[list(padded(chosen))], len(chosen)))
        for task in tasks_of(video):
            for prefix_index, end, pixels, n_frames in shown:
                yield _Asked(video.trajectory_id, prefix_index, end, Query(task, pixels, n_frames))


def _read_ahead(videos: Sequence[Video]) -> Iterator[tuple[Video, NDArray[np.uint8]]]:
    """Each video with its frames, the next one being unpacked while the model looks at this one."""
    if not videos:
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="frames") as reader:
        coming = reader.submit(videos[0].read)
        for i, video in enumerate(videos):
            frames = coming.result()
            if i + 1 < len(videos):
                coming = reader.submit(videos[i + 1].read)
            yield video, frames


def _answered(predictor: Predictor, batch: Sequence[_Asked]) -> list[Answer]:
    """The batch's answers; where it fails as a whole, each trajectory and task of it is asked about alone."""
    try:
        return _checked(batch, predictor.predict([asked.query for asked in batch]))
    except Exception as error:
        parts = _by_trace(batch)
        if len(parts) == 1:
            return [_failed(asked, _said(error)) for asked in batch]
        return [answer for part in parts for answer in _answered(predictor, part)]


def _by_trace(batch: Sequence[_Asked]) -> list[list[_Asked]]:
    parts: dict[tuple[str, str], list[_Asked]] = {}
    for asked in batch:
        parts.setdefault((asked.trajectory_id, asked.query.task), []).append(asked)
    return list(parts.values())


def _checked(batch: Sequence[_Asked], predictions: Sequence[tuple[float, float]]) -> list[Answer]:
    """Raises ValueError where there is not one pair of numbers per query: then none can be told to belong to which."""
    if len(predictions) != len(batch):
        raise ValueError(f"{len(predictions)} predictions for {len(batch)} queries")
    checked = []
    for asked, (progress, success) in zip(batch, predictions, strict=True):
        p, s = float(progress), float(success)
        if not math.isfinite(p) or abs(p) > PROGRESS_LIMIT:
            checked.append(_failed(asked, f"progress {p} is no number within {PROGRESS_LIMIT:g}"))
        elif not 0.0 <= s <= 1.0:
            checked.append(_failed(asked, f"success probability {s} is outside [0, 1]"))
        else:
            checked.append(
                Answer(asked.trajectory_id, asked.query.task, asked.prefix_index, asked.frame_index, p, s, None)
            )
    return checked


def _failed(asked: _Asked, error: str) -> Answer:
    return Answer(asked.trajectory_id, asked.query.task, asked.prefix_index, asked.frame_index, None, None, error)


def _said(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}", _ERROR_LENGTH)
