"""The evaluation loop by itself: what is asked, in which batches, how much it holds, what a failure costs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.errors import PredictorRefused
from evalframe.features.prefixes import padded, prefix_ends, query_frames
from evalframe.inference.progress import Query, load_factory, load_predictor
from evalframe.inference.progress_queries import Answer, Video, answers

TASKS = ("fold", "stack")


def frames(n: int, number: int) -> np.ndarray:
    """Frame i of video `number` is all of colour (i, number, 0)."""
    made = np.zeros((n, 2, 2, 3), np.uint8)
    made[..., 0] = np.arange(n)[:, None, None]
    made[..., 1] = number
    return made


def videos(lengths: Sequence[int]) -> list[Video]:
    return [Video(f"v{i}", n, lambda n=n, i=i: frames(n, i)) for i, n in enumerate(lengths)]


class Recording:
    """Answers with the last frame's number, and keeps what it saw."""

    def __init__(self) -> None:
        self.batches: list[list[Query]] = []

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        self.batches.append(list(queries))
        return [(float(query.frames[-1, 0, 0, 0]), 0.5) for query in queries]


def test_every_prefix_is_asked_for_every_task_and_batches_run_across_both() -> None:
    model = Recording()
    lengths = (3, 20, 1, 9)
    found = list(answers(model, videos(lengths), lambda video: TASKS, batch_size=5))
    expected = [
        (f"v{i}", task, index, end)
        for i, n in enumerate(lengths)
        for task in TASKS
        for index, end in enumerate(prefix_ends(n))
    ]
    assert [answer[:4] for answer in found] == expected
    assert all(answer.progress == answer.frame_index for answer in found)
    sizes = [len(batch) for batch in model.batches]
    assert sizes == [5] * (len(expected) // 5) + [len(expected) % 5]
    assert any(len({query.task for query in batch}) > 1 for batch in model.batches)
    assert any(len({int(query.frames[0, 0, 0, 1]) for query in batch}) > 1 for batch in model.batches)


def test_a_query_holds_eight_frames_of_its_prefix() -> None:
    model = Recording()
    list(answers(model, videos((20,)), lambda video: ("fold",), batch_size=8))
    for query, end in zip(model.batches[0], prefix_ends(20), strict=True):
        assert query.frames.shape == (8, 2, 2, 3)
        assert tuple(query.frames[:, 0, 0, 0]) == padded(query_frames(end))
        assert query.n_frames == min(8, end + 1)


def test_no_more_than_a_few_videos_are_held_however_many_there_are() -> None:
    alive: list[weakref.ref[np.ndarray]] = []
    most = 0

    def reading(n: int) -> np.ndarray:
        made = frames(n, 0)
        alive.append(weakref.ref(made))
        return made

    class Counting(Recording):
        def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
            nonlocal most
            if len(alive) % 10 == 0:
                gc.collect()  # dear in a long test run; what only a cycle keeps alive would add up between these
            most = max(most, sum(ref() is not None for ref in alive))
            return [(0.5, 0.5)] * len(queries)

    many = [Video(f"v{i}", 12, lambda: reading(12)) for i in range(50)]
    assert len(list(answers(Counting(), many, lambda video: TASKS, batch_size=4))) == 50 * 8 * 2
    assert len(alive) == 50
    assert most <= 3


def test_a_video_that_cannot_be_read_stops_the_evaluation() -> None:
    def damaged() -> np.ndarray:
        raise OSError("damaged")

    with pytest.raises(OSError, match="damaged"):
        list(answers(Recording(), [*videos((5,)), Video("x", 5, damaged)], lambda video: TASKS, batch_size=4))


class Failing(Recording):
    """Cannot be asked about one video and one task."""

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        if any(int(q.frames[0, 0, 0, 1]) == 1 and q.task == "fold" for q in queries):
            raise ValueError("no\u202ething")
        return super().predict(queries)


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_a_failure_is_one_video_and_one_task(batch_size: int) -> None:
    found = list(answers(Failing(), videos((9, 9, 9)), lambda video: TASKS, batch_size))
    failed = {(answer.trajectory_id, answer.query_task) for answer in found if answer.error is not None}
    assert failed == {("v1", "fold")}
    assert len(found) == 3 * 2 * 8
    assert {answer.error for answer in found if answer.error} == {"ValueError: no\\u202ething"}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ((float("nan"), 0.5), "progress nan"),
        ((1e9, 0.5), "progress 1000000000.0"),
        ((0.5, float("nan")), "success probability nan"),
        ((0.5, 1.0000001), "success probability 1.0000001"),
        ((0.5, -0.1), "success probability -0.1"),
        (("much", 0.5), "ValueError"),
        ((0.5,), "ValueError"),
        (None, "TypeError"),
    ],
)
def test_what_is_no_prediction_fails(said: object, error: str) -> None:
    class Odd(Recording):
        def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
            return [said] * len(queries)  # type: ignore[list-item]

    (answer,) = answers(Odd(), videos((2,)), lambda video: ("fold",), batch_size=4)
    assert answer == Answer("v0", "fold", 0, 1, None, None, answer.error)
    assert answer.error is not None
    assert error in answer.error


def test_the_edges_of_what_is_allowed_are_predictions() -> None:
    class Edge(Recording):
        def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
            return [(-0.5, 0.0), (np.float32(1.5), np.int64(1))][: len(queries)]  # type: ignore[list-item]

    found = list(answers(Edge(), videos((3,)), lambda video: ("fold",), batch_size=2))
    assert [(a.progress, a.success_probability, a.error) for a in found] == [(-0.5, 0.0, None), (1.5, 1.0, None)]


def test_a_predictor_that_needs_torch_is_answered_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_torch.py").write_text("raise ModuleNotFoundError('no torch here', name='torch')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PredictorRefused) as refused:
        load_factory("needs_torch:factory")
    assert refused.value.hint == "pip install 'evalframe[torch]'"


@pytest.mark.parametrize(("made", "told"), [(OSError("no such weights"), "OSError: no such weights"), (1, "int from")])
def test_a_factory_that_fails_is_refused_and_no_model_that_fails_everywhere(
    tmp_path: Path, made: object, told: str
) -> None:
    def factory(checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    with pytest.raises(PredictorRefused) as refused:
        load_predictor(factory, tmp_path, device="cpu", robometer_repo=None)
    assert told in refused.value.found
