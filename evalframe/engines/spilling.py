"""Folders for what does not fit into memory: gone when their engine closes; after a kill, when another one opens."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks here: what a killed process leaves stays until somebody clears temporary files
    fcntl = None  # type: ignore[assignment]

PREFIX = "evalframe-spill-"
_LOCK = "in-use"
_swept: set[Path] = set()


class SpillFolder:
    """A new folder below `parent` (None: where temporary files are), locked while its process lives."""

    def __init__(self, parent: Path | None = None) -> None:
        place = Path(tempfile.gettempdir()) if parent is None else parent
        if place not in _swept:
            # Once for each process: an engine must open fast.
            _swept.add(place)
            remove_abandoned(place)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            # Somebody who swept between these two lines holds the lock and removes the folder.
            if _locked(self._lock) and (self.path / _LOCK).exists():
                return
            os.close(self._lock)

    def remove(self) -> None:
        """Remove the folder and all that is in it. A second time does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(place: Path) -> list[str]:
    """Remove the spill folders of processes that are gone; their names. Those of others, and unknown ones, stay."""
    names: list[str] = []
    with suppress(OSError):  # of a folder that cannot be listed
        names = sorted(name for name in os.listdir(place) if name.startswith(PREFIX))
    removed = []
    for folder in [place / name for name in names] if fcntl is not None else ():
        with suppress(OSError):
            lock = os.open(folder / _LOCK, os.O_RDWR)
            try:
                if _locked(lock):
                    shutil.rmtree(folder, ignore_errors=True)
                    removed.append(folder.name)
            finally:
                os.close(lock)
    return removed


def _locked(handle: int) -> bool:
    """Whether the file is ours now; the system frees it when the process ends, however it ends."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
