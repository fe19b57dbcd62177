"""The one module that touches the file system. Paths are POSIX text relative to the store.

What the rest of the store asks for is what an object store can do too: list, read, write a whole object at once,
delete, and tell size and time. Two things differ there: `create` finds a free name by exclusive creation, where an
object store would draw a random number, and `publish` renames, where an object store's put is whole by itself.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from evalframe.errors import StoreError
from evalframe.store import faults


class Stat(NamedTuple):
    """Size in bytes and time of the last change in nanoseconds since 1970."""

    size: int
    changed_ns: int


@contextmanager
def reported(doing: str, where: str | Path) -> Iterator[None]:
    """Turn an operating-system error into a StoreError that says what was being done, and to what."""
    try:
        yield
    except OSError as failure:
        hints = {
            errno.ENOSPC: "free some space, then run the same command again",
            errno.EDQUOT: "free some space, then run the same command again",
            errno.EFBIG: "raise the limit on file sizes, then run the same command again",
            errno.EROFS: "choose a store that can be written",
            errno.EACCES: "choose a store that can be written, or change its permissions",
            errno.EPERM: "choose a store that can be written, or change its permissions",
        }
        raise StoreError(
            f"{doing} failed",
            expected="a file system that allows it",
            found=failure.strerror or str(failure),
            where=str(where),
            hint=hints.get(failure.errno or 0, "run the same command again: what is sealed stays"),
        ) from failure


class Sink:
    """A new file being written, with its size and SHA-256 known at the end. Arrow writes into it as into any file."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._file = path.open("xb", buffering=0)
        self._durable = durable
        self._sha = hashlib.sha256()
        self._abandoned = False
        self.size = 0

    @property
    def closed(self) -> bool:
        return self._file.closed

    @property
    def sha256(self) -> str:
        """64 hex over what was written so far."""
        return self._sha.hexdigest()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing is buffered here."""

    def write(self, data: bytes) -> int:
        if self._abandoned:
            return len(data)
        faults.reach("part.write")
        left = memoryview(data).cast("B")
        while left:  # a disk that fills up takes a part first
            taken = self._file.write(left)
            self._sha.update(left[:taken])
            self.size += taken
            left = left[taken:]
        return len(data)

    def abandon(self) -> None:
        """Close the file as it is; what Arrow still writes, a footer say, goes nowhere."""
        self._abandoned = True
        self._file.close()

    def close(self) -> None:
        """Make what was written survive a power cut, and close."""
        if not self._file.closed:
            try:
                if self._durable:
                    os.fsync(self._file.fileno())
            finally:
                self._file.close()


class LocalFiles:
    """Files below a local folder."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self.root = root
        self.durable = durable

    def path(self, path: str) -> Path:
        """Where a path of the store lies on this machine."""
        return self.root / path

    def names(self, folder: str) -> list[str]:
        """Names of the entries of a folder, in any order; none when it is not there."""
        try:
            return os.listdir(f"{self.root}/{folder}")
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            with reported("listing", self.path(folder)):
                raise

    def walk(self, folder: str = "") -> Iterator[str]:
        """Paths of all files at any depth below a folder. Links are files: they are not followed."""
        with reported("listing", self.path(folder)):
            try:
                entries = sorted(os.scandir(self.path(folder)), key=lambda entry: entry.name)
            except (FileNotFoundError, NotADirectoryError):
                return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self.walk(path)
            else:
                yield path

    def read(self, path: str) -> bytes:
        """The whole file. Raises FileNotFoundError when it is not there, StoreError for any other trouble."""
        with reported("reading", self.path(path)):
            try:
                return self.path(path).read_bytes()
            except FileNotFoundError as missing:
                absent = missing
        raise absent

    def stat(self, path: str) -> Stat | None:
        """Size and time of a file, None when there is none."""
        try:
            found = os.lstat(f"{self.root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            with reported("looking up", self.path(path)):
                raise
        return Stat(found.st_size, found.st_mtime_ns)

    def sha256(self, path: str) -> str:
        """64 hex over a file."""
        with reported("reading", self.path(path)), self.path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def create(self, folder: str, stem: str, suffix: str) -> tuple[str, Sink]:
        """A new file `<stem>-<n><suffix>` with the lowest n that no other file has, open for writing."""
        number = 0
        while True:
            path = f"{folder}/{stem}-{number}{suffix}"
            try:
                self.path(folder).mkdir(parents=True, exist_ok=True)
                sink = Sink(self.path(path), durable=self.durable)
            except FileExistsError:
                number += 1
            except FileNotFoundError:  # `gc` removed the empty folder in between
                continue
            else:
                return path, sink

    def write(self, path: str, content: bytes) -> None:
        """A whole small file under a name of the writer's own."""
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        with self.path(path).open("wb", buffering=0) as file:
            file.write(content)
            if self.durable:
                os.fsync(file.fileno())

    def publish(self, staged: str, path: str) -> None:
        """Give a written file its name, at once: nobody ever sees part of it."""
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.path(staged), self.path(path))

    def touch(self, path: str) -> None:
        """Set a file's time to the present."""
        os.utime(self.path(path))

    def settle(self, *folders: str) -> None:
        """Make the names in `folders`, and the folders' own, survive a power cut."""
        if not self.durable:
            return
        for folder in {str(parent) for each in folders for parent in (Path(each), *Path(each).parents)}:
            handle = os.open(self.path(folder), os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens when it is not there."""
        with suppress(FileNotFoundError):
            self.path(path).unlink()

    def remove_empty(self, folder: str) -> None:
        """Remove a folder and those above it, within the store, as far as they are empty."""
        while folder and folder != ".":
            try:
                self.path(folder).rmdir()
            except OSError:
                return
            folder = str(Path(folder).parent)

    def writable(self) -> bool:
        """Whether this process may write here, as far as the file system says."""
        return os.access(self.root, os.W_OK)


def token() -> str:
    """A name that no other writer has."""
    return secrets.token_hex(8)
