"""Every difference between what is sealed and what is there, named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

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
from evalframe.store.journal import writers
from evalframe.store.known import Known, Sealed
from evalframe.store.layout import CATALOGUE, SEALS, WRITERS
from evalframe.store.ledger import Ledger
from evalframe.store.places import Place
from evalframe.store.sameness import of_files, of_part, of_table, same_rows
from evalframe.store.seals import Seal, SealDamaged, unpacked
from evalframe.store.tables import INDEX_SCHEMA
from evalframe.underway import counted

if TYPE_CHECKING:
    import polars as pl


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
    known = Known()
    found = [*_seals(ledger, known), *_files(ledger, known), *_extra(ledger.files, known)]
    found += _compactions(ledger.files, known)
    found.sort(key=lambda finding: (finding.path, finding.kind))
    columns = list(zip(*found, strict=True)) or [()] * len(SCHEMA)
    return pa.table([pa.array(column, pa.large_string()) for column in columns], schema=SCHEMA)


def _seals(ledger: Ledger, known: Known) -> Iterator[Finding]:
    """Findings about seals; what those say that are as written goes into `known`."""
    slots: dict[str, str] = {}
    names = []
    for path in ledger.files.walk(SEALS):
        name = path.removeprefix(f"{SEALS}/")
        if layout.is_seal(name):
            names.append(name)
        elif name != "lock":
            yield Finding("extra_file", path, None, "nothing", "a file that no writer makes")
    read = ledger.files.each(partial(_seal, ledger.files), names)
    for name, seal in zip(names, counted("seals", read, len(names)), strict=True):
        path = f"{SEALS}/{name}"
        if isinstance(seal, str):
            yield Finding("damaged_seal", path, None, "the seal as it was written", seal)
            continue
        known.add(name, seal)
        if (other := slots.setdefault(seal.slot, path)) != path:
            yield Finding("duplicate_seal", path, _run_of(seal), "one seal", f"another one, {other}")
    for name, run in known.without_run():
        yield Finding("orphan_seal", f"{SEALS}/{name}", run, "the seal of its run", "none, or a damaged one")


def _seal(files: Place, name: str) -> Seal | str:
    """A seal as it lies there now, or what is wrong with it."""
    try:
        return unpacked(files.read(f"{SEALS}/{name}"), name)
    except (SealDamaged, FileNotFoundError) as damage:
        return str(damage)


def _run_of(seal: Seal) -> str | None:
    return getattr(seal, "run_id", None)


def _files(ledger: Ledger, known: Known) -> Iterator[Finding]:
    check = partial(_file, ledger, known)
    yield from filter(None, ledger.files.each(check, counted("files", known.files(), known.n_files)))


def _file(ledger: Ledger, known: Known, file: Sealed) -> Finding | None:
    stat = ledger.files.stat(file.path)
    if stat is None:
        return Finding("missing_file", file.path, file.run_id, f"{file.size} bytes", "no file")
    digest = ledger.files.sha256(file.path)
    if digest == file.sha256:
        return None
    if (original := known.with_digest(digest)) is not None:
        owner = f"{original.path} of {ledger.load(original.seal).title}"
        return Finding("swapped_file", file.path, file.run_id, f"SHA-256 {file.sha256}", owner)
    return Finding(
        "changed_file",
        file.path,
        file.run_id,
        f"{file.size} bytes, SHA-256 {file.sha256}",
        f"{stat.size} bytes, SHA-256 {digest}",
    )


def _extra(files: Place, known: Known) -> Iterator[Finding]:
    sealed = known.paths()
    own = (f"{SEALS}/", f"{CATALOGUE}/", f"{WRITERS}/")
    unsealed = [path for path in files.walk() if path not in sealed and not path.startswith(own)]
    at_work = writers(files)  # after the walk: whoever began later made none of these
    for path in unsealed:
        if any(writer.may_have_made(path) for writer in at_work) or _settled(files, path, known):
            continue
        yield Finding("extra_file", path, None, "nothing", "a file that no seal lists")


def _settled(files: Place, path: str, known: Known) -> bool:
    """Whether a writer sealed the file, or took it back, after the seals were read."""
    if files.stat(path) is None:
        return True
    ledger = Ledger(files)
    fresh = [name for kind in layout.KINDS for name in ledger.names(kind) if name not in known.names]
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


def _compactions(files: Place, known: Known) -> Iterator[Finding]:
    """Segments that are not what the seals say. One of another version of evalframe is left alone: nobody reads it."""
    catalogue = Catalogue(files)
    segments = {segment.folder: segment for kind in COMPACTED for segment in catalogue.segments(kind)}
    graves = {layout.run_key_of(name) for name in known.names if layout.kind_of(name) == layout.WITHDRAWN}
    at_work = any(writer.alive and writer.may_have_made(f"{CATALOGUE}/") for writer in writers(files))
    for path in files.walk(CATALOGUE):
        folder, _, name = path.rpartition("/")
        if name != MANIFEST or folder in segments:
            continue
        # One that another process has just put into use, or taken out of it, is not damaged.
        if catalogue.segment(folder) is None and files.stat(path) is not None:
            yield Finding("damaged_compaction", path, None, "the manifest as it was written", "other content")
    for segment in segments.values():
        unseen = [name for name in segment.seals if name not in known.names]
        missing = [name for name in unseen if not _stands(files, name)]
        hidden = [name for name in segment.seals if layout.run_key_of(name) in graves]
        hidden += [name for name, runs in segment.concerns.items() if not graves.isdisjoint(runs)]
        if missing or (hidden and not at_work):  # a withdrawal hides the run first, then the segments
            reason = f"no sound seal {missing[0]}" if missing else f"{hidden[0]} of a withdrawn run"
            yield Finding("stale_compaction", f"{segment.folder}/{MANIFEST}", None, "standing seals only", reason)
        elif not unseen and not hidden and segment.means_the_same():
            yield from filter(None, (_part(files, segment, part, known) for part in segment.parts))


def _part(files: Place, segment: Segment, part: Part, known: Known) -> Finding | None:
    path = f"{segment.folder}/{part.path}"
    stat = files.stat(path)
    if stat is None or files.sha256(path) != part.sha256:
        found = "no file" if stat is None else "other content"
        return Finding("damaged_compaction", path, None, f"SHA-256 {part.sha256}", found)
    at_hand = segment.at_hand(files, part)
    if part.table in (SEALS_INDEX, FILES_INDEX):
        same = parquet.read(at_hand, INDEX_SCHEMA, files.root).equals(known.index(part.table, segment.seals))
    else:
        definition = contract(part.table)
        covered = [segment.seals[position] for position in part.covers]
        try:
            same = same_rows(of_part(at_hand, part.rows, definition), _sealed(files, definition, covered, known))
        except (StoreCorrupt, FileNotFoundError):  # a finding about the sealed file says so
            return None
    return None if same else Finding("stale_compaction", path, None, "the rows that the seals hold", "other rows")


def _sealed(files: Place, definition: Contract, seals: Sequence[str], known: Known) -> Iterator[pl.DataFrame]:
    """The rows that these seals hold of a table."""
    if definition.name == "runs":  # what the files hold stands in the seals too
        return iter([of_table(known.runs(seals))])
    return of_files(files, definition, known.sealed(definition.name, seals))
