"""The files of this checkout, without what tools leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_LEFT_BEHIND = ("__pycache__", "build", "dist", "evalframe-demo")


def files(*suffixes: str) -> Iterator[Path]:
    """Every file with one of these suffixes (default: any), relative to the root; dotfolders are left out."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _LEFT_BEHIND and ".egg-info" not in name
        )
        for name in sorted(names):
            if not suffixes or Path(name).suffix in suffixes:
                yield (Path(folder) / name).relative_to(ROOT)


def text(path: Path) -> str:
    """The text of one of those files."""
    return (ROOT / path).read_text(encoding="utf-8")
