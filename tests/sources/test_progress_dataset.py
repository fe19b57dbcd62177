"""A processed data set gives exactly the rows its split selects, and every row it cannot mean is named."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalframe.errors import (
    ArchiveRefused,
    ContractError,
    EvalframeError,
    FramesRefused,
    RegistryRefused,
    SelectionDiffers,
)
from evalframe.sources.progress_dataset import Selection, select
from evalframe.sources.progress_registry import Split, read_registry
from tests.protocols.robometer_frozen import videos

Rows = list[dict[str, Any]]


def rows() -> Rows:
    return videos.rows_of(videos.OOD, 2)


def selection(files: videos.Files, split: Split = "test_ood", *, tasks: int = 4, each: int = 2) -> Selection:
    return select(files.dataset, read_registry(files.registry, split), tasks=tasks, rows_per_outcome=each)


def refused(kind: type[EvalframeError], files: videos.Files, **how: Any) -> EvalframeError:
    with pytest.raises(kind) as caught:
        selection(files, **how)
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 4
    return caught.value


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("shards", [1, 3])
def test_the_selection_is_the_same_however_it_is_stored(tmp_path: Path, text: pa.DataType, shards: int) -> None:
    one = selection(videos.write(tmp_path / "one", rows()))
    other = selection(videos.write(tmp_path / "other", rows()[::-1], shards=shards, text=text))
    assert one.digest == other.digest
    assert one.targets.dataset_id == other.targets.dataset_id
    assert [r.trajectory_id for r in one.rows] == sorted(row["id"] for row in rows())
    assert one.tasks == videos.OOD


def test_targets_are_widened_once_and_frames_are_what_was_saved(tmp_path: Path) -> None:
    found = selection(videos.write(tmp_path, rows()))
    by_id = {row["id"]: row for row in rows()}
    for row in found.rows:
        assert row.target == tuple(float(np.float32(v)) for v in by_id[row.trajectory_id]["target_progress"])
        assert np.array_equal(row.frames.read(), by_id[row.trajectory_id]["video"])


def test_rows_of_other_tasks_are_left_and_counted(tmp_path: Path) -> None:
    both = rows() + [{**row, "id": "x" + row["id"]} for row in videos.rows_of(videos.IND[:2], 3)]
    assert selection(videos.write(tmp_path, both)).n_other == 12


def test_a_row_may_name_its_task_by_id(tmp_path: Path) -> None:
    by_id = {task: f"ood-{i}" for i, task in enumerate(videos.OOD)}
    one = selection(videos.write(tmp_path / "one", rows()))
    other = selection(videos.write(tmp_path / "other", [{**row, "task": by_id[row["task"]]} for row in rows()]))
    assert one.digest == other.digest


def test_the_shortfall_is_exact(tmp_path: Path) -> None:
    short = [row for row in rows() if row["task"] != videos.OOD[2]]
    short.remove(next(r for r in short if r["task"] == videos.OOD[0] and r["quality_label"] == "success"))
    short.append({**short[0], "id": "one-more"})
    error = refused(SelectionDiffers, videos.write(tmp_path, short))
    assert f"{videos.OOD[0]}: 1 success, 1 missing" in error.found
    assert f"{videos.OOD[2]}: 0 success, 2 missing" in error.found
    assert f"{videos.OOD[2]}: 0 failure, 2 missing" in error.found
    assert "3 " in error.found
    assert "1 too many" in error.found


def test_another_number_of_tasks_is_another_selection(tmp_path: Path) -> None:
    error = refused(SelectionDiffers, videos.write(tmp_path, rows()), tasks=12)
    assert error.found.startswith("4 tasks in the registry, 8 missing")


def test_an_id_that_two_shards_share_names_both_rows(tmp_path: Path) -> None:
    files = videos.write(tmp_path, rows())
    twice = rows()
    twice[-1]["id"] = twice[0]["id"]
    videos.write_shards(files.dataset, [twice[:8], twice[8:]])
    error = refused(ContractError, files)
    assert "data-00000-of-00002.arrow" in error.found
    assert "data-00001-of-00002.arrow" in error.found


def test_one_id_in_two_unicode_forms_is_one_id(tmp_path: Path) -> None:
    files = videos.write(tmp_path, rows())
    twice = rows()
    twice[0]["id"], twice[1]["id"] = "caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9")
    videos.write_shards(files.dataset, [twice])
    assert "stands twice" in refused(ContractError, files).what


BAD_ROWS: dict[str, dict[str, Any]] = {
    "no id": {"id": None},
    "empty task": {"task": ""},
    "a third outcome": {"quality_label": "suboptimal"},
    "no target": {"target_progress": []},
    "target is null": {"target_progress": None},
    "target is NaN": {"target_progress": [0.0, float("nan")]},
    "target is infinite": {"target_progress": [0.0, float("inf")]},
    "target has a hole": {"target_progress": [0.0, None]},
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_a_row_that_breaks_the_form_is_named(tmp_path: Path, bad: str) -> None:
    files = videos.write(tmp_path, rows())
    broken = rows()
    broken[3] |= BAD_ROWS[bad]
    videos.write_shards(files.dataset, [broken])
    assert "row 3 of data-00000-of-00001.arrow" in refused(ContractError, files).found


BAD_FRAMES: dict[str, Callable[[Path, np.ndarray], object]] = {
    "floats": lambda path, v: np.savez(path, frames=v.astype(np.float32)),
    "grey": lambda path, v: np.savez(path, frames=v[..., 0]),
    "four channels": lambda path, v: np.savez(path, frames=np.concatenate([v, v[..., :1]], axis=3)),
    "one frame more": lambda path, v: np.savez(path, frames=np.concatenate([v, v[:1]])),
    "no height": lambda path, v: np.savez(path, frames=v[:, :0]),
    "another name": lambda path, v: np.savez(path, video=v),
    "not there": lambda path, v: path.unlink(),
}


@pytest.mark.parametrize("bad", BAD_FRAMES)
def test_frames_of_another_form_are_refused(tmp_path: Path, bad: str) -> None:
    files = videos.write(tmp_path, rows())
    row = rows()[0]
    path = files.dataset / "frames" / f"{row['id']}.npz"
    BAD_FRAMES[bad](path, row["video"])
    assert str(files.dataset) in refused(FramesRefused, files).where


def test_an_archive_of_objects_is_refused_unread(tmp_path: Path) -> None:
    files = videos.write(tmp_path, rows())
    np.savez(files.dataset / "frames" / f"{rows()[0]['id']}.npz", frames=np.array([{}, None], object))
    refused(ArchiveRefused, files)


@pytest.mark.parametrize("path", ["../frames/x.npz", "/etc/passwd", "frames/../../x.npz", "a\\b.npz", "a\nb.npz"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    files = videos.write(tmp_path, rows())
    bent = rows()
    bent[0]["frames"] = path
    videos.write_shards(files.dataset, [bent])
    assert "leads out" in refused(FramesRefused, files).what


def test_an_all_black_video_is_a_video(tmp_path: Path) -> None:
    """It packs a thousandfold, which other arrays may not."""
    black = rows()
    black[0]["video"] = np.zeros((len(black[0]["target_progress"]), 900, 900, 3), np.uint8)
    found = selection(videos.write(tmp_path, black))
    (row,) = [row for row in found.rows if row.trajectory_id == black[0]["id"]]
    assert not row.frames.read().any()


@pytest.mark.parametrize(
    "registry",
    [
        "{",
        "[]",
        "{}",
        '{"ood": []}',
        '{"ood": [{"task_id": "a"}]}',
        '{"ood": [{"task_id": 1, "task": "t"}]}',
        '{"ood": [{"task_id": "a", "task": "t"}, {"task_id": "a", "task": "u"}]}',
        '{"ood": [{"task_id": "a", "task": "t"}, {"task_id": "b", "task": "t"}]}',
        '{"ood": [{"task_id": "a", "task": "b"}, {"task_id": "b", "task": "t"}]}',
    ],
)
def test_a_registry_of_another_form_is_refused(tmp_path: Path, registry: str) -> None:
    path = tmp_path / "task_registry.json"
    path.write_text(registry, encoding="utf-8")
    with pytest.raises(RegistryRefused):
        read_registry(path, "test_ood")


def test_a_registry_task_without_rows_is_named(tmp_path: Path) -> None:
    files = videos.write(tmp_path, rows())
    registry = json.loads(files.registry.read_text(encoding="utf-8"))
    registry["ood"].append({"task_id": "new", "task": "never recorded"})
    files.registry.write_text(json.dumps(registry), encoding="utf-8")
    error = refused(SelectionDiffers, files, tasks=5)
    assert error.found == "never recorded: 0 success, 2 missing; never recorded: 0 failure, 2 missing"
