"""`.catalogue/`: segments, each a compaction of many seals and of the rows they seal. Always rebuildable.

    .catalogue/<token>/segment.json       which seals it covers, which files it has; written last, carries its digest
    .catalogue/<token>/<table>-<n>.parquet

A segment counts only while every seal it covers is there and none of their runs is withdrawn, its files are as it
says, and the contracts of its tables have not changed. Seal names carry digests, so comparing names compares contents.
What no segment covers is read from the seals themselves: a segment saves time and decides nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalframe.store.files import LocalFiles
from evalframe.store.layout import CATALOGUE

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "evalframe-segment/1"
MANIFEST, SUPERSEDED = "segment.json", "superseded.json"
COMPACTED = ("runs", "metric_values", "comparisons")
INDEX = "sealed_files"
"""The table of a segment that lists what its seals list, so that no seal need be opened."""


@dataclass(frozen=True)
class Part:
    """One Parquet file of a segment.

    covers: positions, in the segment's seals, of those whose rows of `table` it holds. fingerprint: the protocol
    fingerprint of all of them, or None. changed_ns: its time when it was written, which spares reading it to see
    whether it changed.
    """

    table: str
    path: str
    rows: int
    size: int
    changed_ns: int
    sha256: str
    fingerprint: str | None
    covers: tuple[int, ...]


@dataclass(frozen=True)
class Segment:
    """One compaction. seals: names it covers, sorted. concerns: per record the keys of the runs it is about."""

    folder: str
    seals: tuple[str, ...]
    parts: tuple[Part, ...]
    concerns: Mapping[str, list[str]]
    contracts: Mapping[str, str]
    format: str = FORMAT
    _intact: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def covered(self) -> frozenset[str]:
        """The seals as a set."""
        return frozenset(self.seals)

    def of(self, table: str) -> list[Part]:
        """The parts that hold a table."""
        return [part for part in self.parts if part.table == table]

    def intact(self, files: LocalFiles) -> bool:
        """Whether all files are as the manifest says. One whose time alone differs, after a copy say, is hashed."""
        return all(self._is_intact(files, part) for part in self.parts)

    def _is_intact(self, files: LocalFiles, part: Part) -> bool:
        path = f"{self.folder}/{part.path}"
        found = files.stat(path)
        if found is None or found.size != part.size:
            return False
        if found.changed_ns == part.changed_ns:
            return True
        if path not in self._intact:
            self._intact[path] = files.sha256(path) == part.sha256
        return self._intact[path]


def packed(segment: Segment) -> bytes:
    """The bytes of a segment's manifest: its digest on the first line, then JSON."""
    body = json.dumps(
        {
            "format": segment.format,
            "contracts": dict(segment.contracts),
            "concerns": dict(segment.concerns),
            "seals": segment.seals,
            "parts": [vars(part) for part in segment.parts],
        }
    ).encode("ascii")
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
    return Segment(folder, tuple(facts["seals"]), parts, facts["concerns"], facts["contracts"])


def column_meanings() -> dict[str, str]:
    """What a segment depends on besides the seals: the meaning of the columns of its tables."""
    from evalframe.contracts import contract

    return {
        table: hashlib.sha256(json.dumps(contract(table).semantics(), sort_keys=True).encode()).hexdigest()
        for table in COMPACTED
    }


class Catalogue:
    """The segments of a store; manifests are kept once read, for a folder never changes its content."""

    def __init__(self, files: LocalFiles) -> None:
        self.files = files
        self._read: dict[str, Segment] = {}
        self._tables: dict[tuple[str, str], list[pa.Table]] = {}

    def segments(self) -> list[Segment]:
        """Every readable manifest, whether it counts or not."""
        found = []
        for name in self.files.names(CATALOGUE):
            folder = f"{CATALOGUE}/{name}"
            if self.files.stat(f"{folder}/{MANIFEST}") is None:
                self._read.pop(folder, None)
                continue
            if folder not in self._read:
                try:
                    segment = unpacked(self.files.read(f"{folder}/{MANIFEST}"), folder)
                except FileNotFoundError:  # superseded in the meantime
                    continue
                if segment is None:
                    continue
                self._read[folder] = segment
            found.append(self._read[folder])
        return found

    def tables(self, segment: Segment, table: str) -> list[pa.Table]:
        """The rows that a segment holds of one of its small tables: INDEX or `runs`. Kept once read."""
        from evalframe.contracts import contract
        from evalframe.store import parquet
        from evalframe.store.tables import INDEX_SCHEMA

        key = (segment.folder, table)
        if key not in self._tables:
            schema = INDEX_SCHEMA if table == INDEX else contract(table).arrow_schema()
            paths = [self.files.path(f"{segment.folder}/{part.path}") for part in segment.of(table)]
            self._tables[key] = [parquet.read(path, schema, self.files.root) for path in paths]
        return self._tables[key]

    def usable(self, visible: AbstractSet[str]) -> list[Segment]:
        """Segments that count where the seals `visible` are all there are, no two covering the same, largest first."""
        chosen: list[Segment] = []
        taken: set[str] = set()
        segments = self.segments()
        meanings = column_meanings() if segments else {}
        for segment in sorted(segments, key=lambda each: (-len(each.seals), each.folder)):
            if (
                segment.contracts == meanings
                and segment.covered <= visible
                and taken.isdisjoint(segment.covered)
                and segment.intact(self.files)
            ):
                chosen.append(segment)
                taken |= segment.covered
        return chosen

    def supersede(self, segments: Iterable[Segment]) -> None:
        """Take segments out of use. Their files stay a while for readers that hold their names."""
        for segment in segments:
            manifest = f"{segment.folder}/{MANIFEST}"
            if self.files.stat(manifest) is not None:
                self.files.publish(manifest, f"{segment.folder}/{SUPERSEDED}")
                self.files.touch(f"{segment.folder}/{SUPERSEDED}")
