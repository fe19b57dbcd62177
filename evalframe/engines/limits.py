"""How much of the machine an engine may take: what the control group allows, else what the machine has."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from evalframe.errors import UsageError

MEMORY_SHARE = 0.6
"""The rest is for Arrow results, the interpreter and whoever else lives here."""

MODEST = 1 << 30
"""Bytes for work that loses little time by spilling, so that it need not take a share of the machine."""

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")

_LIMIT = r"(\d+(?:\.\d+)?) ?(?:([KMGT])(i)?)?B"


def cgroup_limits(groups: Path = _CGROUPS, own: Path = _OWN_CGROUP) -> tuple[Path, ...]:
    """Files that may hold a limit of this process: of its control group and of all that it is inside of.

    A container sees its group as the root; a service, or a job of a scheduler, is in a group below it.
    """
    below = ["", "memory"]
    with suppress(OSError):
        for line in own.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds in ("", "memory"):
                steps = [step for step in path.split("/") if step and step != ".."]
                below += ["/".join([*filter(None, [kinds]), *steps[:n]]) for n in range(1, len(steps) + 1)]
    return tuple(groups / place / name for place in below for name in ("memory.max", "memory.limit_in_bytes"))


def machine_memory(limits: tuple[Path, ...] | None = None) -> int:
    """Bytes this process can have: the smallest of physical memory and the limits of its control groups."""
    known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in cgroup_limits() if limits is None else limits:
        try:
            known.append(int(path.read_text()))
        except (OSError, ValueError):  # absent, or `max`
            continue
    return min(known)


def default_memory_limit() -> int:
    """Bytes an engine takes when nobody said: a share of what there is."""
    return int(machine_memory() * MEMORY_SHARE)


def modest(limit: str | None) -> str:
    """A limit, or where there is none, one for work that spills what does not fit."""
    return limit or f"{min(default_memory_limit(), MODEST)}B"


def memory_share(limit: str | None, parts: int) -> str:
    """An equal part of a limit (`4GB`), or of the default one, as a limit."""
    return f"{(default_memory_limit() if limit is None else limit_bytes(limit)) // parts}B"


def limit_bytes(limit: str) -> int:
    """The bytes of a limit that `check_limits` has passed: `1KiB` is 1024, `1KB` is 1000."""
    amount, power, binary = re.fullmatch(_LIMIT, limit).groups()  # type: ignore[union-attr]
    return int(float(amount) * (1024 if binary else 1000) ** " KMGT".index(power or " "))


def check_limits(memory_limit: str | None, threads: int | None) -> None:
    """Refuse what is no amount of memory (a driver may take `-1GB` for no limit) and fewer than one thread."""
    if memory_limit is not None and not re.fullmatch(_LIMIT, memory_limit):
        raise UsageError(
            "the memory limit is not an amount",
            expected="a number with a unit, such as 4GB or 512MiB",
            found=repr(memory_limit),
            where="--memory-limit",
            hint="--memory-limit 4GB",
        )
    if threads is not None and threads < 1:
        raise UsageError(
            "there is no work without a thread",
            expected="1 or more",
            found=str(threads),
            where="--threads",
            hint="--threads 2",
        )
