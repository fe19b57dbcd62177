"""A processed data set with small videos, generated: shards as `save_to_disk` writes them, NPZ frames, a registry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from evalframe.inference.progress import Query

IND = tuple(f"train task {i:02d}" for i in range(12))
OOD = tuple(f"held-out task {i}" for i in range(4))


@dataclass(frozen=True)
class Files:
    """Where everything lies."""

    root: Path

    @property
    def dataset(self) -> Path:
        return self.root / "processed_dataset"

    @property
    def registry(self) -> Path:
        return self.root / "task_registry.json"

    @property
    def base(self) -> Path:
        return self.root / "base"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"


def rows_of(tasks: Sequence[str], per_outcome: int, *, seed: int = 0, max_frames: int = 14) -> list[dict[str, Any]]:
    """Rows of a balanced data set with their frames (under `video`). A success rises, a failure rises and falls."""
    world = Random(seed)
    rows = []
    for number, task in enumerate(tasks):
        for outcome in ("success", "failure"):
            for i in range(per_outcome):
                n = world.randint(3, max_frames)
                peak = 1.0 if outcome == "success" else world.uniform(0.2, 0.7)
                target = [peak * f / (n - 1) for f in range(n)]
                if outcome == "failure":
                    target = [t if f < n // 2 else t / 2 for f, t in enumerate(target)]
                rows.append(
                    {
                        "id": f"t{number:02d}-{outcome}-{i:03d}",
                        "task": task,
                        "quality_label": outcome,
                        "target_progress": target,
                        "video": video(target, task, noise=world.randrange(10**6)),
                    }
                )
    world.shuffle(rows)
    return rows


def mark(task: str) -> int:
    """The colour of the first pixel of a video of the task."""
    return sum(task.encode()) % 251


def video(target: Sequence[float], task: str, noise: int, *, height: int = 6, width: int = 8) -> np.ndarray:
    """uint8 frames (N, height, width, 3) whose brightness follows the target and whose first pixel tells the task."""
    grain = np.random.default_rng(noise).integers(0, 30, (len(target), height, width, 3))
    frames = (np.array(target)[:, None, None, None] * 200 + grain).astype(np.uint8)
    frames[:, 0, 0] = mark(task)
    return frames


def write(root: Path, rows: Sequence[dict[str, Any]], *, shards: int = 3, text: pa.DataType | None = None) -> Files:
    """Write the data set of `rows` and a registry of all sixteen tasks."""
    files = Files(root)
    (files.dataset / "frames").mkdir(parents=True)
    for row in rows:
        np.savez_compressed(files.dataset / "frames" / f"{row['id']}.npz", frames=row["video"])
    write_shards(files.dataset, [list(part) for part in np.array_split(np.array(rows, object), shards)], text=text)
    registry = {
        "ind": [{"task_id": f"ind-{i}", "task": task} for i, task in enumerate(IND)],
        "ood": [{"task_id": f"ood-{i}", "task": task} for i, task in enumerate(OOD)],
    }
    files.registry.write_text(json.dumps(registry), encoding="utf-8")
    return files


def write_shards(folder: Path, parts: Sequence[Sequence[dict[str, Any]]], *, text: pa.DataType | None = None) -> None:
    """Arrow stream files and the state.json that names them, in an order of its own."""
    kind = text or pa.string()
    texts = [(name, kind) for name in ("id", "task", "quality_label", "frames")]
    schema = pa.schema([*texts, ("target_progress", pa.list_(pa.float32()))])
    names = [f"data-{i:05d}-of-{len(parts):05d}.arrow" for i in range(len(parts))]
    for name, part in zip(names, parts, strict=True):
        columns = {
            "id": [row["id"] for row in part],
            "task": [row["task"] for row in part],
            "quality_label": [row["quality_label"] for row in part],
            "frames": [row.get("frames", f"frames/{row['id']}.npz") for row in part],
            "target_progress": [row["target_progress"] for row in part],
        }
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            writer.write_table(pa.table(columns, schema=schema), max_chunksize=7)
    state = {"_data_files": [{"filename": name} for name in reversed(names)], "_fingerprint": "0", "_split": None}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")


def write_checkpoints(files: Files, steps: Sequence[int]) -> None:
    """A base model and checkpoints of the arithmetic predictor below."""
    for folder, gain in [(files.base, 0.5), *((files.checkpoints / f"checkpoint-{s}", 0.5 + s / 500) for s in steps)]:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"gain": gain}), encoding="utf-8")


class Arithmetic:
    """Reads progress off the brightness of the last frame, half of it for another task than the video's."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        return [self.one(query.frames, query.task) for query in queries]

    def one(self, frames: np.ndarray, task: str) -> tuple[float, float]:
        light = float(frames[-1].mean()) / 255
        share = 1.0 if int(frames[-1, 0, 0, 0]) == mark(task) else 0.5
        return self.gain * light * share, light * share


def factory(checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Arithmetic:
    """`tests.protocols.robometer_frozen.videos:factory`."""
    return Arithmetic(json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))["gain"])
