"""Where a store was looked for in vain: one that may have been meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from evalframe.store.layout import SEALS

MOST = 200
"""So many entries of a folder are looked at: an error must not search a disk."""


def nearest(place: Path) -> Path | None:
    """A store that `place` lies in, that lies in it, or beside it; of several the one whose name is most alike."""
    import difflib

    around = (
        (folder for folder in place.parents if _is_store(folder)),
        _stores_in(place),
        _stores_in(place.parent),
        (store for folder in _folders(place.parent) for store in _stores_in(folder)),
    )
    for stores in around:
        found = {str(store): store for store in stores}
        if found:
            alike = difflib.get_close_matches(str(place), found, n=1, cutoff=0.0)
            return found[alike[0]]
    return None


def _stores_in(folder: Path) -> Iterator[Path]:
    return (each for each in _folders(folder) if _is_store(each))


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in islice(entries, MOST) if entry.is_dir())
    return []


def _is_store(folder: Path) -> bool:
    with suppress(OSError):
        return (folder / SEALS).is_dir()
    return False
