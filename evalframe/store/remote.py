"""A store on an object store, or on any file system that `pyarrow.fs` reaches by URI.

A file appears there when it is written to its end, so nothing is renamed. Names are drawn at random, so no two writers
ever write to one name. There are no locks: who wants to be alone says so in a file and looks whether another did too
(`exclusive`), and a journal counts as alive for a day.
"""

from __future__ import annotations

import errno
import hashlib
import random
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType

from evalframe.errors import BucketMissing, StoreError, UsageError
from evalframe.store.cache import Cache
from evalframe.store.files import Sink, reported, token
from evalframe.store.layout import LEASED, SEALS, WRITERS
from evalframe.store.places import Given, Made, Place, Stat, named
from evalframe.store.refusals import changed_file, command, first_command
from evalframe.store.trouble import as_os_error

LEASE_SECONDS = 60.0
"""How long a claim is respected that stays as it is. It is made for a handful of requests."""

AT_ONCE = 16
"""Requests that wait for an answer at the same time."""

_LOOKED_AT = 20
"""So many folders are looked at for a store that may have been meant."""

_CHUNK = 1 << 20
_MARK = b"evalframe\n"
_SETTINGS = {"s3": ("allow_delayed_open=true",), "gs": ("retry_limit_seconds=30",), "gcs": ("retry_limit_seconds=30",)}
"""What a URI says unless it says it itself: one request for a small file, and an end to trying."""


def connect(uri: str) -> RemoteFiles:
    """The place that a URI names. Raises StoreError, without the credentials in it, where that cannot be told."""
    shown = named(uri)
    with reported("connecting", shown), as_os_error():
        try:
            filesystem, base = _from_uri(uri)
            if not base.strip("/"):
                raise ValueError("no bucket")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            raise UsageError(
                "the URI of the store is not one that can be used",
                expected="such as s3://bucket/results?region=eu-central-1, gs://bucket/results, "
                "abfs://container@account.dfs.core.windows.net/results",
                found="a URI without a bucket, or one that pyarrow.fs refuses",
                where=shown,
                hint="--store s3://bucket/results",
            ) from None
    return RemoteFiles(filesystem, base, shown)


def _from_uri(uri: str) -> tuple[FileSystem, str]:
    parts = urlsplit(uri)
    more = [each for each in _SETTINGS.get(parts.scheme.lower(), ()) if each.partition("=")[0] not in parts.query]
    found: tuple[FileSystem, str]
    try:
        found = FileSystem.from_uri(parts._replace(query="&".join(filter(None, (parts.query, *more)))).geturl())
    except pa.ArrowInvalid:  # a version that does not know the setting
        found = FileSystem.from_uri(uri)
    return found


class _Upload:
    """A file being written there. It is there once it is closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def closed(self) -> bool:
        found: bool = self._stream.closed
        return found

    def write(self, data: Any, /) -> int | None:
        with as_os_error():
            written: int | None = self._stream.write(data)
        return written

    def close(self) -> None:
        with as_os_error():
            self._stream.close()


class RemoteFiles:
    """Files below `base` of a file system. root: its URI as it is printed."""

    keeps_folders, settles_late = False, True

    def __init__(self, filesystem: FileSystem, base: str, root: str, cache: Cache | None = None) -> None:
        self.root = root
        self._filesystem = filesystem
        self._base = base.rstrip("/")
        self._cache = cache or Cache.of_user()

    def shown(self, path: str) -> str:
        """A path of the store as messages name it."""
        return f"{self.root}/{path}" if path else self.root

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if path else self._base

    # ---- looking -----------------------------------------------------------------------------------------------------

    def _list(self, folder: str, *, deep: bool) -> list[Any]:
        """What is in a folder. Some stores show a file without content until it is written to its end."""
        with reported("listing", self.shown(folder)), as_os_error():
            selector = FileSelector(self._at(folder), allow_not_found=True, recursive=deep)
            found = self._filesystem.get_file_info(selector)
        return [info for info in found if info.type != FileType.File or info.size]

    def _below(self, folder: str) -> list[str]:
        """Paths below a folder, relative to it, of all files."""
        start = len(self._at(folder)) + 1
        return [info.path[start:] for info in self._list(folder, deep=True) if info.type == FileType.File]

    def names(self, folder: str) -> list[str]:
        """Names of the entries of a folder."""
        return [info.base_name for info in self._list(folder, deep=False)]

    def shards(self, folder: str) -> list[str]:
        """`<shard>/<name>` of all files, listed in one go."""
        return self._below(folder)

    def walk(self, folder: str = "") -> Iterator[str]:
        """Paths of all files at any depth below a folder."""
        head = f"{folder}/" if folder else ""
        yield from (head + path for path in sorted(self._below(folder), key=lambda path: path.split("/")))

    def stat(self, path: str) -> Stat | None:
        """Size and time of a file, None when there is none."""
        with reported("looking up", self.shown(path)), as_os_error():
            info = self._filesystem.get_file_info(self._at(path))
        if info.type == FileType.NotFound or (info.type == FileType.File and not info.size):
            return None
        return Stat(info.size or 0, info.mtime_ns or 0)

    def is_store(self) -> bool:
        """Whether a store lies here."""
        return self._lies("")

    def _lies(self, head: str) -> bool:
        """Whether a store lies at `head`, a path with a slash at its end."""
        return self.stat(f"{head}{SEALS}/lock") is not None or self.stat(f"{head}{SEALS}") is not None

    def missing(self) -> StoreError:
        """The error for a place where there should be a store: what is there, or that the bucket is not."""
        return self._no_store("no store in this place", "one that a command with --store has written")

    def _no_store(self, what: str, expected: str) -> StoreError:
        self._require_bucket()
        entries = sorted(self.names(""))
        below = next((name for name in entries[:_LOOKED_AT] if self._lies(f"{name}/")), None)
        if below is not None:
            hint = command("runs --store", f"{self.root}/{below}")
        else:
            free = f"{self.root}/store" if entries else self.root
            hint = first_command(free)
        return StoreError(
            what,
            expected=expected,
            found=f"a folder with {', '.join(entries[:3])}" if entries else "nothing",
            where=self.root,
            hint=hint,
        )

    def _require_bucket(self) -> None:
        """A bucket that is not there looks like an empty one until something is written."""
        bucket = self._base.partition("/")[0]
        with reported("looking up the bucket", self.root), as_os_error():
            found = self._filesystem.get_file_info(bucket)
        if bucket and found.type == FileType.NotFound:
            raise BucketMissing(
                f"there is no bucket {bucket!r}",
                expected="a bucket or container that exists",
                found="none of that name, or none that these credentials see",
                where=self.root,
                hint="make it with the tools of the object store, then run the same command again",
            )

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _pieces(self, path: str) -> Iterator[bytes]:
        with as_os_error(), self._filesystem.open_input_stream(self._at(path), compression=None) as stream:
            while piece := stream.read(_CHUNK):
                yield piece

    def read(self, path: str) -> bytes:
        """The whole file. Raises FileNotFoundError when it is not there."""
        with reported("reading", self.shown(path)):
            try:
                return b"".join(self._pieces(path))
            except OSError as failure:
                # Its size is asked for before its content: one that goes in between is reported in other words.
                if not isinstance(failure, FileNotFoundError) and self.stat(path) is not None:
                    raise
        raise FileNotFoundError(errno.ENOENT, "no such file", self.shown(path))

    def read_seal(self, path: str) -> bytes:
        """The whole file, from the cache of this machine where it was read before."""
        content = self._cache.noted(path)
        if content is None:
            content = self.read(path)
            self._cache.note(path, content)
        return content

    def sha256(self, path: str) -> str:
        """64 hex over a file as it is there now."""
        digest = hashlib.sha256()
        with reported("reading", self.shown(path)):
            for piece in self._pieces(path):
                digest.update(piece)
        return digest.hexdigest()

    def parquet(self, path: str, size: int, sha256: Callable[[], str]) -> Path:
        """A copy of the file in the cache of this machine, checked against its digest when it is made."""
        expected = sha256()
        try:
            with reported("copying", self.shown(path)):
                kept, found = self._cache.keep(expected, size, lambda: self._pieces(path))
        except StoreError as trouble:
            if not isinstance(trouble.__cause__, FileNotFoundError):
                raise
            kept, found = None, "no file"
        if kept is None:
            raise changed_file(self.shown(path), self.root, expected=f"SHA-256 {expected}", found=found)
        return kept

    def each(self, function: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
        """Several at a time, and never many more than are asked for."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting: deque[Future[Made]] = deque()
            try:
                for item in items:
                    waiting.append(pool.submit(function, item))
                    if len(waiting) > AT_ONCE:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for each in waiting:
                    each.cancel()

    # ---- writing -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Put down the first file of an empty store."""
        if self.names("") and not self.is_store():
            raise self._no_store("a store cannot begin in this place", "an empty place, or none")
        with reported("creating the store", self.root):
            self.write(f"{SEALS}/lock", _MARK)

    def _opened(self, path: str) -> _Upload:
        with as_os_error():
            try:
                return _Upload(self._filesystem.open_output_stream(self._at(path), compression=None))
            except FileNotFoundError:  # a file system that has folders
                self._filesystem.create_dir(self._at(path.rpartition("/")[0]), recursive=True)
                return _Upload(self._filesystem.open_output_stream(self._at(path), compression=None))

    def create(self, folder: str, stem: str, suffix: str) -> tuple[str, Sink]:
        """A new file under a number drawn at random. It is there when it is closed."""
        path = f"{folder}/{stem}-{secrets.randbelow(10**18)}{suffix}"
        return path, Sink(self._opened(path))

    def write(self, path: str, content: bytes) -> None:
        """A whole small file, of at least one byte."""
        stream = self._opened(path)
        stream.write(content)
        stream.close()

    def stage(self, staged: str, content: bytes) -> Callable[[str], None]:
        """Nothing is prepared: writing is whole by itself."""
        return lambda path: self.write(path, content)

    def settle(self, *folders: str) -> None:
        """What is written there survives us."""

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens when it is not there."""
        with suppress(FileNotFoundError), as_os_error():
            self._filesystem.delete_file(self._at(path))

    def remove_empty(self, folder: str) -> None:
        """An object store has no folders; elsewhere an empty one costs nothing, and another may be about to fill it."""

    def writable(self) -> bool:
        """That is found out by trying."""
        return True

    # ---- who is at work ----------------------------------------------------------------------------------------------

    def hold(self, path: str, content: bytes) -> Callable[[], None]:
        """Write a journal. It counts as alive by its age."""
        self.write(path, content)
        return lambda: None

    def is_held(self, path: str) -> bool | None:
        """Nobody can tell."""
        return None

    @contextmanager
    def exclusive(self, lock: str, *, wait: bool = True, about: str = "") -> Iterator[bool | None]:
        """Claim `lock` by a file of one's own, and hold it when no other claim is there; else take it back, and again.

        Of two, the one that wrote its claim later sees the other's, so both never hold it; unless one stands still for
        longer than LEASE_SECONDS in between, when the others go on without it. Hence None, never True.
        """
        start = f"{hashlib.sha256(f'{lock} {about}'.encode()).hexdigest()[:16]}-"
        seen: dict[str, float] = {}
        tries = 0
        while True:
            mine = f"{start}{token()}{LEASED}"
            try:
                self.write(f"{WRITERS}/{mine}", _MARK)
                others = [name for name in self.names(WRITERS) if name.startswith(start) and name != mine]
                now = time.monotonic()
                if all(now - seen.setdefault(name, now) >= LEASE_SECONDS for name in others):
                    yield None
                    return
                if not wait:
                    yield False
                    return
            finally:
                with suppress(OSError):  # then it is respected for a while longer
                    self.remove(f"{WRITERS}/{mine}")
            tries += 1
            time.sleep(random.uniform(0.02, 0.1) * min(2**tries, 32))


if TYPE_CHECKING:
    _A_PLACE: type[Place] = RemoteFiles
