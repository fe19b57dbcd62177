"""Who is writing what. Before a writer makes its first file it writes down which names it may make, and keeps that
journal locked until it is done. The lock ends with the process, so an unlocked journal is a killed writer's, and what
it names without a seal is garbage. Where locks do not work, a journal counts as alive for a day.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from evalframe.store import faults, locks
from evalframe.store.files import LocalFiles, reported, token
from evalframe.store.layout import WRITERS

TRUSTED_SECONDS = 24 * 3600.0

NAMED, UNNAMED, STAGED = ".json", ".new", ".staged"
"""Ends of the names in `.writers/`: a journal, one not yet complete, a file that is to be published whole."""


class Journal:
    """One writer at work. `with Journal(files, claims):` around everything it does.

    claims: starts of the paths it may create, such as `class_labels/part_run=r-a/part-`.
    """

    def __init__(self, files: LocalFiles, claims: Iterable[str]) -> None:
        self.files = files
        self.token = token()
        self._claims = sorted(claims)
        self._handle = -1
        self._keep = False

    @property
    def path(self) -> str:
        return f"{WRITERS}/{self.token}{NAMED}"

    @property
    def staged(self) -> str:
        """Where this writer prepares a file that is published whole."""
        return f"{WRITERS}/{self.token}{STAGED}"

    def __enter__(self) -> Self:
        with reported("starting to write", self.files.root):
            while not self._begin():
                pass
        return self

    def _begin(self) -> bool:
        unnamed = self.files.path(f"{WRITERS}/{self.token}{UNNAMED}")
        unnamed.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            locks.take(self._handle, wait=True)
            os.write(self._handle, json.dumps({"pid": os.getpid(), "claims": self._claims}).encode())
            os.replace(unnamed, self.files.path(self.path))
            faults.reach("writer.begun")
        except FileNotFoundError:  # `gc` took it for a dead writer's between creation and lock
            os.close(self._handle)
            return False
        except BaseException:
            os.close(self._handle)
            unnamed.unlink(missing_ok=True)
            self.files.path(self.path).unlink(missing_ok=True)
            raise
        return True

    def keep(self) -> None:
        """Leave the journal behind: something it names could not be removed."""
        self._keep = True

    def __exit__(self, *_: object) -> None:
        try:
            with suppress(OSError):  # what stays is a dead writer's
                self.files.remove(self.staged)
                if not self._keep:
                    self.files.remove(self.path)
        finally:
            os.close(self._handle)


@dataclass(frozen=True)
class Writer:
    """A journal found in the store."""

    path: str
    claims: tuple[str, ...]
    alive: bool

    def may_have_made(self, path: str) -> bool:
        """Whether `path` is one of the names this writer set out to make."""
        return path.startswith((*self.claims, self.path.removesuffix(NAMED)))


def writers(files: LocalFiles) -> list[Writer]:
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


def is_alive(files: LocalFiles, path: str) -> bool:
    """Whether the writer of a file in `.writers/` still holds it."""
    held = locks.is_held(files.path(path))
    if held is not None:
        return held
    found = files.stat(path)
    return found is not None and time.time() - found.changed_ns / 1e9 < TRUSTED_SECONDS
