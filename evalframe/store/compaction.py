"""Makes the segments of `.catalogue/`. Only one process at a time does; the others read beside it.

Small segments are merged as their number grows, so that there are at most some ten; every row is read from the sealed
files, whose digests are checked on the way, never from an older segment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts import Contract, contract
from evalframe.errors import StoreCorrupt
from evalframe.store import faults, layout, locks, parquet
from evalframe.store.catalogue import COMPACTED, INDEX, MANIFEST, Catalogue, Part, Segment, column_meanings, packed
from evalframe.store.files import LocalFiles, reported
from evalframe.store.journal import Journal
from evalframe.store.layout import CATALOGUE
from evalframe.store.seals import RecordSeal, ResultSeal, RunSeal, Seal, SealedFile
from evalframe.store.snapshot import Snapshot
from evalframe.store.tables import INDEX_SCHEMA, entries, index, runs_table

SEGMENT_SEALS = 1 << 14
PART_ROWS = 1 << 19
FAN_OUT = 8


def compact(snapshot: Snapshot, catalogue: Catalogue) -> int:
    """Cover the seals that no segment covers, merging small segments. Returns how many seals were newly covered:
    none when another process is at it.

    Raises StoreError when the disk does, StoreCorrupt when a sealed file is not as sealed; then no segment is added.
    """
    files = snapshot.files
    fresh = snapshot.uncovered
    with reported("compacting", files.root):
        files.path(CATALOGUE).mkdir(exist_ok=True)
        with locks.exclusive(files.path(f"{CATALOGUE}/lock"), wait=False) as held:
            if held is False or not fresh:
                return 0
            merged = _mergeable(snapshot.segments, len(fresh))
            names = sorted({*fresh, *(name for segment in merged for name in segment.seals)})
            with Journal(files, [f"{CATALOGUE}/"]) as journal:
                for number, group in enumerate(_groups(names)):
                    folder = f"{CATALOGUE}/{journal.token}-{number}"
                    segment = build(snapshot, folder, group)
                    files.write(journal.staged, packed(segment))
                    faults.reach("compaction.before_rename")
                    files.publish(journal.staged, f"{folder}/{MANIFEST}")
                    faults.reach("compaction.after_rename")
            catalogue.supersede(_outdated(snapshot, catalogue))
    return len(fresh)


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


def _groups(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), SEGMENT_SEALS):
        yield names[start : start + SEGMENT_SEALS]


def _outdated(snapshot: Snapshot, catalogue: Catalogue) -> list[Segment]:
    """Segments that no longer count, now that the new ones are there."""
    kept = {segment.folder for segment in catalogue.usable(snapshot.visible)}
    return [segment for segment in catalogue.segments() if segment.folder not in kept]


class _Holder(NamedTuple):
    """A seal that holds rows of a table: its position in the segment, and how many."""

    position: int
    rows: int


def build(snapshot: Snapshot, folder: str, names: Sequence[str]) -> Segment:
    """Write the files of one segment over the seals `names` (sorted); the manifest is still to be written."""
    seals = {name: snapshot.ledger.load(name) for name in names}
    parts = [_write(snapshot.files, folder, INDEX, None, [], indexed(seals), INDEX_SCHEMA)]
    for table in COMPACTED:
        parts += _parts(snapshot.files, folder, table, list(seals.values()))
    concerns = {
        name: sorted(map(layout.run_key, seal.runs)) for name, seal in seals.items() if isinstance(seal, RecordSeal)
    }
    return Segment(folder, tuple(names), tuple(parts), concerns, column_meanings())


def indexed(seals: Mapping[str, Seal]) -> pa.Table:
    """The index of a segment over these seals, given in the order of their names."""
    rows = index(entry for name, seal in seals.items() for entry in entries(name, seal))
    return rows.sort_by([("table", "ascending"), ("seal", "ascending"), ("path", "ascending")])


def _parts(files: LocalFiles, folder: str, table: str, seals: Sequence[Seal]) -> Iterator[Part]:
    """Parts of one table: one fingerprint each, so that a choice of fingerprints is a choice of files."""
    definition = contract(table)
    holders: dict[str | None, list[_Holder]] = {}
    for position, seal in enumerate(seals):
        own = [file.rows for file in seal.files if file.table == table]
        fingerprint = seal.protocol_fingerprint if isinstance(seal, ResultSeal) else None
        if own:
            holders.setdefault(fingerprint, []).append(_Holder(position, sum(own)))
    for fingerprint in sorted(holders, key=lambda each: each or ""):
        for batch in _batches(holders[fingerprint]):
            positions = [holder.position for holder in batch]
            rows = rows_of(files, definition, [seals[position] for position in positions])
            yield _write(files, folder, table, fingerprint, positions, rows, definition.arrow_schema())


def _batches(holders: Iterable[_Holder]) -> Iterator[list[_Holder]]:
    batch: list[_Holder] = []
    rows = 0
    for holder in holders:
        batch.append(holder)
        rows += holder.rows
        if rows >= PART_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def rows_of(files: LocalFiles, definition: Contract, seals: Sequence[Seal]) -> pa.Table:
    """The rows that seals hold of a table, in the order of a part: by the table's key, the run last, so that one metric
    of many runs lies together. Text is left as dictionaries. The same seals always give the same table."""
    if definition.name == "runs":  # what the files hold stands in the seals too
        rows = runs_table([seal for seal in seals if isinstance(seal, RunSeal)])
    else:
        sealed = [file for seal in seals for file in seal.files if file.table == definition.name]
        rows = _joined(_sealed_rows(files, definition.arrow_schema(), file) for file in sealed)
    keys = [name for name in definition.key if name not in ("run_id", "protocol_fingerprint")]
    keys += [name for name in ("run_id",) if name in definition.key]
    ranks = [_ranks(rows.column(name)) for name in keys]
    return rows.take(pa.array(np.lexsort(ranks[::-1])))


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    """One table in one piece, joined a hundred at a time: a small Arrow table weighs more than its rows."""
    whole: list[pa.Table] = []
    for table in tables:
        whole.append(table)
        if len(whole) == 100:
            whole = [pa.concat_tables(whole).unify_dictionaries().combine_chunks()]
    return pa.concat_tables(whole).unify_dictionaries().combine_chunks()


def _sealed_rows(files: LocalFiles, schema: pa.Schema, file: SealedFile) -> pa.Table:
    content = files.read(file.path)
    if (digest := parquet.sha256(content)) != file.sha256:
        raise StoreCorrupt(
            "a sealed file is not as it was sealed",
            expected=f"SHA-256 {file.sha256}",
            found=digest,
            where=str(files.path(file.path)),
            hint=f"evalframe store verify {files.root}",
        )
    return parquet.read(content, schema, files.root, dictionaries=True)


def _ranks(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Per row the place of its value among all values, null first: integers sort faster than text."""
    values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    places = np.empty(len(encoded.dictionary) + 1, dtype=np.int64)
    places[0] = -1
    places[1:][np.asarray(pc.sort_indices(encoded.dictionary))] = np.arange(len(encoded.dictionary))
    ranks: NDArray[np.int64] = places[np.asarray(pc.fill_null(encoded.indices, -1)) + 1]
    return ranks


def _write(
    files: LocalFiles,
    folder: str,
    table: str,
    fingerprint: str | None,
    covers: Sequence[int],
    rows: pa.Table,
    schema: pa.Schema,
) -> Part:
    with parquet.Writer(files, table, (folder, table), schema) as writer:
        writer.add(rows)
    (written,) = writer.files
    found = files.stat(written.path)
    assert found is not None
    path = written.path.rpartition("/")[2]
    return Part(table, path, written.rows, written.size, found.changed_ns, written.sha256, fingerprint, tuple(covers))
