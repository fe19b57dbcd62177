"""Makes the segments of `.catalogue/`. Only one process at a time does; the others read beside it.

Small segments are merged as their number grows. Every row is read from the sealed files, whose digests are checked on
the way, never from an older segment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts import Contract, contract
from evalframe.store import faults, layout, parquet
from evalframe.store.catalogue import (
    COMPACTED,
    FILES_INDEX,
    JOINED_ROWS,
    MANIFEST,
    SEALS_INDEX,
    Catalogue,
    Part,
    Segment,
    meaning,
    packed,
)
from evalframe.store.files import reported
from evalframe.store.journal import Journal
from evalframe.store.layout import CATALOGUE
from evalframe.store.ledger import Ledger
from evalframe.store.places import Place
from evalframe.store.refusals import changed_file
from evalframe.store.seals import RecordSeal, ResultSeal, RunSeal, Seal, SealedFile
from evalframe.store.snapshot import Snapshot
from evalframe.store.tables import INDEX_SCHEMA, files_index, runs_table, seals_index

SEGMENT_SEALS = 1 << 14
PART_ROWS = 1 << 21  # about 400 MB while it is written; smaller ones are slower to read
FAN_OUT = 8
_JOINED = 100


def compact(snapshot: Snapshot, catalogue: Catalogue, kind: str, limit: int | None = None) -> int:
    """Cover the seals of a kind that no segment covers, or the first `limit` of them, and merge small segments.

    Returns how many seals were newly covered: none when another process is at it. Raises StoreError when the disk
    does, StoreCorrupt when a sealed file is not as sealed; then no segment is added.
    """
    files = snapshot.files
    fresh = snapshot.uncovered(kind)[:limit]
    with reported("compacting", files.root), files.exclusive(f"{CATALOGUE}/lock", wait=False) as held:
        if held is False or not fresh:
            return 0
        merged = _mergeable(snapshot.segments(kind), len(fresh))
        names = sorted({*fresh, *(name for segment in merged for name in segment.seals)})
        with Journal(files, [f"{CATALOGUE}/"]) as journal:
            for start in range(0, len(names), SEGMENT_SEALS):
                folder = f"{CATALOGUE}/{kind}-{journal.token}{start or ''}"
                _add(files, journal, folder, names[start : start + SEGMENT_SEALS])
        supersede(snapshot.ledger, catalogue, kind)
    return len(fresh)


def supersede(ledger: Ledger, catalogue: Catalogue, kind: str) -> None:
    """Take the segments out of use that do not count now, or no longer beside newer ones."""
    kept = {segment.folder for segment in Snapshot(ledger, catalogue).segments(kind)}
    catalogue.supersede(segment for segment in catalogue.segments(kind) if segment.folder not in kept)


def _mergeable(segments: Sequence[Segment], fresh: int) -> list[Segment]:
    """Segments to write again together with `fresh` seals: all of a size once there would be FAN_OUT of it.

    Each seal is so rewritten as often as the number of sizes, and there are at most FAN_OUT segments of each.
    """
    merged: list[Segment] = []
    left = [segment for segment in segments if len(segment.seals) <= SEGMENT_SEALS // 2]
    size = fresh
    while len(alike := [each for each in left if _level(len(each.seals)) <= _level(size)]) >= FAN_OUT - 1:
        merged += alike
        left = [each for each in left if each not in alike]
        size += sum(len(each.seals) for each in alike)
    return merged


def _level(seals: int) -> int:
    return int(math.log(max(seals, 1), FAN_OUT))


def _add(files: Place, journal: Journal, folder: str, names: Sequence[str]) -> None:
    """Build one segment and put it into use, or leave nothing of it."""
    manifest = f"{folder}/{MANIFEST}"
    try:
        ledger = Ledger(files)  # what it has read is let go with it
        segment = _built(files, folder, ledger.load_all(names))
        publish = files.stage(journal.staged, packed(segment))
        faults.reach("compaction.before_rename")
        publish(manifest)
    except BaseException:
        if files.stat(manifest) is None:
            for path in files.walk(folder):
                files.remove(path)
            files.remove_empty(folder)
        raise
    faults.reach("compaction.after_rename")


def _built(files: Place, folder: str, seals: Mapping[str, Seal]) -> Segment:
    """Write the files of one segment over seals of one kind, sorted by name; the manifest is still to be written."""
    indexes = {SEALS_INDEX: seals_index(seals), FILES_INDEX: files_index(seals)}
    parts = [write_part(files, folder, table, [rows], INDEX_SCHEMA) for table, rows in indexes.items()]
    in_order = list(seals.values())
    first, *others = COMPACTED[layout.kind_of(next(iter(seals)))]
    for table, most in ((first, None), *((other, JOINED_ROWS) for other in others)):
        definition = contract(table)
        for fingerprint, positions in _batches(table, in_order, most):
            pieces = Rows.of(files, definition, [in_order[position] for position in positions]).pieces()
            schema = definition.arrow_schema()
            parts.append(write_part(files, folder, table, pieces, schema, fingerprint, positions))
            del pieces  # the rows of one part are gone before those of the next are read
    concerns = {
        name: sorted(map(layout.run_key, seal.runs)) for name, seal in seals.items() if isinstance(seal, RecordSeal)
    }
    return Segment(folder, tuple(seals), tuple(parts), concerns)


def _batches(table: str, seals: Sequence[Seal], most: int | None) -> Iterator[tuple[str | None, list[int]]]:
    """Positions of the seals of each part: one fingerprint, so that a choice of fingerprints is a choice of files.

    most: rows of the table that a seal may have to be among them.
    """
    holders: dict[str | None, list[tuple[int, int]]] = {}
    for position, seal in enumerate(seals):
        held = [file.rows for file in seal.files if file.table == table]
        if held and (most is None or sum(held) <= most):
            fingerprint = seal.protocol_fingerprint if isinstance(seal, ResultSeal) else None
            holders.setdefault(fingerprint, []).append((position, sum(held)))
    for fingerprint in sorted(holders, key=lambda each: each or ""):
        batch: list[int] = []
        rows = 0
        for position, held_rows in holders[fingerprint]:
            batch.append(position)
            rows += held_rows
            if rows >= PART_ROWS:
                yield fingerprint, batch
                batch, rows = [], 0
        if batch:
            yield fingerprint, batch


class Rows(NamedTuple):
    """Rows of a table and the order they have in a part. Text is left as dictionaries."""

    table: pa.Table
    order: NDArray[np.int64]

    @classmethod
    def of(cls, files: Place, definition: Contract, seals: Sequence[Seal]) -> Rows:
        """The rows that seals hold of a table: by its key, the run last, so that one metric of many runs lies together.
        The same seals always give the same rows."""
        if definition.name == "runs":  # what the files hold stands in the seals too
            return cls.ordered(definition, runs_table([seal for seal in seals if isinstance(seal, RunSeal)]))
        sealed = [file for seal in seals for file in seal.files if file.table == definition.name]
        return cls.joined(files, definition, sealed)

    @classmethod
    def joined(cls, files: Place, definition: Contract, sealed: Sequence[SealedFile]) -> Rows:
        """The rows of these files, whose digests are checked."""
        read = partial(_sealed_rows, files, definition.arrow_schema())
        return cls.ordered(definition, _joined(files.each(read, sealed)))

    @classmethod
    def ordered(cls, definition: Contract, table: pa.Table) -> Rows:
        """These rows of a table."""
        keys = [name for name in definition.key if name not in ("run_id", "protocol_fingerprint")]
        keys += [name for name in ("run_id",) if name in definition.key]
        return cls(table, _order([table.column(name) for name in keys]))

    def pieces(self, rows: int = 1 << 17) -> Iterator[pa.Table]:
        """The rows in order, so many at a time."""
        for start in range(0, max(len(self.order), 1), rows):
            yield self.piece(start, rows)

    def piece(self, start: int, rows: int) -> pa.Table:
        """So many rows in order, from one on."""
        return self.table.take(pa.array(self.order[start : start + rows]))


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    """One table in one piece. Joined piecemeal, for a small Arrow table weighs more than its rows, and then column by
    column, so that the rows are never held twice."""
    pieces: list[pa.Table] = []
    joined: list[pa.Table] = []
    for table in tables:
        pieces.append(table)
        if len(pieces) == _JOINED:
            joined.append(pa.concat_tables(pieces).unify_dictionaries().combine_chunks())
            pieces = []
    joined += pieces
    schema = joined[0].schema
    chunks = {name: [chunk for table in joined for chunk in table.column(name).chunks] for name in schema.names}
    del table, pieces, joined
    columns = []
    for field in schema:
        whole = pa.chunked_array(chunks.pop(field.name), field.type)
        columns.append(whole.unify_dictionaries().combine_chunks())
    return pa.table(columns, schema=schema)


def content_of(files: Place, file: SealedFile) -> bytes:
    """The bytes of a sealed file. Raises StoreCorrupt where they are not those that were sealed."""
    content = files.read(file.path)
    if (digest := parquet.sha256(content)) != file.sha256:
        raise changed_file(
            files.shown(file.path), files.root, expected=f"SHA-256 {file.sha256}", found=f"SHA-256 {digest}"
        )
    return content


def _sealed_rows(files: Place, schema: pa.Schema, file: SealedFile) -> pa.Table:
    return parquet.read(content_of(files, file), schema, files.root, dictionaries=True)


_ROOM = 1 << 62


def _order(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
    """Positions of the rows sorted by the columns, the first one first, equal rows as they were: one integer per row
    sorts faster than several texts, and takes less room."""
    codes, room = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        ranks, size = _ranks(column)
        if room * size > _ROOM:
            values, codes = np.unique(codes, return_inverse=True)
            room = len(values)
        codes = codes * size + ranks
        room *= size
    return np.argsort(codes, kind="stable")


def _ranks(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    """Per row the place of its value among all values, null at 0, and how many places there are."""
    values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    places = np.zeros(len(encoded.dictionary) + 1, dtype=np.int64)
    places[1:][np.asarray(pc.sort_indices(encoded.dictionary))] = np.arange(1, len(places))
    return places[np.asarray(pc.fill_null(encoded.indices, -1)) + 1], len(places)


def write_part(
    files: Place,
    folder: str,
    table: str,
    pieces: Iterable[pa.Table],
    schema: pa.Schema,
    fingerprint: str | None = None,
    covers: Sequence[int] = (),
) -> Part:
    """Write one file of a segment."""
    with parquet.Writer(files, table, (folder, table), schema) as writer:
        for piece in pieces:
            writer.add(piece)
    (written,) = writer.files
    found = files.stat(written.path)
    assert found is not None
    return Part(
        table=table,
        path=written.path.rpartition("/")[2],
        rows=written.rows,
        size=written.size,
        changed_ns=found.changed_ns,
        sha256=written.sha256,
        meaning="" if schema is INDEX_SCHEMA else meaning(table),
        fingerprint=fingerprint,
        covers=tuple(covers),
    )
