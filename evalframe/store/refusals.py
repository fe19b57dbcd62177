"""Errors that several modules raise, and the commands that their hints name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalframe.errors import EvalframeError, StoreCorrupt, StoreError
from evalframe.store import places

UNKNOWN = "--store DIR"
"""What hints say that are given where no store is known."""


def command(words: str, root: Path | str) -> str:
    """`evalframe <words> <root>`, to be pasted into a shell."""
    return f"evalframe {words} {shlex.quote(str(root))}"


@contextmanager
def naming(store: Path | str) -> Iterator[None]:
    """Let the hints of errors that are raised inside name the store that is meant: its folder, or its URI."""
    try:
        yield
    except EvalframeError as error:
        shown = places.named(store) if isinstance(store, str) and places.is_uri(store) else str(store)
        error.hint = error.hint.replace(UNKNOWN, f"--store {shlex.quote(shown)}")
        raise


def first_command(place: Path | str) -> str:
    """One of the commands that make a store, or the first result of one."""
    return command("wisp score --predictions P.npz --output OUT.json --store", place)


def never_scored(root: Path | str, runs: Sequence[str]) -> str:
    """The hint for runs without results: scoring again needs a result, so what was recorded of them is shown.

    runs: ids, for a store that holds any; () where it holds none.
    """
    if not runs:
        return first_command(root)
    return command('sql "SELECT run_id, metric, value, origin FROM metric_values" --store', root)


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
