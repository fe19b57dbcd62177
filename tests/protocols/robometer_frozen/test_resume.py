"""An evaluation killed at any write goes on where it was and ends with the bytes of one that was never killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import StepClaimed
from evalframe.inference.progress import Query
from evalframe.robometer import evaluate
from evalframe.store import locks
from evalframe.verbs import robometer_phases
from tests.protocols.robometer_frozen import videos

ROOT = Path(__file__).resolve().parents[3]
PART = 6


class Killed(BaseException):
    """Stands for SIGKILL: nothing that catches errors catches it."""


class Counting:
    """The arithmetic model, counting what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.model = videos.Arithmetic(0.5)

    def __call__(self, checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Counting:
        return self

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        self.asked += [(query.task, query.frames.tobytes()) for query in queries]
        return self.model.predict(queries)


def run(files: videos.Files, output: Path, model: Any) -> None:
    evaluate(
        predictor=model,
        dataset=files.dataset,
        task_registry=files.registry,
        split="test_ood",
        checkpoint_root=files.checkpoints,
        base_model=files.base,
        output=output,
        steps=[0],
        setting="A",
        settings={"rows_per_outcome": "2", "top_k": "5"},
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> videos.Files:
    monkeypatch.setattr(robometer_phases, "PART", PART)
    made = videos.write(tmp_path, videos.rows_of(videos.OOD, 2))
    videos.write_checkpoints(made, [])
    return made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The files of an evaluation that nothing interrupts, and how many queries it asks."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(robometer_phases, "PART", PART)
        return uninterrupted(folder)


def uninterrupted(folder: Path) -> tuple[dict[str, bytes], int]:
    made = videos.write(folder, videos.rows_of(videos.OOD, 2))
    videos.write_checkpoints(made, [])
    model = Counting()
    run(made, folder / "out", model)
    return tree(folder / "out"), len(model.asked)


def dying(patch: pytest.MonkeyPatch, at: int, *, after: bool) -> list[int]:
    """Make the `at`-th write (from 1) of this process its last, before or after it is in place; counts the writes."""
    count = [0]

    def wrap(real: Callable[..., None]) -> Callable[..., None]:
        def write(*arguments: Any, **named: Any) -> None:
            count[0] += 1
            if count[0] == at and not after:
                raise Killed
            real(*arguments, **named)
            if count[0] == at:
                raise Killed

        return write

    patch.setattr(os, "replace", wrap(os.replace))
    patch.setattr(os, "link", wrap(os.link))
    return count


# Targets, manifest, claim, worker, checkpoint; three parts, traces, progress, failure; three parts, traces, filtering,
# metrics.
N_WRITES = 17


def test_the_writes_are_as_many_as_the_kills_below_reach(files: videos.Files, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        count = dying(patch, 0, after=False)
        run(files, tmp_path / "out", Counting())
    assert count[0] == N_WRITES


# One of each kind; `python -m tests.full robometer_kills` dies at every one.
KINDS = {
    "targets": 1,
    "claim": 3,
    "part": 7,
    "traces": 9,
    "progress": 10,
    "all traces": 15,
    "filtering": 16,
    "last": 17,
}


@pytest.mark.parametrize("at", KINDS.values(), ids=KINDS)
def test_killed_at_a_write_it_ends_with_the_same_bytes(
    files: videos.Files, tmp_path: Path, whole: tuple[dict[str, bytes], int], at: int
) -> None:
    output = tmp_path / "killed"
    expected, enough = whole
    asked = 0
    # Before the write first, so that the second life meets the same write again and dies after it.
    for after in (False, True):
        model = Counting()
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, at if not after else 1 + (at > 5), after=after)
            with pytest.raises(Killed):
                run(files, output, model)
        asked += len(model.asked)
    last = Counting()
    run(files, output, last)
    assert tree(output) == expected
    # A life repeats at most the part that the one before it was killed in.
    most = PART * 8 * len(videos.OOD)
    assert enough <= asked + len(last.asked) <= enough + 2 * most


_CHILD = """
import os, signal, sys
from pathlib import Path
from evalframe.verbs import robometer_phases
from tests.protocols.robometer_frozen import test_resume, videos

robometer_phases.PART = test_resume.PART
left = int(sys.argv[2])

class Model(videos.Arithmetic):
    def predict(self, queries):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(queries)

def factory(checkpoint, *, device, robometer_repo):
    return Model(0.5)

factory.__module__, factory.__qualname__ = "tests.protocols.robometer_frozen.test_resume", "Counting"
test_resume.run(videos.Files(Path(sys.argv[1])), Path(sys.argv[1]) / "killed", factory)
"""


@pytest.mark.parametrize("batches", [[9, 40], [70]])
def test_a_process_that_is_really_killed(
    files: videos.Files, tmp_path: Path, whole: tuple[dict[str, bytes], int], batches: Sequence[int]
) -> None:
    for n in batches:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, str(tmp_path), str(n)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=False,
        )
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    run(files, tmp_path / "killed", Counting())
    assert tree(tmp_path / "killed") == whole[0]


@pytest.mark.parametrize(
    "gone",
    [
        ("failure.json",),
        ("progress.json", "filtering.json", "metrics.json"),
        ("traces.parquet",),
    ],
    ids="+".join,
)
def test_a_file_that_was_taken_away_is_written_again(
    files: videos.Files, tmp_path: Path, whole: tuple[dict[str, bytes], int], gone: Sequence[str]
) -> None:
    run(files, tmp_path / "out", Counting())
    for name in gone:
        (tmp_path / "out/steps/step-000000" / name).unlink()
    again = Counting()
    run(files, tmp_path / "out", again)
    assert tree(tmp_path / "out") == whole[0]
    assert len(again.asked) == (whole[1] if "traces.parquet" in gone else 0)


def full_robometer_kills() -> None:
    """Every write of an evaluation, killed before and after it: the bytes at the end are those of a whole run."""
    for at in range(1, N_WRITES + 1):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(robometer_phases, "PART", PART)
            made = videos.write(Path(folder), videos.rows_of(videos.OOD, 2))
            videos.write_checkpoints(made, [])
            expected = uninterrupted(Path(folder) / "whole")
            test_killed_at_a_write_it_ends_with_the_same_bytes(made, Path(folder), expected, at)
    print(f"{N_WRITES} writes, killed before and after each: same bytes")


def test_two_processes_of_one_name_do_not_share_a_step(files: videos.Files, tmp_path: Path) -> None:
    run(files, tmp_path / "out", Counting())
    with locks.exclusive(tmp_path / "out/steps/step-000000/claim"), pytest.raises(StepClaimed):
        run(files, tmp_path / "out", Counting())
