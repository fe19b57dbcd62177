"""A store in a folder of this machine, or of a file system that is mounted on it. See places.py for what is asked."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evalframe.errors import StoreError
from evalframe.store import faults, locks
from evalframe.store.layout import NAMED, SEALS, UNNAMED
from evalframe.store.neighbours import nearest
from evalframe.store.places import Given, Made, Place, Stat
from evalframe.store.refusals import changed_file, command, first_command, gone


@contextmanager
def reported(doing: str, where: str | Path) -> Iterator[None]:
    """Turn an operating-system error into a StoreError that says what was being done, and to what."""
    try:
        yield
    except OSError as failure:
        if failure.errno is None:  # what pyarrow.fs raises for anything that is not one of this machine's errors
            from evalframe.store.trouble import remote_trouble

            raise remote_trouble(doing, str(where), str(failure)) from failure
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


class Opened(Protocol):
    """A file open for writing, of this machine or of pyarrow.fs."""

    @property
    def closed(self) -> bool: ...

    def write(self, data: Any, /) -> int | None: ...

    def close(self) -> None: ...


_HASHED = 1 << 18
"""Bytes of a file that are hashed at a time."""


class Sink:
    """A new file being written, with its size and SHA-256 known at the end. Arrow writes into it as into any file.

    settle: makes what was written survive a power cut; called before the file is closed.
    """

    def __init__(self, file: Opened, settle: Callable[[], None] | None = None) -> None:
        self._file = file
        self._settle = settle
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
            taken = self._file.write(left) or 0
            self._sha.update(left[:taken])
            self.size += taken
            left = left[taken:]
        return len(data)

    def abandon(self) -> None:
        """Close the file as it is; what Arrow still writes, a footer say, goes nowhere."""
        self._abandoned = True
        with suppress(OSError):  # it is thrown away
            self._file.close()

    def close(self) -> None:
        """Make what was written survive a power cut, and close."""
        if not self._file.closed:
            try:
                if self._settle is not None:
                    self._settle()
            finally:
                self._file.close()


class LocalFiles:
    """Files below a local folder. Locks end with the process that holds them; a rename gives a file its name."""

    keeps_folders, settles_late = True, False

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self.root = root
        self.durable = durable

    def path(self, path: str) -> Path:
        """Where a path of the store lies on this machine."""
        return self.root / path

    shown = path

    def names(self, folder: str) -> list[str]:
        """Names of the entries of a folder, in any order; none when it is not there."""
        try:
            return os.listdir(f"{self.root}/{folder}")
        except (FileNotFoundError, NotADirectoryError):
            if self.is_store():
                return []
            raise gone(self.root) from None  # no names would be taken for an empty store, or for a part of it
        except OSError:
            with reported("listing", self.path(folder)):
                raise

    def shards(self, folder: str) -> list[str]:
        """`<shard>/<name>` of the entries of all folders in a folder."""
        return [f"{shard}/{name}" for shard in self.names(folder) for name in self.names(f"{folder}/{shard}")]

    def walk(self, folder: str = "") -> Iterator[str]:
        """Paths of all files at any depth below a folder. Links are files: they are not followed."""
        place = f"{self.root}/{folder}"
        with reported("listing", place):
            try:
                entries = sorted(os.scandir(place), key=lambda entry: entry.name)
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
        place = f"{self.root}/{path}"
        with reported("reading", place):
            try:
                with open(place, "rb", buffering=0) as file:
                    return file.readall()
            except FileNotFoundError as missing:
                absent = missing
        raise absent

    read_seal = read

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
        place, digest = f"{self.root}/{path}", hashlib.sha256()
        with reported("reading", place), open(place, "rb", buffering=0) as file:
            while part := file.read(_HASHED):
                digest.update(part)
        return digest.hexdigest()

    def parquet(self, path: str, size: int, sha256: Callable[[], str]) -> Path:
        """The file itself. Its size is compared; `verify` compares the rest, and readers the checksums of its pages."""
        found = self.stat(path)
        if found is None or found.size != size:
            there = "no file" if found is None else f"{found.size} bytes"
            raise changed_file(self.path(path), self.root, expected=f"{size} bytes", found=there)
        return self.path(path)

    def each(self, function: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
        """One after the other."""
        return map(function, items)

    def is_store(self) -> bool:
        """Whether a store lies here."""
        return (self.root / SEALS).is_dir()

    def begin(self) -> None:
        """Make the folder a store. Raises StoreError where something else lies."""
        # Looked at twice: another process may be creating it.
        if self._holds_other_things() and not self.is_store():
            raise self._no_store("a store cannot begin in this place", "an empty folder, or none", self._free_place())
        with reported("creating the store", self.root):
            (self.root / SEALS).mkdir(parents=True, exist_ok=True)

    def missing(self) -> StoreError:
        """The error for a place where there should be a store."""
        meant = nearest(self.root)
        hint = command("runs --store", meant) if meant is not None else self._free_place()
        return self._no_store("no store in this folder", "a folder that a command with --store has written", hint)

    def _holds_other_things(self) -> bool:
        return self.root.exists() and (not self.root.is_dir() or any(self.root.iterdir()))

    def _free_place(self) -> str:
        """A command that makes a store: here, or near here where something else lies."""
        if not self._holds_other_things():
            free = self.root
        elif self.root.is_dir():
            free = self.root / "store"
        else:
            free = self.root.with_name(f"{self.root.name}-store")
        return first_command(free)

    def _no_store(self, what: str, expected: str, hint: str) -> StoreError:
        if not self.root.exists():
            found = "nothing"
        elif not self.root.is_dir():
            found = "a file"
        else:
            found = (
                f"a folder with {', '.join(sorted(each.name for each in self.root.iterdir())[:3]) or 'nothing in it'}"
            )
        return StoreError(what, expected=expected, found=found, where=str(self.root), hint=hint)

    def create(self, folder: str, stem: str, suffix: str) -> tuple[str, Sink]:
        """A new file `<stem>-<n><suffix>` with the lowest n that no other file has, open for writing."""
        number = 0
        while True:
            path = f"{folder}/{stem}-{number}{suffix}"
            try:
                self.path(folder).mkdir(parents=True, exist_ok=True)
                file = self.path(path).open("xb", buffering=0)
            except FileExistsError:
                number += 1
            except FileNotFoundError:  # `gc` removed the empty folder in between
                continue
            else:
                return path, Sink(file, partial(os.fsync, file.fileno()) if self.durable else None)

    def write(self, path: str, content: bytes) -> None:
        """A whole small file under a name of the writer's own."""
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        with self.path(path).open("wb", buffering=0) as file:
            file.write(content)
            if self.durable:
                os.fsync(file.fileno())

    def stage(self, staged: str, content: bytes) -> Callable[[str], None]:
        """Write a file beside, which is then renamed: nobody ever sees part of it."""
        self.write(staged, content)

        def publish(path: str) -> None:
            self.path(path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.path(staged), self.path(path))

        return publish

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

    def hold(self, path: str, content: bytes) -> Callable[[], None]:
        """Write a journal and keep it locked. It gets its name when it is whole, and locked."""
        while (handle := self._locked(path.removesuffix(NAMED) + UNNAMED, path, content)) is None:
            pass
        return partial(os.close, handle)

    def _locked(self, unnamed: str, path: str, content: bytes) -> int | None:
        """A handle that holds the journal; None when `gc` took it for a dead writer's between creation and lock."""
        self.path(unnamed).parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path(unnamed), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            locks.take(handle, wait=True)
            os.write(handle, content)
            os.replace(self.path(unnamed), self.path(path))
        except FileNotFoundError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            self.path(unnamed).unlink(missing_ok=True)
            raise
        return handle

    def is_held(self, path: str) -> bool | None:
        """Whether a living process holds a journal; None where locks do not work."""
        return locks.is_held(self.path(path))

    def exclusive(self, lock: str, *, wait: bool = True, about: str = "") -> AbstractContextManager[bool | None]:
        """Hold a lock file, whatever for: it is soon free again."""
        self.path(lock).parent.mkdir(exist_ok=True)
        return locks.exclusive(self.path(lock), wait=wait)


def token() -> str:
    """A name that no other writer has."""
    import secrets

    return secrets.token_hex(8)


if TYPE_CHECKING:
    _A_PLACE: type[Place] = LocalFiles
