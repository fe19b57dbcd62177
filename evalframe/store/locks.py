"""Advisory locks: they end with the process that holds them, however it ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

# EBADF: NFS locks a file only when it is open for writing.
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}


def take(handle: int, *, wait: bool) -> bool | None:
    """Lock an open file: True when held, False when another holds it, None where locks do not work."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as failure:
        if failure.errno in _UNSUPPORTED:
            return None
        raise
    return True


@contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[bool | None]:
    """Hold the lock file `path` for the length of a block; yields what `take` says."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield take(handle, wait=wait)
    finally:
        os.close(handle)


def is_held(path: Path) -> bool | None:
    """Whether somebody holds the lock file: None where locks do not work; a missing file is not held."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        taken = take(handle, wait=False)
        return None if taken is None else not taken
    finally:
        os.close(handle)
