"""Where a store lies, and all that it asks of such a place. Paths are POSIX text relative to the store.

A place is a folder of this machine (files.py) or one that `pyarrow.fs` reaches (remote.py). Both can list, read, write
a file whole, delete, and tell size and time. A file is seen whole under its name or not at all, without a rename where
one is not at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from evalframe.errors import StoreError, UsageError

if TYPE_CHECKING:
    from evalframe.store.files import Sink

Given = TypeVar("Given")
Made = TypeVar("Made")

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
SCHEMES = ("file", "s3", "gs", "gcs", "abfs", "abfss")


class Stat(NamedTuple):
    """Size in bytes and time of the last change in nanoseconds since 1970."""

    size: int
    changed_ns: int


class Place(Protocol):
    """The files of one store. `root` names it in messages and holds no credentials.

    Reading reports trouble as StoreError; what writes raises OSError, which `reported` turns into one.
    """

    @property
    def root(self) -> Path | str:
        """The store's folder or URI."""

    @property
    def keeps_folders(self) -> bool:
        """Whether a folder stays when its last file goes."""

    @property
    def settles_late(self) -> bool:
        """Whether a file may appear after writing it was reported to have failed."""

    def shown(self, path: str) -> Path | str:
        """A path of the store as messages name it."""

    # ---- looking -----------------------------------------------------------------------------------------------------

    def names(self, folder: str) -> list[str]:
        """Names of the entries of a folder, in any order; none when it is not there."""

    def shards(self, folder: str) -> list[str]:
        """`<shard>/<name>` of the entries of all folders in a folder, in any order."""

    def walk(self, folder: str = "") -> Iterator[str]:
        """Paths of all files at any depth below a folder, each folder sorted by name."""

    def stat(self, path: str) -> Stat | None:
        """Size and time of a file, None when there is none. Of a folder only whether it is there."""

    def is_store(self) -> bool:
        """Whether a store lies here."""

    def missing(self) -> StoreError:
        """The error for a place where there should be a store, saying what is there."""

    # ---- reading -----------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        """The whole file. Raises FileNotFoundError when it is not there, StoreError for any other trouble."""

    def read_seal(self, path: str) -> bytes:
        """As `read`, of a file whose name says what is in it: a copy from when it was read before will do."""

    def sha256(self, path: str) -> str:
        """64 hex over a file."""

    def parquet(self, path: str, size: int, sha256: Callable[[], str]) -> Path:
        """A file of this machine with the content of `path`, of `size` bytes: that file itself, or a verified copy.

        sha256: gives the 64 hex that were sealed; asked only where there must be a copy. Raises StoreCorrupt when the
        file is missing or another.
        """

    def each(self, function: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
        """What `function` gives for every item, in order; several at a time where one mostly waits for an answer."""

    # ---- writing -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make an empty store. Raises StoreError where something else lies."""

    def create(self, folder: str, stem: str, suffix: str) -> tuple[str, Sink]:
        """A new file `<stem>-<n><suffix>` that no other writer makes, open for writing."""

    def write(self, path: str, content: bytes) -> None:
        """A whole small file under a name of the writer's own."""

    def stage(self, staged: str, content: bytes) -> Callable[[str], None]:
        """Prepare a file that is to appear whole. What is returned gives it its name, at once.

        staged: where it is prepared, if the place needs that.
        """

    def settle(self, *folders: str) -> None:
        """Make the names in `folders`, and the folders' own, survive a power cut."""

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens when it is not there."""

    def remove_empty(self, folder: str) -> None:
        """Remove a folder and those above it, within the store, as far as they are empty, if that is worth it."""

    def writable(self) -> bool:
        """Whether this process may write here, as far as that is known without trying."""

    # ---- who is at work ----------------------------------------------------------------------------------------------

    def hold(self, path: str, content: bytes) -> Callable[[], None]:
        """Write a journal that counts as alive from the moment it is seen; what is returned lets go of it."""

    def is_held(self, path: str) -> bool | None:
        """Whether a living process holds a journal; None where nobody can tell."""

    def exclusive(self, lock: str, *, wait: bool = True, about: str = "") -> AbstractContextManager[bool | None]:
        """Be the only one within `lock` for the length of a block.

        about: what for, where waiting is dear: then only those who do the same wait for one another. Yields True when
        held, False when another holds it (without `wait`), None when held as far as can be told: then look afterwards.
        """


def is_uri(text: Path | str) -> bool:
    """Whether a store is named by URI rather than by folder."""
    return isinstance(text, str) and _URI.match(text) is not None


def place(where: Path | str, *, durable: bool) -> Place:
    """The place that a folder or URI names. Nothing is read.

    durable: whether what is sealed in a folder survives a power cut. Raises UsageError for a URI of another form.
    """
    from evalframe.store.files import LocalFiles

    found = _URI.match(where) if isinstance(where, str) else None
    if isinstance(where, Path) and where.parts[:1] in [(f"{scheme}:",) for scheme in SCHEMES]:
        raise _refused(f"{where.parts[0]}/ in a Path, which keeps one slash of two: pass the URI as text")
    if found is None:
        return LocalFiles(Path(where).absolute(), durable=durable)
    scheme = found[1].lower()
    if scheme == "file":  # the same folder under another name: locks and all
        return LocalFiles(_folder(str(where)), durable=durable)
    if scheme not in SCHEMES:
        raise _refused(f"{scheme}://")
    from evalframe.store.remote import connect

    return connect(str(where))


def named(uri: str) -> str:
    """A URI as it is printed: without user, password, query and fragment, which may hold credentials."""
    try:
        parts = urlsplit(uri)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "a URI that cannot be read"
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def _folder(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise _refused("file:// with a host or a relative path")
    return Path(unquote(parts.path))


def _refused(found: str) -> UsageError:
    return UsageError(
        "a store cannot lie there",
        expected=f"a folder, or a URI that begins with one of {', '.join(f'{each}://' for each in SCHEMES)}",
        found=found,
        where="--store",
        hint="--store s3://bucket/results",
    )
