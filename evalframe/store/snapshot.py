"""The seals that count at one moment, through the compaction where it counts. Later writes do not change it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, cast

from evalframe.errors import UnknownName
from evalframe.store import layout
from evalframe.store.catalogue import INDEX, Catalogue, Segment
from evalframe.store.ledger import Ledger
from evalframe.store.seals import RecordSeal, Tombstone

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.store.tables import Entry

_LOOKED_UP_ONE_BY_ONE = 64


class Snapshot:
    """Which seals there are, less those of withdrawn runs. It opens a seal only when something asks for it.

    runs: restrict it to these. A few are looked up one by one, without the compaction. Raises UnknownName for a run
    that is not there or withdrawn.
    """

    def __init__(self, ledger: Ledger, catalogue: Catalogue, runs: Collection[str] | None = None) -> None:
        self.ledger = ledger
        self.files = ledger.files
        self.runs = None if runs is None else frozenset(runs)
        self.keys = None if self.runs is None else frozenset(map(layout.run_key, self.runs))
        self.whole = self.keys is None or len(self.keys) > _LOOKED_UP_ONE_BY_ONE
        self._catalogue = catalogue
        self._withdrawn = {layout.run_key_of(name) for name in ledger.names(layout.WITHDRAWN)}
        shards = None if self.whole else {key[:2] for key in self.keys or ()}
        names = [name for kind in (layout.RUNS, layout.RESULTS) for name in ledger.names(kind, shards)]
        if self._withdrawn:
            names = [name for name in names if layout.run_key_of(name) not in self._withdrawn]
        self._of_runs = self._one_per_slot(names)
        if self.runs is not None:
            self._check(self.runs)

    def _check(self, runs: Collection[str]) -> None:
        known = {layout.run_key_of(name) for name in self._of_runs if layout.kind_of(name) == layout.RUNS}
        missing = sorted(run for run in runs if layout.run_key(run) not in known)
        if not missing:
            return
        grave = self.ledger.find(Tombstone, layout.run_key(missing[0]))
        raise UnknownName(
            f"run {missing[0]!r} is {'withdrawn' if grave else 'not in the store'}",
            expected="runs of the store",
            found=f"withdrawn because: {grave.reason}" if grave else ", ".join(map(repr, missing[:5])),
            where=str(self.files.root),
            hint=f"evalframe runs --store {self.files.root}",
        )

    @cached_property
    def records(self) -> list[str]:
        """Seals of records, less those about a withdrawn run."""
        names = self.ledger.names(layout.RECORDS)
        if self._withdrawn:
            names = [name for name in names if self._withdrawn.isdisjoint(self.concerns(name))]
        return self._one_per_slot(names)

    @cached_property
    def visible(self) -> frozenset[str]:
        """Names of all seals that count."""
        return frozenset([*self._of_runs, *self.records])

    @cached_property
    def segments(self) -> list[Segment]:
        """The segments of the compaction that count; none where the runs are looked up one by one."""
        return self._catalogue.usable(self.visible) if self.whole else []

    @cached_property
    def uncovered(self) -> list[str]:
        """Seals that count and that no segment covers, sorted."""
        return sorted(self.visible.difference(*(segment.covered for segment in self.segments)))

    def names(self, kind: str) -> list[str]:
        """Seals of a kind that must be opened one by one: those that no segment covers."""
        if kind == layout.RECORDS and not self.whole:
            return self.records
        return [name for name in (self.uncovered if self.whole else self._of_runs) if layout.kind_of(name) == kind]

    def entries(self, table: str, kinds: Collection[str], skip: Collection[str] = ()) -> list[Entry]:
        """Files of a table, or with table "" the seals themselves, of some kinds of seal.

        skip: folders of segments to leave out.
        """
        from evalframe.store.tables import entries, from_index

        found: list[Entry] = []
        for segment in self.segments:
            if segment.folder not in skip:
                found += from_index(self.rows(segment, INDEX), table)
        for kind in kinds:
            for name in self.names(kind):
                found += [each for each in entries(name, self.ledger.load(name)) if each.table == table]
        return [each for each in found if layout.kind_of(each.seal) in kinds and self._is_wanted(each)]

    def rows(self, segment: Segment, table: str) -> list[pa.Table]:
        """The parts of a small table of a segment."""
        return self._catalogue.tables(segment, table)

    def _is_wanted(self, entry: Entry) -> bool:
        if self.keys is None:
            return True
        if entry.run_id is not None:
            return entry.run_id in cast("frozenset[str]", self.runs)
        concerned = self.concerns(entry.seal)
        return not concerned or not self.keys.isdisjoint(concerned)

    def concerns(self, record: str) -> Collection[str]:
        """Keys of the runs that a record is about."""
        for segment in self._all_segments:
            if record in segment.concerns:
                return segment.concerns[record]
        seal = cast(RecordSeal, self.ledger.load(record))
        return [layout.run_key(run) for run in seal.runs]

    @cached_property
    def _all_segments(self) -> list[Segment]:
        return self._catalogue.segments()

    def _one_per_slot(self, names: list[str]) -> list[str]:
        """Without file locks two writers may both have sealed the same content; the first counts."""
        slots: dict[str, list[str]] = {}
        if len({layout.slot_of(name) for name in names}) == len(names):
            return names
        for name in names:
            slots.setdefault(layout.slot_of(name), []).append(name)
        return [self._first(same) if len(same) > 1 else same[0] for same in slots.values()]

    def _first(self, names: list[str]) -> str:
        chosen = self.ledger.chosen(names)
        return next(name for name in names if self.ledger.load(name) == chosen)
