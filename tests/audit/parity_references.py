"""Copies of the references in references/, changed on request and pinned anew."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

REFERENCES = Path(__file__).with_name("references")
FUNCTIONS = {
    "kev/evaluate.py": ["ece"],
    "kev/benchmark.py": ["coverage_at_error", "metrics"],
    "kev/contrastive.py": ["paired_flip"],
}


def sha256(path: Path) -> str:
    """64 hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kev_copy(folder: Path) -> Path:
    """A copy of the KEV reference to tamper with."""
    shutil.copytree(REFERENCES / "kev", folder / "kev")
    return folder


def pins(root: Path) -> Path:
    """pins.json for the KEV reference in `root` as it is now."""
    entries = [
        {"file": file, "sha256": sha256(root / file), "functions": functions} for file, functions in FUNCTIONS.items()
    ]
    path = root / "pins.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def edit(root: Path, file: str, old: str, new: str) -> None:
    """Replace `old`, which must be there once, in a file of the reference."""
    text = (root / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    (root / file).write_text(text.replace(old, new), encoding="utf-8")
