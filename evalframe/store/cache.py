"""Copies of seals and of the files they list on this machine, for stores that lie elsewhere.

DuckDB reads files of this machine only, and so it stays: a copy is checked once and then read as fast as any file. The
folder is EVALFRAME_CACHE (default: `evalframe` in the user's cache folder) and holds EVALFRAME_CACHE_GB (default 10);
beyond that the copies go that were not used for longest, none that was used within the hour. It may be deleted at any
time that no command runs.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from evalframe.errors import StoreError, UsageError
from evalframe.store.files import token

FOLDER, GIGABYTES = "EVALFRAME_CACHE", "EVALFRAME_CACHE_GB"

IN_USE_SECONDS = 3600.0
"""A copy used so lately may be open in a process, or be about to."""

_MADE, _NOTED, _UNDER_WAY = ".parquet", ".seal", ".part"


class Kept(NamedTuple):
    """path: the copy, None when the file is another than was sealed. found: what it is then."""

    path: Path | None
    found: str


class Cache:
    """One folder of copies, shared by all processes of a user."""

    def __init__(self, folder: Path, limit: int) -> None:
        """limit: bytes."""
        self.folder = folder
        self.limit = limit
        self._unlooked = 0  # bytes that may come before it is worth looking how many there are

    @classmethod
    def of_user(cls) -> Cache:
        """As the environment says. Raises UsageError for a size that is no number."""
        given = os.environ.get(GIGABYTES) or "10"
        try:
            limit = int(float(given) * 1e9)
        except (ValueError, OverflowError):
            limit = -1
        if limit < 0:
            raise UsageError(
                "the size of the cache is not a size",
                expected="gigabytes, such as 10 or 0.5",
                found=repr(given),
                where=GIGABYTES,
                hint=f"export {GIGABYTES}=10",
            )
        folder = os.environ.get(FOLDER)
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(folder or f"{home}/evalframe").expanduser().absolute(), limit)

    def keep(self, sha256: str, size: int, pieces: Callable[[], Iterable[bytes]]) -> Kept:
        """The copy of a file of `size` bytes, made from `pieces` where there is none."""
        path = self.folder / sha256[:2] / f"{sha256}{_MADE}"
        if self._is_there(path, size):
            return Kept(path, "")
        with self._reported():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_name(f"{sha256}.{token()}{_UNDER_WAY}")
        digest = hashlib.sha256()
        try:
            with self._reported():
                file = beside.open("xb", buffering=0)
            with file:
                for piece in pieces():
                    digest.update(piece)
                    with self._reported():
                        file.write(piece)
            if digest.hexdigest() != sha256:
                return Kept(None, f"SHA-256 {digest.hexdigest()}")
            beside.replace(path)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
        self._unlooked -= size
        if self._unlooked < 0:
            self._shrink()
        return Kept(path, "")

    def noted(self, name: str) -> bytes | None:
        """What was noted under a name that never stands for two contents; None when nothing was, or it is damaged."""
        try:
            path = self._note(name)
            digest, _, content = path.read_bytes().partition(b"\n")
            os.utime(path)  # used now
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest().encode() == digest else None

    def note(self, name: str, content: bytes) -> None:
        """Keep a small file under its name. Where that does not work it is read again the next time."""
        path = self._note(name)
        beside = path.with_name(f"{path.stem}.{token()}{_UNDER_WAY}")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
            beside.replace(path)

    def _note(self, name: str) -> Path:
        key = hashlib.sha256(name.encode()).hexdigest()
        return self.folder / key[:2] / f"{key}{_NOTED}"

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Trouble with the cache is not trouble with the store."""
        try:
            yield
        except OSError as failure:
            raise StoreError(
                "a file of the store cannot be copied to this machine",
                expected="a folder for copies that can be written and has room",
                found=failure.strerror or str(failure),
                where=str(self.folder),
                hint=f"export {FOLDER}=DIR",
            ) from failure

    def _is_there(self, path: Path, size: int) -> bool:
        with self._reported():
            try:
                if path.stat().st_size != size:
                    return False
                os.utime(path)  # used now
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def _shrink(self) -> None:
        """Remove what was used longest ago until the rest fits, as far as nobody may be reading it."""
        there: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("??/*"):
            with suppress(FileNotFoundError):
                found = path.stat()
                there.append((found.st_mtime, found.st_size, path))
        total, now = sum(size for _, size, _ in there), time.time()
        for used, size, path in sorted(there):
            if total <= self.limit or now - used < IN_USE_SECONDS:
                break
            path.unlink(missing_ok=True)
            total -= size
        self._unlooked = max(self.limit - total, self.limit // 100)
