"""Who is writing what. Before a writer makes its first file it writes down which names it may make, and keeps that
journal locked until it is done. The lock ends with the process, so an unlocked journal is a killed writer's, and what
it names without a seal is garbage. Where locks do not work, a journal counts as alive for a day.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from evalframe.errors import StoreError
from evalframe.store import faults
from evalframe.store.files import reported, token
from evalframe.store.layout import NAMED, STAGED, WRITERS
from evalframe.store.places import Place

TRUSTED_SECONDS = 24 * 3600.0


class Journal:
    """One writer at work. `with Journal(files, claims):` around everything it does.

    claims: starts of the paths it may create, such as `class_labels/part_run=r-a/part-`.
    """

    def __init__(self, files: Place, claims: Iterable[str]) -> None:
        self.files = files
        self.token = token()
        self._claims = sorted(claims)
        self._let_go: Callable[[], None] = _nothing
        self._keep = False

    @property
    def path(self) -> str:
        return f"{WRITERS}/{self.token}{NAMED}"

    @property
    def staged(self) -> str:
        """Where this writer prepares a file that is published whole."""
        return f"{WRITERS}/{self.token}{STAGED}"

    def __enter__(self) -> Self:
        content = json.dumps({"pid": os.getpid(), "claims": self._claims}).encode()
        with reported("starting to write", self.files.root):
            try:
                self._let_go = self.files.hold(self.path, content)
                faults.reach("writer.begun")
            except BaseException:
                self.__exit__()
                raise
        return self

    def keep(self) -> None:
        """Leave the journal behind: something it names could not be removed."""
        self._keep = True

    def __exit__(self, *_: object) -> None:
        try:
            with suppress(OSError, StoreError):  # what stays is a dead writer's
                self.files.remove(self.staged)
                if not self._keep:
                    self.files.remove(self.path)
        finally:
            self._let_go()


def _nothing() -> None:
    """Nothing is held yet."""


@dataclass(frozen=True)
class Writer:
    """A journal found in the store."""

    path: str
    claims: tuple[str, ...]
    alive: bool

    def may_have_made(self, path: str) -> bool:
        """Whether `path` is one of the names this writer set out to make."""
        return path.startswith((*self.claims, self.path.removesuffix(NAMED)))


def writers(files: Place) -> list[Writer]:
    """All journals, of the living and of the dead."""
    found = []
    for name in files.names(WRITERS):
        path = f"{WRITERS}/{name}"
        if not name.endswith(NAMED):
            continue
        alive = is_alive(files, path)
        try:
            claims = tuple(json.loads(files.read(path))["claims"])
        except FileNotFoundError:  # done in the meantime
            continue
        except (ValueError, KeyError, TypeError):  # torn by a power cut: it claims nothing that was made durable
            claims = ()
        found.append(Writer(path, claims, alive))
    return found


def is_alive(files: Place, path: str) -> bool:
    """Whether the writer of a file in `.writers/` still holds it."""
    held = files.is_held(path)
    if held is not None:
        return held
    found = files.stat(path)
    return found is not None and time.time() - found.changed_ns / 1e9 < TRUSTED_SECONDS
