"""A small real predictor in torch, for tests and tours: it reads progress off the brightness of the frames.

A checkpoint is a folder with `weights.pt`, a state dict that is loaded with `weights_only=True`, and `config.json`. It
has seen no robot and is no model of one; it is a working example of `inference.progress`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from evalframe.inference.progress import Query

WEIGHTS, CONFIG = "weights.pt", "config.json"
_TASKS = 16


class Network(nn.Module):
    """Mean brightness of each of eight frames and a hash of the task -> progress and a success logit."""

    def __init__(self) -> None:
        super().__init__()
        self.task = nn.Embedding(_TASKS, 4)
        self.hidden = nn.Linear(8 * 3 + 4, 16)
        self.heads = nn.Linear(16, 2)

    def forward(self, brightness: torch.Tensor, task: torch.Tensor) -> torch.Tensor:
        """brightness [B, 8, 3] in [0, 1], task [B] -> [B, 2]: progress and success probability, both in [0, 1]."""
        seen = torch.cat([brightness.flatten(1), self.task(task)], dim=1)
        return torch.sigmoid(self.heads(torch.tanh(self.hidden(seen))))


class Brightness:
    """The network of one checkpoint on one device."""

    def __init__(self, network: Network, device: torch.device) -> None:
        self._network = network.to(device).eval()
        self._device = device

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        """See `inference.progress.Predictor`."""
        pixels = np.stack([query.frames.mean(axis=(1, 2), dtype=np.float64) / 255 for query in queries])
        tasks = [sum(query.task.encode()) % _TASKS for query in queries]
        with torch.inference_mode():
            heads = self._network(
                torch.as_tensor(pixels, dtype=torch.float32, device=self._device),
                torch.tensor(tasks, device=self._device),
            )
        return [(float(progress), float(success)) for progress, success in heads.cpu().double()]


def factory(checkpoint: Path, *, device: str, robometer_repo: Path | None = None) -> Brightness:
    """The predictor of a checkpoint folder; `robometer_repo` is not needed."""
    network = Network()
    network.load_state_dict(torch.load(checkpoint / WEIGHTS, weights_only=True, map_location="cpu"))
    return Brightness(network, torch.device(device))


def write_checkpoint(folder: Path, seed: int) -> None:
    """A checkpoint of random weights, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    state = {
        name: torch.randn(value.shape, generator=generator) / max(1, value.shape[-1]) ** 0.5
        for name, value in Network().state_dict().items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / WEIGHTS)
    (folder / CONFIG).write_text(json.dumps({"seed": seed}) + "\n", encoding="utf-8")
