"""What a command leaves outside a store: made in a folder beside its place, then renamed, so what is there is whole.

The folder is locked for as long as its process lives. One that nobody holds was left by a killed process, and whoever
next writes to the same place removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evalframe.errors import InputError
from evalframe.store import faults, locks

STAGE, REPLACED = ".tmp", ".old"
"""Ends of hidden names: what is being made, and what is being replaced by it."""

TRUSTED_SECONDS = 24 * 3600.0
"""How long a folder counts as somebody's where locks do not work."""

_LONGEST = 150


@contextmanager
def made(path: Path, *, option: str = "--output") -> Iterator[Path]:
    """Where to make the file or folder that is to stand at `path`. It stands there, whole, when the block ends.

    What fails, in the block too, leaves `path` as it was. option: the one to name another place with, for the hint.
    Raises InputError for an error of the file system.
    """
    with writing(path, option):
        path.parent.mkdir(parents=True, exist_ok=True)
        recover(path)
        stage, handle = _begun(path)
        try:
            faults.reach("output.begun")
            yield stage / path.name
            _settle(stage / path.name)
            faults.reach("output.made")
            _publish(stage / path.name, path)
            faults.reach("output.published")
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(handle)


def recover(path: Path) -> None:
    """Undo what processes that were killed while they wrote to `path` left: a folder moved away, work half done."""
    if "\0" not in path.name and path.parent.is_dir():
        clear(path.parent, path.name)
        _put_back(path)


def put(path: Path, data: bytes) -> None:
    """Write a file of a block of `made`."""
    with path.open("wb", buffering=0) as file:
        view = memoryview(data)
        for part in (view[: len(view) // 2], view[len(view) // 2 :]):
            while part:  # a disk that fills up takes a part first
                part = part[file.write(part) :]
            faults.reach("output.write")


def clear(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes left in a folder: of everything they made there, or for the place `name` only."""
    wanted = "." if name is None else _prefix(name)
    with suppress(FileNotFoundError):
        for found in os.listdir(folder):
            if found.startswith(wanted) and found.endswith(STAGE):
                _remove_dead(folder / found)


def remove(folder: Path) -> None:
    """Remove a folder that nothing needs any more; what cannot be removed stays."""
    with suppress(OSError):
        faults.reach("output.remove")
        shutil.rmtree(folder)


@contextmanager
def writing(path: Path, option: str = "--output") -> Iterator[None]:
    """Errors of the file system as an InputError that says what could not be written."""
    try:
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "a name with a NUL character")
        yield
    except (OSError, UnicodeEncodeError) as error:
        raise InputError(
            f"cannot write {path.name}",
            expected="a folder that can be written, with room",
            found=getattr(error, "strerror", None) or str(error),
            where=str(path),
            hint=f"name another {option}",
        ) from error


def _prefix(name: str) -> str:
    """How hidden names of a place begin; long names are cut, so that there is room for an end."""
    written = os.fsencode(name)
    if len(written) <= _LONGEST:
        return f".{name}."
    return f".{hashlib.sha256(written).hexdigest()[:32]}."


def _begun(path: Path) -> tuple[Path, int]:
    """A new locked folder beside `path`, and what holds the lock."""
    while True:
        stage = path.with_name(f"{_prefix(path.name)}{secrets.token_hex(4)}{STAGE}")
        stage.mkdir()
        handle = -1
        try:
            handle = os.open(stage, os.O_RDONLY | os.O_CLOEXEC)
            locks.take(handle, wait=True)
            os.utime(stage)
        except FileNotFoundError:  # somebody took it for a dead process's between creation and lock
            if handle >= 0:
                os.close(handle)
        except BaseException:
            if handle >= 0:
                os.close(handle)
            shutil.rmtree(stage, ignore_errors=True)
            raise
        else:
            return stage, handle


def _remove_dead(stage: Path) -> None:
    with suppress(OSError):
        handle = os.open(stage, os.O_RDONLY | os.O_CLOEXEC)
        try:
            taken = locks.take(handle, wait=False)
            old = time.time() - os.fstat(handle).st_mtime > TRUSTED_SECONDS
            if taken or (taken is None and old):
                shutil.rmtree(stage, ignore_errors=True)
        finally:
            os.close(handle)


def _settle(path: Path) -> None:
    """Make what was written survive a power cut."""
    for file in (path,) if path.is_file() else (each for each in path.rglob("*") if each.is_file()):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())


def _publish(new: Path, path: Path) -> None:
    """Give it its name. A folder that it replaces is whole until then, and back if that fails."""
    with _alone(path):
        if not (new.is_dir() and path.is_dir() and any(path.iterdir())):
            os.replace(new, path)
            return
        old = path.with_name(f"{_prefix(path.name)}{secrets.token_hex(4)}{REPLACED}")
        os.replace(path, old)
        try:
            faults.reach("output.replaced")
            os.replace(new, path)
        except OSError:
            os.replace(old, path)
            raise
    remove(old)


def _put_back(path: Path) -> None:
    """A process killed while it replaced a folder left the old one under another name."""
    olds = [
        path.with_name(name)
        for name in os.listdir(path.parent)
        if name.startswith(_prefix(path.name)) and name.endswith(REPLACED)
    ]
    if not olds:
        return
    with _alone(path), suppress(OSError):
        if not path.exists():
            os.replace(olds[0], path)
        for old in olds:
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the folder of `path`, so that of two processes one after the other renames."""
    handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        locks.take(handle, wait=True)
        yield
    finally:
        os.close(handle)
