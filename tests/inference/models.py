"""Small torch models for tests: fitted here on real or made-up windows, then saved as users save theirs.

The project never trains anything; what trains stands in the tests alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)  # these networks are too small to share between threads

CLASSES = ("sit", "stand", "walk")
CHANNELS, LENGTH = 6, 20


class WindowNet(nn.Module):
    """A 1-D CNN over one window: [B, C, T] -> [B, K]."""

    def __init__(self, classes: int, channels: int = CHANNELS, width: int = 8) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, width, 5, padding=2)
        self.norm = nn.BatchNorm1d(width)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.norm(self.conv(x)))
        return self.head(torch.cat([hidden.mean(-1), hidden.amax(-1)], dim=1))


class ConvSequence(nn.Module):
    """A convolution over neighbouring windows: [1, L, C, T] -> [1, L, K], for any L."""

    def __init__(self, classes: int, channels: int = CHANNELS, width: int = 8) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, width, 5, padding=2)
        self.over = nn.Conv1d(width, classes, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, c, t = x.shape
        hidden = torch.relu(self.conv(x.reshape(b * n, c, t))).mean(-1)
        return self.over(hidden.reshape(b, n, -1).transpose(1, 2)).transpose(1, 2)


class MaskedSequence(nn.Module):
    """As ConvSequence, for one fixed L with a mask of the windows that are there: [1, L, C, T], [1, L] -> [1, L, K]."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.inner = ConvSequence(classes)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.inner(x * mask[:, :, None, None])


class GruSequence(nn.Module):
    """A recurrent decoder: [1, L, C, T] -> [1, L, K]. It ships as a state dict."""

    def __init__(self, classes: int = len(CLASSES), channels: int = CHANNELS, width: int = 8) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, width, 5, padding=2)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, c, t = x.shape
        hidden = torch.relu(self.conv(x.reshape(b * n, c, t))).mean(-1).reshape(b, n, -1)
        return self.head(self.gru(hidden)[0])


class CrfSequence(nn.Module):
    """Scores per window and between neighbours, decoded to the best path: [1, L, C, T] -> class indices [1, L]."""

    def __init__(self, classes: int = len(CLASSES)) -> None:
        super().__init__()
        self.emission = ConvSequence(classes)
        self.transition = nn.Parameter(torch.eye(classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.emission(x)[0]
        best, back = scores[0], []
        for step in scores[1:]:
            value, origin = (best[:, None] + self.transition).max(0)
            best = value + step
            back.append(origin)
        path = [int(best.argmax())]
        for origin in reversed(back):
            path.append(int(origin[path[-1]]))
        return torch.tensor(path[::-1])[None]


def build_gru() -> nn.Module:
    """The factory that `--module tests.inference.models:build_gru` names."""
    return GruSequence()


def build_gru_of_seven() -> nn.Module:
    """The same for seven classes."""
    return GruSequence(7)


def build_crf() -> nn.Module:
    """The factory of the path decoder."""
    return CrfSequence()


def drawn(seed: int, make: Any, *arguments: Any) -> nn.Module:
    """A module with weights drawn under `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: nn.Module = make(*arguments)
    return module.eval()


def seeded(seed: int, make: Any, *arguments: Any) -> nn.Module:
    """A drawn module whose weights are made large and biases nought, so that its answers vary without fitting."""
    module = drawn(seed, make, *arguments)
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.mul_(0.0 if "bias" in name else 5.0 if weight.ndim > 1 else 1.0)
    return module


def fitted(module: nn.Module, signals: np.ndarray, labels: np.ndarray, epochs: int = 20) -> nn.Module:
    """`module` after a few steps of gradient descent on all windows at once, in evaluation mode."""
    x, y = torch.from_numpy(signals.astype(np.float32)), torch.from_numpy(labels.astype(np.int64))
    module.train()
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(epochs):
        optimiser.zero_grad()
        out = module(x)
        nn.functional.cross_entropy(out.reshape(len(y), -1), y).backward()
        optimiser.step()
    return module.eval()


def metadata(decoder: str = "per_window", layout: str = "NCT", classes: Sequence[str] = CLASSES, **more: Any) -> Any:
    """What a checkpoint says of itself."""
    return {"classes": list(classes), "layout": layout, "decoder": decoder, **more}


def export(module: nn.Module, path: Path, said: Mapping[str, Any] | None, shape: Sequence[int] = ()) -> Path:
    """Save `module` as a `.pt2` archive: windows in any number, sequences of any length unless it takes a mask."""
    sequence = not isinstance(module, WindowNet)
    shape = tuple(shape) or ((1, 9, CHANNELS, LENGTH) if sequence else (4, CHANNELS, LENGTH))
    given: tuple[torch.Tensor, ...] = (torch.zeros(shape),)
    axis: Any = torch.export.Dim("windows", min=2) if sequence else torch.export.Dim("batch")
    dynamic: Any = ({1 if sequence else 0: axis},)
    if isinstance(module, MaskedSequence):
        given, dynamic = (torch.zeros(shape), torch.ones(shape[:2], dtype=torch.bool)), None
    program = torch.export.export(module, given, dynamic_shapes=dynamic)
    torch.export.save(program, path, extra_files={} if said is None else {"evalframe.json": json.dumps(said)})
    return path


def save_state(module: nn.Module, path: Path, said: Mapping[str, Any] | None) -> Path:
    """Save weights alone, with the metadata beside them."""
    torch.save(module.state_dict(), path)
    if said is not None:
        path.with_name(path.name + ".json").write_text(json.dumps(said))
    return path


def windows(
    n: int = 48, people: int = 4, classes: Sequence[str] = CLASSES, seed: int = 0, **changed: Any
) -> dict[str, Any]:
    """Made-up labelled windows [N, T, C] that a small network can tell apart; an array given as None is left out."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) // 3 % len(classes)
    wave = np.sin(np.arange(LENGTH)[None, :] * (1 + labels[:, None]) / 3)
    signals = wave[:, :, None] * rng.uniform(0.5, 1.5, (1, 1, CHANNELS)) + rng.normal(0, 0.2, (n, LENGTH, CHANNELS))
    whole = {
        "X": signals.astype(np.float32),
        "y": labels.astype(np.int16),
        "participant": np.array([f"p{i % people}" for i in range(n)]),
        "time": np.arange(n) * 2.0,
        "classes": np.array(classes),
    }
    return {name: array for name, array in {**whole, **changed}.items() if array is not None}


def write(path: Path, arrays: Mapping[str, Any]) -> Path:
    """The arrays as an NPZ."""
    np.savez(path, **arrays)
    return path
