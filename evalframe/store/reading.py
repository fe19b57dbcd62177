"""Rows of a store: which files hold them, and the rows themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from evalframe.contracts import contract
from evalframe.errors import StoreCorrupt
from evalframe.store import layout, parquet
from evalframe.store.catalogue import COMPACTED, Part, Segment
from evalframe.store.snapshot import Snapshot
from evalframe.store.tables import Entry


def files(snapshot: Snapshot, table: str, fingerprints: Collection[str] | None = None) -> list[Path]:
    """The files that hold exactly the rows of `table` of the snapshot's runs.

    fingerprints: of results, only those under these. A table without run_id is shared: of a data set's the oldest run's
    rows count, of a fingerprint's the oldest result's. Raises StoreCorrupt when a sealed file is missing or of another
    size.
    """
    columns = contract(table).names
    kinds = layout.kinds_in(snapshot.files.names(table))
    compacted = _compacted(snapshot, table, fingerprints)
    rest = [
        each
        for each in snapshot.entries(table, kinds, compacted.used_up)
        if each.seal not in compacted.seals
        and (fingerprints is None or each.protocol_fingerprint is None or each.protocol_fingerprint in fingerprints)
    ]
    rest.sort(key=lambda each: (each.created_at, each.path))
    if "run_id" not in columns:
        rest = list(_one_holder_each(rest, columns))
    return [*map(snapshot.files.path, compacted.paths), *(_checked(snapshot, each) for each in rest)]


def read(
    snapshot: Snapshot,
    table: str,
    fingerprints: Collection[str] | None = None,
    columns: Collection[str] | None = None,
) -> pa.Table:
    """The rows of `files`, in the columns of the table's contract, or those named."""
    schema = contract(table).arrow_schema()
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    root = snapshot.files.root
    return pa.concat_tables(
        [schema.empty_table(), *(parquet.read(path, schema, root) for path in files(snapshot, table, fingerprints))]
    )


class _Compacted(NamedTuple):
    """What segments give of a table: files of wanted rows only, the seals those cover, segments with no more of it."""

    paths: list[str]
    seals: set[str]
    used_up: set[str]


def _compacted(snapshot: Snapshot, table: str, fingerprints: Collection[str] | None) -> _Compacted:
    found = _Compacted([], set(), set())
    for segment in snapshot.segments if table in COMPACTED else ():
        answers = {part: _is_wanted(snapshot, segment, part, fingerprints) for part in segment.of(table)}
        for part, wanted in answers.items():
            if wanted:
                found.paths.append(f"{segment.folder}/{part.path}")
                found.seals.update(segment.seals[position] for position in part.covers)
        if None not in answers.values():
            found.used_up.add(segment.folder)
    return found


def _is_wanted(snapshot: Snapshot, segment: Segment, part: Part, fingerprints: Collection[str] | None) -> bool | None:
    """Whether all rows of a part are wanted (True), or none (False), or some (None)."""
    if fingerprints is not None and part.fingerprint is not None and part.fingerprint not in fingerprints:
        return False
    if snapshot.keys is None:
        return True
    keys = {layout.run_key_of(segment.seals[position]) for position in part.covers}
    if keys <= snapshot.keys:
        return True
    return False if None not in keys and snapshot.keys.isdisjoint(keys) else None


def _one_holder_each(found: list[Entry], columns: Collection[str]) -> Iterator[Entry]:
    """Of entries sorted by age, those of the first run per data set and of the first result per fingerprint."""
    holders: dict[tuple[str, str | None], str] = {}
    for each in found:
        kind = layout.kind_of(each.seal)
        shared = {layout.RUNS: "dataset_id", layout.RESULTS: "protocol_fingerprint"}.get(kind)
        if shared is None or shared not in columns:
            yield each
            continue
        held = each.dataset_id if kind == layout.RUNS else each.protocol_fingerprint
        if holders.setdefault((kind, held), each.seal) == each.seal:
            yield each


def _checked(snapshot: Snapshot, entry: Entry) -> Path:
    path = snapshot.files.path(entry.path)
    found = snapshot.files.stat(entry.path)
    if found is None or found.size != entry.size:
        raise StoreCorrupt(
            "a sealed file is not as it was sealed",
            expected=f"{entry.size} bytes",
            found="no file" if found is None else f"{found.size} bytes",
            where=str(path),
            hint=f"evalframe store verify {snapshot.files.root}",
        )
    return path
