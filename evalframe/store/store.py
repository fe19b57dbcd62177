"""A folder of sealed runs and results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalframe.errors import StoreConflict, StoreCorrupt, StoreError, UsageError
from evalframe.store import layout
from evalframe.store.catalogue import COMPACTED, Catalogue
from evalframe.store.files import reported
from evalframe.store.ledger import Ledger
from evalframe.store.places import Place, place
from evalframe.store.refusals import command
from evalframe.store.seals import RecordSeal, ResultSeal, RunSeal, Seal, Tombstone, as_inputs, now
from evalframe.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.store.writing import Outcome

COMPACT_AT = 128
"""Whoever looks at all runs compacts the store when so many seals are uncovered."""

COMPACT_AT_ONCE = 2048
"""So many at a time, that nobody waits long; the next one goes on."""

LOOK_EVERY = 64
"""A writer looks after one seal in so many, so that no reader finds thousands uncovered."""


class Store:
    """Runs are immutable per run id, results per (run id, protocol fingerprint); each exists when its seal exists.

    Every reading method sees the store as it is when called. Any number of processes may read and write at once.
    Tables are Arrow tables, or RecordBatchReaders that are written as they come.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False, durable: bool = True) -> None:
        self._files: Place = place(path, durable=durable)
        self.path = self._files.root
        self._ledger = Ledger(self._files)
        self._catalogue = Catalogue(self._files)
        self._read_only = read_only
        self._compacts = not read_only

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False, read_only: bool = False, durable: bool = True) -> Store:
        """The store in a folder, or at a URI such as `s3://bucket/results`. However many runs there are, none is read.

        create: make it one when it is empty or not there. read_only: never write, not even the compaction.
        durable: whether what is sealed survives a power cut and not only a killed process.
        Raises StoreError when the folder is not a store.
        """
        store = cls(path, read_only=read_only, durable=durable)
        if not store._files.is_store():
            if not create:
                raise store._files.missing()
            store._files.begin()
        return store

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write_run(
        self,
        run_id: str,
        *,
        system: str,
        dataset_id: str | None,
        tables: Mapping[str, Any],
        inputs: Mapping[str, Any],
        tags: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Seal the predictions and labels of a run. "unchanged" when the same run is sealed already.

        inputs: the digests and options that decide sameness, as JSON. Table `runs` is written from the arguments.
        Raises StoreConflict naming what differs when the id is sealed with other content, or withdrawn, and UsageError
        where the id or a tag is no text.
        """
        from evalframe.store.tables import runs_table

        if "runs" in tables:
            raise UsageError(
                "table runs is written by the store",
                expected="tables of predictions and labels",
                found="a table runs",
                hint="leave it out",
            )
        self._refuse_withdrawn(run_id)
        layout.refuse_no_text(tags or {})
        seal = RunSeal(
            created_at=now(),
            inputs=_inputs(inputs),
            run_id=run_id,
            system=system,
            dataset_id=dataset_id,
            tags=dict(sorted((tags or {}).items())),
        )
        return self._seal(
            seal,
            {**tables, "runs": runs_table([seal])},
            {name: layout.run_stem(name, run_id) for name in (*tables, "runs")},
            {"run_id": run_id, "dataset_id": dataset_id},
            "name the run otherwise: --run-id ID",
        )

    def write_results(
        self,
        run_id: str,
        *,
        protocol: str,
        protocol_fingerprint: str,
        tables: Mapping[str, Any],
        inputs: Mapping[str, Any],
    ) -> Outcome:
        """Seal the results of a sealed run under one protocol fingerprint. Results under other fingerprints stay.

        protocol: name/version. Raises UnknownName without the run, StoreConflict as `write_run` does.
        """
        self._refuse_withdrawn(run_id)
        self._snapshot([run_id])
        seal = ResultSeal(
            created_at=now(),
            inputs=_inputs(inputs),
            run_id=run_id,
            protocol=protocol,
            protocol_fingerprint=protocol_fingerprint,
        )
        return self._seal(
            seal,
            tables,
            {name: layout.result_stem(name, run_id, protocol, protocol_fingerprint) for name in tables},
            {"run_id": run_id, "protocol": protocol, "protocol_fingerprint": protocol_fingerprint},
            command("runs --store", self.path),
        )

    def write_record(
        self, table: str, record_id: str, data: Any, *, inputs: Mapping[str, Any], runs: Collection[str] = ()
    ) -> Outcome:
        """Seal rows of one table that belong to no single run: a comparison, findings, an imported catalogue.

        runs: those the record is about; when one of them is withdrawn, so is the record.
        """
        seal = RecordSeal(
            created_at=now(), inputs=_inputs(inputs), table=table, record_id=record_id, runs=tuple(sorted(runs))
        )
        stems = {table: layout.record_stem(table, record_id)}
        return self._seal(seal, {table: data}, stems, {}, "give the record another id")

    def withdraw(self, run_id: str, reason: str) -> Outcome:
        """Hide a run, its results and the records about it from every reader, behind a sealed reason.

        Its files stay and its id cannot be used again. "unchanged" when it is withdrawn for the same reason already.
        """
        from evalframe.store.journal import Journal
        from evalframe.store.ledger import conflict

        layout.utf8(reason, "a reason")
        if not reason.strip():
            raise UsageError(
                f"run {run_id!r} is not withdrawn without a reason",
                expected="why nobody should use it: it cannot be changed later",
                found=repr(reason),
                where="--reason",
                hint='--reason "labels were shifted by one window"',
            )
        seal = Tombstone(created_at=now(), run_id=run_id, reason=reason)
        first = self._ledger.find(Tombstone, seal.key)
        if first is None:
            self._snapshot([run_id])  # refuses a run that is not there
        if first is None or first.reason == reason:
            self._refuse_read_only()
            with Journal(self._files, [f"{layout.CATALOGUE}/"]) as journal:
                first = self._ledger.publish(journal, seal)
                self._forget_segments()
        if first.reason != reason:
            raise conflict(first, seal, root=self.path, hint=command("runs --store", self.path))
        return "written" if first == seal else "unchanged"

    def _seal(
        self,
        seal: Seal,
        tables: Mapping[str, Any],
        stems: Mapping[str, tuple[str, str]],
        ids: Mapping[str, str | None],
        hint: str,
    ) -> Outcome:
        import random

        from evalframe.contracts import contract
        from evalframe.store import writing

        self._refuse_read_only()
        for name in tables:
            contract(name)  # refuses a name that is no table before it becomes a path
        outcome = writing.seal(self._ledger, seal, tables=tables, stems=stems, ids=ids, hint=hint)
        if outcome == "written" and self._compacts and random.randrange(LOOK_EVERY) == 0:
            with suppress(StoreError, StoreCorrupt):  # this seal stands; of damage elsewhere readers are told
                self._snapshot(kinds=[seal.kind])
        return outcome

    def _refuse_read_only(self) -> None:
        if self._read_only:
            raise StoreError(
                "the store was opened for reading only",
                expected="a store opened for writing",
                found="read_only=True",
                where=str(self.path),
                hint=f"evalframe.store.Store.open({str(self.path)!r})",
            )

    def _refuse_withdrawn(self, run_id: str) -> None:
        grave = self._ledger.find(Tombstone, layout.run_key(run_id))
        if grave is not None:
            raise StoreConflict(
                f"run {run_id!r} is withdrawn, and its id stays taken",
                expected="an id that was never withdrawn",
                found=f"withdrawn because: {grave.reason}",
                where=str(self.path),
                hint="name the run otherwise: --run-id ID",
            )

    # ---- reading ---------------------------------------------------------------------------------------------------

    def run_ids(self) -> list[str]:
        """Ids of the runs, oldest first."""
        from evalframe.store import listing

        return listing.run_ids(self._snapshot(None, [layout.RUNS]))

    def runs(self, runs: Collection[str] | None = None) -> pa.Table:
        """Table `runs`, oldest first."""
        from evalframe.store import listing

        return listing.runs(self._snapshot(runs, [layout.RUNS]))

    def run(self, run_id: str) -> RunSeal:
        """The seal of one run."""
        from evalframe.store import listing

        return listing.run_seals(self._snapshot([run_id]))[0]

    def results(self, run_id: str) -> tuple[ResultSeal, ...]:
        """Seals of one run's results, oldest first. For many runs ask `scored`."""
        from evalframe.store import listing

        return listing.results(self._snapshot([run_id]))

    def scored(self, runs: Collection[str] | None = None) -> pa.Table:
        """One row per run and fingerprint it has results under: run_id, protocol, protocol_fingerprint, created_at."""
        from evalframe.store import listing

        return listing.scored(self._snapshot(runs, [layout.RESULTS]))

    def newest_fingerprint(self, protocol: str, runs: Collection[str] | None = None) -> str:
        """The newest fingerprint of a protocol (name/version) that all these runs have results under.

        Without `runs`: all that have results under the protocol. Raises ResultsMissing (exit 3, hint `rescore`).
        """
        from evalframe.store import listing

        return listing.newest_fingerprint(self._snapshot(runs, [layout.RESULTS]), protocol)

    def holders(self, table: str, runs: Collection[str] | None = None) -> frozenset[str]:
        """Ids of the runs that were sealed with a table."""
        index = self._snapshot(runs, [layout.RUNS]).index(layout.RUNS, table)
        return frozenset(index.column("run_id").to_pylist())

    def files(
        self, table: str, runs: Collection[str] | None = None, fingerprints: Collection[str] | None = None
    ) -> list[Path]:
        """The sealed files that hold exactly the rows of `table` of these runs, under these fingerprints.

        A table that has no run_id is given once per data set, or once per protocol fingerprint.
        """
        from evalframe.store import reading

        kinds = self._kinds(table)
        return reading.files(self._snapshot(runs, kinds), table, kinds, fingerprints)

    def read(
        self,
        table: str,
        runs: Collection[str] | None = None,
        fingerprints: Collection[str] | None = None,
        columns: Collection[str] | None = None,
    ) -> pa.Table:
        """The rows of `files`, in the columns of the table's contract or those named."""
        from evalframe.store import reading

        kinds = self._kinds(table)
        return reading.read(self._snapshot(runs, kinds), table, kinds, fingerprints, columns)

    def parts(
        self,
        table: str,
        runs: Collection[str] | None = None,
        fingerprints: Collection[str] | None = None,
        columns: Collection[str] | None = None,
        holding: Mapping[str, int] | None = None,
    ) -> Iterator[pa.Table]:
        """What `read` gives, some rows at a time. holding: whole numbers that rows must have in columns read."""
        from evalframe.store import reading

        kinds = self._kinds(table)
        return reading.parts(self._snapshot(runs, kinds), table, kinds, fingerprints, columns, holding)

    def views(
        self, runs: Collection[str] | None = None, tables: Collection[str] | None = None
    ) -> dict[str, list[Path]]:
        """Tables with their files, all from one moment; no files where the store has none. Default: every table."""
        from evalframe.contracts import contracts
        from evalframe.store import reading

        kinds = {table: self._kinds(table) for table in (contracts() if tables is None else tables)}
        snapshot = self._snapshot(runs, set().union(*kinds.values()))
        snapshot.freeze()
        return {table: reading.files(snapshot, table, kinds[table]) for table in kinds}

    def _kinds(self, table: str) -> set[str]:
        if not self._files.keeps_folders:  # a table whose files are missing looks as if it had never had any
            return set(COMPACTED)
        return layout.kinds_in(self._files.names(table))

    def _snapshot(self, runs: Collection[str] | None = None, kinds: Collection[str] = ()) -> Snapshot:
        """The store now; a compaction of `kinds` is brought up to date first where that is due."""
        snapshot = Snapshot(self._ledger, self._catalogue, runs)
        due = [kind for kind in kinds if self._compacts and snapshot.whole and self._is_due(snapshot, kind)]
        if not due:
            return snapshot
        self._compact_quietly(due)
        return Snapshot(self._ledger, self._catalogue, runs)

    def _is_due(self, snapshot: Snapshot, kind: str) -> bool:
        return len(snapshot.uncovered(kind)) >= COMPACT_AT

    # ---- upkeep ----------------------------------------------------------------------------------------------------

    def verify(self) -> pa.Table:
        """Every difference between what is sealed and what is there: kind, path, run_id, expected, found."""
        from evalframe.store import verifying

        return verifying.verify(Ledger(self._files))

    def gc(self, *, dry_run: bool = False) -> list[str]:
        """Remove what killed writers left; the paths, relative to the store. Never what a living writer is writing."""
        from evalframe.store import collecting

        return collecting.collect(Ledger(self._files), dry_run=dry_run)

    def compact(self) -> int:
        """Bring the compaction up to date; returns the number of seals newly covered."""
        self._refuse_read_only()
        return self._compact(COMPACTED)

    def _compact(self, kinds: Collection[str], limit: int | None = None) -> int:
        from evalframe.store import compaction

        snapshot = Snapshot(self._ledger, self._catalogue)
        return sum(compaction.compact(snapshot, self._catalogue, kind, limit) for kind in kinds)

    def _compact_quietly(self, kinds: Collection[str]) -> None:
        """The compaction only saves time: where it cannot be written, everything is read from the seals."""
        self._compacts = self._files.writable()
        try:
            if self._compacts:
                self._compact(kinds, COMPACT_AT_ONCE)
        except (StoreError, StoreCorrupt):
            self._compacts = False

    def _forget_segments(self) -> None:
        """Take segments out of use that do not count any more."""
        from evalframe.store import compaction

        with reported("withdrawing", self.path):
            for kind in COMPACTED:
                compaction.supersede(self._ledger, self._catalogue, kind)


def _inputs(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return as_inputs(given)
    except (TypeError, ValueError) as wrong:
        raise UsageError(
            "inputs of a run cannot be written as JSON",
            expected="text, finite numbers, booleans, null, lists and objects of them",
            found=str(wrong),
            hint="pass digests and options as text",
        ) from wrong
