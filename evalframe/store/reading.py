"""Rows of a store: which files hold them, and the rows themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from evalframe.contracts import contract
from evalframe.store import layout, parquet
from evalframe.store.catalogue import COMPACTED, Part, Segment
from evalframe.store.snapshot import Snapshot
from evalframe.store.tables import among, oldest_first

_SHARED_BY = {layout.RUNS: "dataset_id", layout.RESULTS: "protocol_fingerprint"}


def files(
    snapshot: Snapshot, table: str, kinds: Collection[str], fingerprints: Collection[str] | None = None
) -> list[Path]:
    """The files that hold exactly the rows of `table` of the snapshot's runs.

    kinds: of the seals that list files of the table. fingerprints: of results, only those under these. A table without
    run_id is shared: of a data set's the oldest run's rows count, of a fingerprint's the oldest result's. Raises
    StoreCorrupt when a sealed file is missing or of another size.
    """
    columns = contract(table).names
    paths: list[Path] = []
    for kind in sorted(kinds):
        wanted = fingerprints if kind == layout.RESULTS else None
        compacted = _compacted(snapshot, kind, table, wanted)
        rows = snapshot.index(kind, table, compacted.used_up)
        if compacted.seals:
            rows = among(rows, "seal", compacted.seals, wanted=False)
        if wanted is not None:
            rows = among(rows, "protocol_fingerprint", wanted)
        rows = oldest_first(rows, "path")
        shared_by = _SHARED_BY.get(kind, "run_id")
        found = rows.select(["seal", "path", "size", shared_by]).to_pylist()
        if "run_id" not in columns and shared_by in columns:
            found = _one_holder_each(found, shared_by)
        paths += snapshot.files.each(lambda held: held[0].at_hand(snapshot.files, held[1]), compacted.parts)
        paths += snapshot.files.each(partial(_at_hand, snapshot), found)
    return paths


def read(
    snapshot: Snapshot,
    table: str,
    kinds: Collection[str],
    fingerprints: Collection[str] | None = None,
    columns: Collection[str] | None = None,
) -> pa.Table:
    """The rows of `files`, in the columns of the table's contract, or those named."""
    schema = _schema(table, columns)
    paths = files(snapshot, table, kinds, fingerprints)
    return pa.concat_tables(
        [schema.empty_table(), *(parquet.read(path, schema, snapshot.files.root) for path in paths)]
    )


def parts(
    snapshot: Snapshot,
    table: str,
    kinds: Collection[str],
    fingerprints: Collection[str] | None = None,
    columns: Collection[str] | None = None,
    holding: Mapping[str, int] | None = None,
) -> Iterator[pa.Table]:
    """What `read` gives, some rows at a time. holding: whole numbers that rows must have in columns that are read."""
    schema = _schema(table, columns)
    paths = files(snapshot, table, kinds, fingerprints)
    return (part for path in paths for part in parquet.parts(path, schema, snapshot.files.root, holding or {}))


def _schema(table: str, columns: Collection[str] | None) -> pa.Schema:
    schema = contract(table).arrow_schema()
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


class _Compacted(NamedTuple):
    """What segments give of a table: parts of wanted rows only, folders of segments with no more of it, and the seals
    that the files taken from the other segments cover."""

    parts: list[tuple[Segment, Part]]
    used_up: set[str]
    seals: set[str]


def _compacted(snapshot: Snapshot, kind: str, table: str, fingerprints: Collection[str] | None) -> _Compacted:
    found = _Compacted([], set(), set())
    if table not in COMPACTED[kind]:
        return found
    holds_all = table == COMPACTED[kind][0]
    for segment in snapshot.segments(kind):
        answers = {part: _is_wanted(snapshot, segment, part, fingerprints) for part in segment.of(table)}
        taken = [part for part, wanted in answers.items() if wanted]
        found.parts.extend((segment, part) for part in taken)
        if None in answers.values() or not holds_all:
            found.seals.update(segment.seals[position] for part in taken for position in part.covers)
        else:
            found.used_up.add(segment.folder)
    return found


def _is_wanted(snapshot: Snapshot, segment: Segment, part: Part, fingerprints: Collection[str] | None) -> bool | None:
    """Whether all rows of a part are wanted (True), or none (False), or some (None)."""
    if fingerprints is not None and part.fingerprint not in fingerprints:
        return False
    if snapshot.keys is None:
        return True
    keys = {layout.run_key_of(segment.seals[position]) for position in part.covers}
    if keys <= snapshot.keys:
        return True
    return False if None not in keys and snapshot.keys.isdisjoint(keys) else None


def _one_holder_each(found: list[dict[str, Any]], shared_by: str) -> list[dict[str, Any]]:
    """Of rows sorted by age, those of the first seal per shared id."""
    holders: dict[str | None, str] = {}
    return [each for each in found if holders.setdefault(each[shared_by], each["seal"]) == each["seal"]]


def _at_hand(snapshot: Snapshot, row: Mapping[str, Any]) -> Path:
    """The file of a row of the index, on this machine."""
    return snapshot.files.parquet(row["path"], row["size"], lambda: _digest(snapshot, row["seal"], row["path"]))


def _digest(snapshot: Snapshot, seal: str, path: str) -> str:
    return next(file.sha256 for file in snapshot.ledger.load(seal).files if file.path == path)
