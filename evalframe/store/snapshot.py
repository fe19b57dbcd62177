"""The seals that count at one moment, through the compaction where it counts. Later writes do not change it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, cast

from evalframe.errors import UnknownName
from evalframe.store import layout
from evalframe.store.catalogue import FILES_INDEX, SEALS_INDEX, Catalogue, Segment
from evalframe.store.ledger import Ledger
from evalframe.store.refusals import command
from evalframe.store.seals import RecordSeal, Seal, Tombstone

if TYPE_CHECKING:
    import pyarrow as pa

_LOOKED_UP_ONE_BY_ONE = 64


class Snapshot:
    """Which seals there are, less those of withdrawn runs. A kind of seal is listed when it is first asked for, and a
    seal opened only when something needs what it says.

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
        self._names: dict[str, list[str]] = {}
        self._segments: dict[str, list[Segment]] = {}
        self._uncovered: dict[str, list[str]] = {}
        self._withdrawn = {layout.run_key_of(name) for name in ledger.names(layout.WITHDRAWN)}
        if self.runs is not None:
            self._check(self.runs)

    def freeze(self) -> None:
        """List every kind now: results before runs, so that no result is seen without its run."""
        for kind in (layout.RECORDS, layout.RESULTS, layout.RUNS):
            self.names(kind)

    def _check(self, runs: Collection[str]) -> None:
        known = {layout.run_key_of(name) for name in self.names(layout.RUNS)}
        missing = sorted(run for run in runs if layout.run_key(run) not in known)
        if not missing:
            return
        grave = self.ledger.find(Tombstone, layout.run_key(missing[0]))
        raise UnknownName(
            f"run {missing[0]!r} is {'withdrawn' if grave else 'not in the store'}",
            expected="runs of the store",
            found=f"withdrawn because: {grave.reason}" if grave else ", ".join(map(repr, missing[:5])),
            where=str(self.files.root),
            hint=command("runs --store", self.files.root),
        )

    # ---- names -----------------------------------------------------------------------------------------------------

    def names(self, kind: str) -> list[str]:
        """Names of all seals of a kind that are not hidden: of the snapshot's few runs only, or of all."""
        if kind not in self._names:
            few = self.keys if not self.whole and kind != layout.RECORDS else None
            found = self.ledger.names(kind, None if few is None else {key[:2] for key in few})
            if few is not None:
                found = [name for name in found if layout.run_key_of(name) in few]
            if self._withdrawn:
                found = [name for name in found if self._withdrawn.isdisjoint(self.belongs_to(name))]
            self._names[kind] = found
        return self._names[kind]

    def belongs_to(self, name: str) -> Collection[str]:
        """Keys of the runs that a seal is about."""
        if layout.kind_of(name) != layout.RECORDS:
            return (cast(str, layout.run_key_of(name)),)
        if name not in self._concerns:
            self._concerns[name] = [layout.run_key(run) for run in cast(RecordSeal, self.ledger.load(name)).runs]
        return self._concerns[name]

    @cached_property
    def _concerns(self) -> dict[str, list[str]]:
        """What the compaction knows of records: a name says the same whether or not the segment counts."""
        known = self._catalogue.segments(layout.RECORDS)
        return {name: keys for segment in known for name, keys in segment.concerns.items()}

    def _one_per_slot(self, names: list[str]) -> list[str]:
        """Without file locks two writers may both have sealed the same content; the first counts."""
        if len(set(map(layout.slot_of, names))) == len(names):
            return names
        slots: dict[str, list[str]] = {}
        for name in names:
            slots.setdefault(layout.slot_of(name), []).append(name)
        return [self._first(same) if len(same) > 1 else same[0] for same in slots.values()]

    def _first(self, names: list[str]) -> str:
        chosen = self.ledger.chosen(names)
        return next(name for name in names if self.ledger.load(name) == chosen)

    # ---- the compaction and what it leaves -------------------------------------------------------------------------

    def segments(self, kind: str) -> list[Segment]:
        """The segments of the compaction that count; none where the runs are looked up one by one."""
        if kind not in self._segments:
            self._divide(kind, self.names(kind))
            if self._uncovered[kind] and len(single := self._one_per_slot(self.names(kind))) < len(self.names(kind)):
                self._divide(kind, single)
        return self._segments[kind]

    def _divide(self, kind: str, names: list[str]) -> None:
        """Into what segments cover and what they leave."""
        there = frozenset(names)
        found = self._catalogue.usable(kind, there) if self.whole else []
        self._segments[kind] = found
        self._uncovered[kind] = sorted(there.difference(*(segment.covered for segment in found)))

    def uncovered(self, kind: str) -> list[str]:
        """Seals of a kind that must be opened one by one: those that no segment covers, sorted."""
        self.segments(kind)
        return self._uncovered[kind]

    def seals(self, kind: str) -> dict[str, Seal]:
        """The seals that no segment covers, by name."""
        return self.ledger.load_all(self.uncovered(kind))

    def table(self, segment: Segment, table: str) -> pa.Table:
        """The rows that a segment holds of a small table."""
        return self._catalogue.table(segment, table)

    def index(self, kind: str, table: str | None = None, skip: Collection[str] = ()) -> pa.Table:
        """INDEX_SCHEMA: the seals of a kind, or their files of one table, of the snapshot's runs.

        skip: folders of segments to leave out.
        """
        import pyarrow as pa

        from evalframe.store.tables import among, files_index, seals_index

        own = self.seals(kind)
        found = [seals_index(own) if table is None else files_index(own, table)]
        for segment in self.segments(kind):
            if segment.folder in skip:
                continue
            if table is None:
                found.append(self.table(segment, SEALS_INDEX))
            else:
                found.append(among(self.table(segment, FILES_INDEX), "table", [table]))
        rows = pa.concat_tables(found)
        if self.runs is None:
            return rows
        if kind == layout.RECORDS:
            return rows.filter(
                pa.array([self._is_wanted(name) for name in rows.column("seal").to_pylist()], pa.bool_())
            )
        return among(rows, "run_id", self.runs)

    def _is_wanted(self, record: str) -> bool:
        concerned = self.belongs_to(record)
        return not concerned or not cast("frozenset[str]", self.keys).isdisjoint(concerned)
