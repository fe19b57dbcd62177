"""Named points at which a test may kill the process or fail the disk.

`EVALFRAME_FAULT=seal.before_rename` kills the process there as `kill -9` would; `part.write@3` at the third time;
`part.write=ENOSPC` raises that operating-system error instead. Unset, a point costs one comparison.
"""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import dataclass

POINTS = (
    "writer.begun",  # the journal stands, nothing else
    "part.created",  # an empty file
    "part.write",  # before each write into a part
    "part.closed",  # one table is whole
    "seal.before_write",
    "seal.written",  # whole, but not yet under its name
    "seal.before_rename",  # the same, and no other writer can seal
    "seal.after_rename",  # it exists
    "writer.before_release",
    "compaction.before_rename",
    "compaction.after_rename",
    "gc.before_remove",
    "output.begun",  # a folder beside the place of an output, nothing else
    "output.write",  # half of a file is written, and again when all of it is
    "output.member",  # before each table of an export
    "output.made",  # whole, but not yet under its name
    "output.replaced",  # the folder that stood there is moved away
    "output.published",  # it stands in its place
    "output.remove",  # before a folder that nothing needs is removed
)


@dataclass
class _Armed:
    point: str
    times: int
    error: str


def _parsed(text: str | None) -> _Armed | None:
    if not text:
        return None
    point, _, error = text.partition("=")
    point, _, times = point.partition("@")
    if point not in POINTS or (error and not hasattr(errno, error)):
        raise ValueError(f"EVALFRAME_FAULT={text}: no such point or error; points: {', '.join(POINTS)}")
    return _Armed(point, int(times or 1), error)


_armed = _parsed(os.environ.get("EVALFRAME_FAULT"))


def arm(text: str | None) -> None:
    """Set the fault of this process, as EVALFRAME_FAULT would; None disarms."""
    global _armed
    _armed = _parsed(text)


def reach(point: str) -> None:
    """Say that `point` is reached: nothing happens unless a fault is armed there."""
    if _armed is None:
        return
    assert point in POINTS, point
    if point != _armed.point:
        return
    _armed.times -= 1
    if _armed.error and _armed.times <= 0:  # a full disk stays full
        number = getattr(errno, _armed.error)
        raise OSError(number, os.strerror(number))
    if _armed.times == 0:
        os.kill(os.getpid(), signal.SIGKILL)
