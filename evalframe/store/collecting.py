"""`gc`: removes what killed writers left behind, and compactions that nobody reads any more.

Garbage is a file of a writer's making that no seal lists, that no living writer's journal accounts for and that was
there before either was looked at. A file that no writer makes is never touched: `verify` names it.
"""

from __future__ import annotations

import time

from evalframe.store import faults, layout
from evalframe.store.catalogue import COMPACTED, SUPERSEDED, Catalogue
from evalframe.store.files import reported
from evalframe.store.journal import is_alive, writers
from evalframe.store.layout import CATALOGUE, LEASED, NAMED, SEALS, STAGED, UNNAMED, WRITERS
from evalframe.store.ledger import Ledger
from evalframe.store.places import Place
from evalframe.store.snapshot import Snapshot

BEGINNING_SECONDS = 60.0
"""How long a writer may take from creating its journal to locking it."""

SUPERSEDED_SECONDS = 600.0
"""How long files of a superseded segment stay for readers that hold their names."""


def collect(ledger: Ledger, *, dry_run: bool) -> list[str]:
    """Remove garbage, or with `dry_run` only find it. Returns the paths, relative to the store, sorted.

    Raises StoreCorrupt, and removes nothing, when a seal is damaged: its files would look like garbage.
    """
    files = ledger.files
    with reported("collecting garbage", files.root):
        if dry_run:
            return _garbage(ledger)
        with files.exclusive(f"{WRITERS}/gc.lock"):  # names are reused in a folder: two must not run at once
            garbage = _garbage(ledger)
            # Journals last: they vouch for what is still to be removed, should this process be killed too.
            for path in sorted(garbage, key=lambda each: each.startswith(f"{WRITERS}/")):
                faults.reach("gc.before_remove")
                files.remove(path)
                files.remove_empty(path.rpartition("/")[0])
            return garbage


def _garbage(ledger: Ledger) -> list[str]:
    files = ledger.files
    there = list(files.walk())
    journals = writers(files)  # after the walk: who began later made none of these files
    sealed = _sealed(ledger)  # after the journals: who is done by now has sealed
    living = [writer for writer in journals if writer.alive]
    snapshot = Snapshot(ledger, Catalogue(files))
    read = {segment.folder for kind in COMPACTED for segment in snapshot.segments(kind)}
    garbage = []
    for path in there:
        room = path.partition("/")[0]
        if any(writer.may_have_made(path) for writer in living):
            continue
        if room == WRITERS:
            left = path.endswith((NAMED, STAGED)) or (path.endswith((UNNAMED, LEASED)) and _is_abandoned(files, path))
        elif room == CATALOGUE:
            folder = path.rpartition("/")[0]
            left = folder != CATALOGUE and folder not in read and not _is_young(files, folder)
        else:
            left = layout.is_part(path) and path not in sealed
        if left and files.stat(path) is not None:  # its writer may have ended in the meantime
            garbage.append(path)
    return sorted(garbage)


def _sealed(ledger: Ledger) -> set[str]:
    names = [path.removeprefix(f"{SEALS}/") for path in ledger.files.walk(SEALS)]
    seals = ledger.load_all(filter(layout.is_seal, names)).values()
    return {file.path for seal in seals for file in seal.files}


def _is_abandoned(files: Place, path: str) -> bool:
    """Whether nobody will complete this journal, or let go of this claim: unlocked, and not made just now by one who
    is about to lock it."""
    found = files.stat(path)
    return found is not None and time.time() - found.changed_ns / 1e9 > BEGINNING_SECONDS and not is_alive(files, path)


def _is_young(files: Place, folder: str) -> bool:
    """Whether a segment was superseded so lately that a reader may still hold names of its files."""
    found = files.stat(f"{folder}/{SUPERSEDED}")
    return found is not None and time.time() - found.changed_ns / 1e9 < SUPERSEDED_SECONDS
