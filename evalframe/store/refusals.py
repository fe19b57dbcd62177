"""Errors that several modules raise, and the commands that their hints name."""

from __future__ import annotations

import shlex
from pathlib import Path

from evalframe.errors import StoreCorrupt, StoreError


def command(words: str, root: Path | str) -> str:
    """`evalframe <words> <root>`, to be pasted into a shell."""
    return f"evalframe {words} {shlex.quote(str(root))}"


def changed_file(path: Path | str, root: Path | str, *, expected: str, found: str) -> StoreCorrupt:
    """A sealed file is missing or not the one that was sealed."""
    return StoreCorrupt(
        "a sealed file is not as it was sealed",
        expected=expected,
        found=found,
        where=str(path),
        hint=command("store verify", root),
    )


def gone(root: object) -> StoreError:
    """The error for a store that is not where it was opened."""
    return StoreError(
        "the store is gone",
        expected="the folder that was opened",
        found="no seals in it",
        where=str(root),
        hint="name the folder where it is now",
    )
