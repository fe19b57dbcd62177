"""`.catalogue/`: segments, each a compaction of many seals of one kind and of the rows they seal. Always rebuildable.

    .catalogue/<kind>-<token>/segment.json       which seals it covers, which files it has; written last
    .catalogue/<kind>-<token>/<table>-<n>.parquet

A segment counts only while every seal it covers is there and none of their runs is withdrawn, its files are as it
says, and the contract of its table has not changed. Seal names carry digests, so comparing names compares contents.
What no segment covers is read from the seals themselves: a segment saves time and decides nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalframe.store import layout
from evalframe.store.layout import CATALOGUE
from evalframe.store.places import Place

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "evalframe-segment/1"
MANIFEST, SUPERSEDED = "segment.json", "superseded.json"
COMPACTED = {
    layout.RUNS: ("runs", "class_vocabulary"),
    layout.RESULTS: ("metric_values", "class_confusion_by_cluster", "choice_bins"),
    layout.RECORDS: ("comparisons",),
}
"""The tables of each kind whose rows a segment holds: what is read of many runs at once and is little of each. Of the
first one it holds all rows; of the others those of seals that have JOINED_ROWS or fewer."""

JOINED_ROWS = 1 << 14
"""More rows are read as fast where they were sealed."""

SEALS_INDEX, FILES_INDEX = "seals", "sealed_files"
"""Tables of a segment that say what its seals say, so that no seal need be opened."""


class Part(NamedTuple):
    """One Parquet file of a segment.

    covers: positions, in the segment's seals, of those whose rows of `table` it holds. fingerprint: the protocol
    fingerprint of all of them, or None. meaning: digest of the table's contract, "" for an index. changed_ns: its time
    when it was written, which spares reading it to see whether it changed.
    """

    table: str
    path: str
    rows: int
    size: int
    changed_ns: int
    sha256: str
    meaning: str
    fingerprint: str | None
    covers: tuple[int, ...]


@dataclass(frozen=True)
class Segment:
    """One compaction. seals: names it covers, sorted. concerns: per record the keys of the runs it is about."""

    folder: str
    seals: tuple[str, ...]
    parts: tuple[Part, ...]
    concerns: Mapping[str, list[str]]
    _intact: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def covered(self) -> frozenset[str]:
        """The seals as a set."""
        return frozenset(self.seals)

    def of(self, table: str) -> list[Part]:
        """The parts that hold a table."""
        return [part for part in self.parts if part.table == table]

    def at_hand(self, files: Place, part: Part) -> Path:
        """A file of this machine with the rows of a part."""
        return files.parquet(f"{self.folder}/{part.path}", part.size, lambda: part.sha256)

    def means_the_same(self) -> bool:
        """Whether the contracts of its rows are those installed."""
        return all(not part.meaning or part.meaning == meaning(part.table) for part in self.parts)

    def intact(self, files: Place) -> bool:
        """Whether all files are as the manifest says. One whose time alone differs, after a copy say, is hashed."""
        return all(self._is_intact(files, part) for part in self.parts)

    def _is_intact(self, files: Place, part: Part) -> bool:
        path = f"{self.folder}/{part.path}"
        found = files.stat(path)
        if found is None or found.size != part.size:
            return False
        if found.changed_ns == part.changed_ns:
            return True
        if path not in self._intact:
            self._intact[path] = files.sha256(path) == part.sha256
        return self._intact[path]


@cache
def meaning(table: str) -> str:
    """64 hex over what a contract says of the meaning of its columns."""
    from evalframe.contracts import contract
    from evalframe.identity import canonical_json, sha256_text

    return sha256_text(canonical_json(contract(table).semantics()))


def packed(segment: Segment) -> bytes:
    """The bytes of a segment's manifest: its digest on the first line, then JSON."""
    facts = {"format": FORMAT, "concerns": dict(segment.concerns), "seals": segment.seals}
    body = json.dumps({**facts, "parts": [part._asdict() for part in segment.parts]}).encode("ascii")
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def unpacked(content: bytes, folder: str) -> Segment | None:
    """The segment in a manifest; None when it is damaged or of another format."""
    digest, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    facts: dict[str, Any] = json.loads(body)
    if facts["format"] != FORMAT:
        return None
    parts = tuple(Part(**{**part, "covers": tuple(part["covers"])}) for part in facts["parts"])
    return Segment(folder, tuple(facts["seals"]), parts, facts["concerns"])


class Catalogue:
    """The segments of a store; manifests are kept once read, for a folder never changes its content."""

    def __init__(self, files: Place) -> None:
        self.files = files
        self._read: dict[str, Segment] = {}
        self._tables: dict[tuple[str, str], pa.Table] = {}

    def segments(self, kind: str) -> list[Segment]:
        """Every readable manifest over seals of a kind, whether it counts or not."""
        found = []
        for name in self.files.names(CATALOGUE):
            if name.startswith(f"{kind}-") and (segment := self.segment(f"{CATALOGUE}/{name}")) is not None:
                found.append(segment)
        return found

    def segment(self, folder: str) -> Segment | None:
        """The segment in a folder; None when its manifest is damaged, of another format, or gone."""
        if self.files.stat(f"{folder}/{MANIFEST}") is None:
            self._forget(folder)
            return None
        if folder not in self._read:
            try:
                segment = unpacked(self.files.read(f"{folder}/{MANIFEST}"), folder)
            except FileNotFoundError:  # superseded in the meantime
                return None
            if segment is None:
                return None
            self._read[folder] = segment
        return self._read[folder]

    def _forget(self, folder: str) -> None:
        self._read.pop(folder, None)
        self._tables = {key: table for key, table in self._tables.items() if key[0] != folder}

    def table(self, segment: Segment, table: str) -> pa.Table:
        """The rows that a segment holds of one of its small tables: an index or `runs`. Kept once read."""
        import pyarrow as pa

        from evalframe.contracts import contract
        from evalframe.store import parquet
        from evalframe.store.tables import INDEX_SCHEMA

        key = (segment.folder, table)
        if key not in self._tables:
            schema = INDEX_SCHEMA if table in (SEALS_INDEX, FILES_INDEX) else contract(table).arrow_schema()
            paths = [segment.at_hand(self.files, part) for part in segment.of(table)]
            whole = [parquet.read(path, schema, self.files.root) for path in paths]
            self._tables[key] = pa.concat_tables([schema.empty_table(), *whole])
        return self._tables[key]

    def usable(self, kind: str, there: AbstractSet[str]) -> list[Segment]:
        """Segments that count where the seals `there` are all of the kind, no two covering the same, largest first."""
        chosen: list[Segment] = []
        for segment in sorted(self.segments(kind), key=lambda each: (-len(each.seals), each.folder)):
            if (
                segment.covered <= there
                and all(segment.covered.isdisjoint(other.covered) for other in chosen)
                and segment.intact(self.files)
                and segment.means_the_same()
            ):
                chosen.append(segment)
        return chosen

    def supersede(self, segments: Iterable[Segment]) -> None:
        """Take segments out of use. Their files stay a while for readers that hold their names."""
        for segment in segments:
            manifest = f"{segment.folder}/{MANIFEST}"
            # Another process may take the same segment out of use, or `gc` remove it, between any two of these steps.
            if self.files.stat(manifest) is not None:
                self.files.write(f"{segment.folder}/{SUPERSEDED}", b"superseded\n")
                self.files.remove(manifest)
