"""Every difference between what is sealed and what is there, named."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from evalframe.contracts import Contract, contract
from evalframe.errors import StoreCorrupt
from evalframe.store import layout, parquet
from evalframe.store.catalogue import (
    COMPACTED,
    FILES_INDEX,
    MANIFEST,
    SEALS_INDEX,
    Catalogue,
    Part,
    Segment,
)
from evalframe.store.compaction import Rows
from evalframe.store.journal import writers
from evalframe.store.layout import CATALOGUE, SEALS, WRITERS
from evalframe.store.ledger import Ledger
from evalframe.store.places import Place
from evalframe.store.seals import RunSeal, Seal, SealDamaged, SealedFile, unpacked
from evalframe.store.tables import INDEX_SCHEMA, files_index, seals_index
from evalframe.underway import counted


class Finding(NamedTuple):
    """One difference.

    kind: changed_file, swapped_file, missing_file, extra_file; damaged_seal, duplicate_seal, orphan_seal (its run has
    none); stale_compaction, damaged_compaction. path is relative to the store; run_id is null where unknown.
    """

    kind: str
    path: str
    run_id: str | None
    expected: str
    found: str


SCHEMA = pa.schema([pa.field(name, pa.large_string(), nullable=name == "run_id") for name in Finding._fields])


def verify(ledger: Ledger) -> pa.Table:
    """All findings, by path; no rows when every seal, file and compaction is as it was written.

    What a killed or living writer left without a seal is no finding: `gc` removes it. A file that no writer's journal
    accounts for is one, whether a reader would look at it or not.
    """
    seals: dict[str, Seal] = {}
    found = [*_seals(ledger, seals), *_files(ledger.files, seals), *_extra(ledger.files, seals)]
    found += _compactions(ledger.files, seals)
    found.sort(key=lambda finding: (finding.path, finding.kind))
    columns = list(zip(*found, strict=True)) or [()] * len(SCHEMA)
    return pa.table([pa.array(column, pa.large_string()) for column in columns], schema=SCHEMA)


def _seals(ledger: Ledger, sound: dict[str, Seal]) -> Iterator[Finding]:
    """Findings about seals; those that are as written are put into `sound`."""
    slots: dict[str, str] = {}
    names = []
    for path in ledger.files.walk(SEALS):
        name = path.removeprefix(f"{SEALS}/")
        if layout.is_seal(name):
            names.append(name)
        elif name != "lock":
            yield Finding("extra_file", path, None, "nothing", "a file that no writer makes")
    for name, seal in zip(names, ledger.files.each(partial(_seal, ledger.files), names), strict=True):
        path = f"{SEALS}/{name}"
        if isinstance(seal, str):
            yield Finding("damaged_seal", path, None, "the seal as it was written", seal)
            continue
        sound[name] = seal
        if (other := slots.setdefault(seal.slot, path)) != path:
            yield Finding("duplicate_seal", path, _run_of(seal), "one seal", f"another one, {other}")
    runs = {seal.run_id for seal in sound.values() if isinstance(seal, RunSeal)}
    for name, seal in sound.items():
        if (run := _run_of(seal)) is not None and run not in runs:
            yield Finding("orphan_seal", f"{SEALS}/{name}", run, "the seal of its run", "none, or a damaged one")


def _seal(files: Place, name: str) -> Seal | str:
    """A seal as it lies there now, or what is wrong with it."""
    try:
        return unpacked(files.read(f"{SEALS}/{name}"), name)
    except (SealDamaged, FileNotFoundError) as damage:
        return str(damage)


def _run_of(seal: Seal) -> str | None:
    return getattr(seal, "run_id", None)


def _files(files: Place, seals: dict[str, Seal]) -> Iterator[Finding]:
    owners = {file.sha256: (seal, file) for seal in seals.values() for file in seal.files}
    every = [(seal, file) for seal in seals.values() for file in seal.files]
    yield from filter(None, files.each(lambda each: _file(files, *each, owners), counted("files", every)))


def _file(files: Place, seal: Seal, file: SealedFile, owners: dict[str, tuple[Seal, SealedFile]]) -> Finding | None:
    stat = files.stat(file.path)
    if stat is None:
        return Finding("missing_file", file.path, _run_of(seal), f"{file.size} bytes", "no file")
    digest = files.sha256(file.path)
    if digest == file.sha256:
        return None
    if digest in owners:
        owner, original = owners[digest]
        return Finding(
            "swapped_file", file.path, _run_of(seal), f"SHA-256 {file.sha256}", f"{original.path} of {owner.title}"
        )
    return Finding(
        "changed_file",
        file.path,
        _run_of(seal),
        f"{file.size} bytes, SHA-256 {file.sha256}",
        f"{stat.size} bytes, SHA-256 {digest}",
    )


def _extra(files: Place, seals: dict[str, Seal]) -> Iterator[Finding]:
    sealed = {file.path for seal in seals.values() for file in seal.files}
    own = (f"{SEALS}/", f"{CATALOGUE}/", f"{WRITERS}/")
    unsealed = [path for path in files.walk() if path not in sealed and not path.startswith(own)]
    at_work = writers(files)  # after the walk: whoever began later made none of these
    for path in unsealed:
        if any(writer.may_have_made(path) for writer in at_work) or _settled(files, path, seals):
            continue
        yield Finding("extra_file", path, None, "nothing", "a file that no seal lists")


def _settled(files: Place, path: str, seals: dict[str, Seal]) -> bool:
    """Whether a writer sealed the file, or took it back, after the seals were read."""
    if files.stat(path) is None:
        return True
    ledger = Ledger(files)
    fresh = [name for kind in layout.KINDS for name in ledger.names(kind) if name not in seals]
    try:
        return any(file.path == path for name in fresh for file in ledger.load(name).files)
    except StoreCorrupt:
        return False


def _stands(files: Place, name: str) -> bool:
    """Whether a seal is sound now: one that was added, and compacted, since the seals were read."""
    try:
        Ledger(files).load(name)
    except StoreCorrupt:
        return False
    return True


def _compactions(files: Place, seals: dict[str, Seal]) -> Iterator[Finding]:
    """Segments that are not what the seals say. One of another version of evalframe is left alone: nobody reads it."""
    catalogue = Catalogue(files)
    segments = {segment.folder: segment for kind in COMPACTED for segment in catalogue.segments(kind)}
    graves = {layout.run_key_of(name) for name in seals if layout.kind_of(name) == layout.WITHDRAWN}
    at_work = any(writer.alive and writer.may_have_made(f"{CATALOGUE}/") for writer in writers(files))
    for path in files.walk(CATALOGUE):
        folder, _, name = path.rpartition("/")
        if name != MANIFEST or folder in segments:
            continue
        # One that another process has just put into use, or taken out of it, is not damaged.
        if catalogue.segment(folder) is None and files.stat(path) is not None:
            yield Finding("damaged_compaction", path, None, "the manifest as it was written", "other content")
    for segment in segments.values():
        unseen = [name for name in segment.seals if name not in seals]
        missing = [name for name in unseen if not _stands(files, name)]
        hidden = [name for name in segment.seals if layout.run_key_of(name) in graves]
        hidden += [name for name, runs in segment.concerns.items() if not graves.isdisjoint(runs)]
        if missing or (hidden and not at_work):  # a withdrawal hides the run first, then the segments
            reason = f"no sound seal {missing[0]}" if missing else f"{hidden[0]} of a withdrawn run"
            yield Finding("stale_compaction", f"{segment.folder}/{MANIFEST}", None, "standing seals only", reason)
        elif not unseen and not hidden and segment.means_the_same():
            yield from filter(None, (_part(files, segment, part, seals) for part in segment.parts))


def _part(files: Place, segment: Segment, part: Part, seals: dict[str, Seal]) -> Finding | None:
    path = f"{segment.folder}/{part.path}"
    stat = files.stat(path)
    if stat is None or files.sha256(path) != part.sha256:
        found = "no file" if stat is None else "other content"
        return Finding("damaged_compaction", path, None, f"SHA-256 {part.sha256}", found)
    own = {name: seals[name] for name in segment.seals}
    if part.table in (SEALS_INDEX, FILES_INDEX):
        index = seals_index(own) if part.table == SEALS_INDEX else files_index(own)
        same = parquet.read(segment.at_hand(files, part), INDEX_SCHEMA, files.root).equals(index)
    else:
        covered = [own[segment.seals[position]] for position in part.covers]
        try:
            same = _holds(files, segment.at_hand(files, part), contract(part.table), covered)
        except (StoreCorrupt, FileNotFoundError):  # a finding about the sealed file says so
            return None
    return None if same else Finding("stale_compaction", path, None, "the rows that the seals hold", "other rows")


def _holds(files: Place, path: Path, definition: Contract, covered: list[Seal]) -> bool:
    """Whether a part holds exactly the rows of the seals it covers, compared a piece at a time."""
    schema = definition.arrow_schema()
    rows = parquet.read(path, schema, files.root, dictionaries=True)
    start = 0
    for piece in Rows.of(files, definition, covered).pieces():
        if not rows.slice(start, len(piece)).cast(schema).equals(piece.cast(schema)):
            return False
        start += len(piece)
    return start == len(rows)
