"""What a store holds: its runs, their results, the newest results that several runs share."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import pyarrow as pa

from evalframe.errors import ResultsMissing
from evalframe.store import layout
from evalframe.store.seals import ResultSeal, RunSeal
from evalframe.store.snapshot import Snapshot
from evalframe.store.tables import SCORED_SCHEMA, runs_table


def run_ids(snapshot: Snapshot) -> list[str]:
    """Ids of the runs, oldest first."""
    if not snapshot.segments:
        seals = run_seals(snapshot)
        return [seal.run_id for seal in sorted(seals, key=lambda seal: (seal.created_at, seal.run_id))]
    found = snapshot.entries("", (layout.RUNS,))
    return [cast(str, each.run_id) for each in sorted(found, key=lambda each: (each.created_at, each.run_id or ""))]


def run_seals(snapshot: Snapshot) -> list[RunSeal]:
    """Seals of the runs that no segment covers."""
    seals = [cast(RunSeal, snapshot.ledger.load(name)) for name in snapshot.names(layout.RUNS)]
    return [seal for seal in seals if snapshot.runs is None or seal.run_id in snapshot.runs]


def runs(snapshot: Snapshot) -> pa.Table:
    """Table `runs`, oldest first."""
    import pyarrow.compute as pc

    covered = [table for segment in snapshot.segments for table in snapshot.rows(segment, "runs")]
    whole = pa.concat_tables([runs_table(run_seals(snapshot)), *covered])
    if snapshot.runs is not None:
        wanted = pa.array(sorted(snapshot.runs), pa.large_string())
        whole = whole.filter(pc.is_in(whole.column("run_id"), value_set=wanted))
    return whole.sort_by([("created_at", "ascending"), ("run_id", "ascending")])


def results(snapshot: Snapshot) -> tuple[ResultSeal, ...]:
    """Seals of the results of the snapshot's few runs, oldest first."""
    seals = [cast(ResultSeal, snapshot.ledger.load(name)) for name in snapshot.names(layout.RESULTS)]
    wanted = [seal for seal in seals if snapshot.runs is None or seal.run_id in snapshot.runs]
    return tuple(sorted(wanted, key=lambda seal: (seal.created_at, seal.protocol_fingerprint)))


def scored(snapshot: Snapshot) -> pa.Table:
    """Which run has results under what: run_id, protocol, protocol_fingerprint, created_at; oldest first."""
    found = snapshot.entries("", (layout.RESULTS,))
    rows = sorted((each.created_at, each.run_id, each.protocol, each.protocol_fingerprint) for each in found)
    times, *texts = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    columns = [*texts, [datetime.fromisoformat(cast(str, time)) for time in times]]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCORED_SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCORED_SCHEMA)


def newest_fingerprint(snapshot: Snapshot, protocol: str) -> str:
    """The newest fingerprint of `protocol` that every run of the snapshot has results under.

    A snapshot of all runs asks those that have any results under the protocol. Raises ResultsMissing naming the runs
    that lack the fingerprint most of them have.
    """
    rows = [row for row in scored(snapshot).to_pylist() if row["protocol"] == protocol]
    having: dict[str, set[str]] = {}
    newest: dict[str, datetime] = {}
    for row in rows:
        having.setdefault(row["protocol_fingerprint"], set()).add(row["run_id"])
        newest[row["protocol_fingerprint"]] = row["created_at"]
    asked = snapshot.runs if snapshot.runs is not None else frozenset(row["run_id"] for row in rows)
    complete = [fingerprint for fingerprint, holders in having.items() if asked <= holders]
    if complete:
        return max(complete, key=lambda fingerprint: (newest[fingerprint], fingerprint))
    best = max(having, key=lambda fingerprint: (len(having[fingerprint]), newest[fingerprint]), default="")
    lacking = sorted(asked - having.get(best, set()))
    more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
    raise ResultsMissing(
        f"no results under {protocol} that all {len(asked)} runs have",
        expected=f"every run scored under one fingerprint, such as {best}" if best else "runs scored under it",
        found=f"none for {', '.join(map(repr, lacking[:5]))}{more}" if lacking else "no results at all",
        where=str(snapshot.files.root),
        hint=f"evalframe rescore --store {snapshot.files.root}",
    )
