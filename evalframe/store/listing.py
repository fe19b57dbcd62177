"""What a store holds: its runs, their results, the newest results that several runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from evalframe.errors import ResultsMissing
from evalframe.store import layout
from evalframe.store.refusals import command
from evalframe.store.seals import ResultSeal, RunSeal
from evalframe.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa


def run_ids(snapshot: Snapshot) -> list[str]:
    """Ids of the runs, oldest first."""
    from evalframe.store.tables import oldest_first

    if not snapshot.segments(layout.RUNS):
        return [seal.run_id for seal in sorted(run_seals(snapshot), key=lambda seal: (seal.created_at, seal.run_id))]
    ids: list[str] = oldest_first(snapshot.index(layout.RUNS), "run_id").column("run_id").to_pylist()
    return ids


def run_seals(snapshot: Snapshot) -> list[RunSeal]:
    """Seals of the runs that no segment covers."""
    return [cast(RunSeal, seal) for seal in snapshot.seals(layout.RUNS).values()]


def runs(snapshot: Snapshot) -> pa.Table:
    """Table `runs`, oldest first."""
    import pyarrow as pa

    from evalframe.store.tables import among, oldest_first, runs_table

    covered = [snapshot.table(segment, "runs") for segment in snapshot.segments(layout.RUNS)]
    whole = pa.concat_tables([runs_table(run_seals(snapshot)), *covered])
    if snapshot.runs is not None:
        whole = among(whole, "run_id", snapshot.runs)
    return oldest_first(whole, "run_id")


def results(snapshot: Snapshot) -> tuple[ResultSeal, ...]:
    """Seals of the results of the snapshot's few runs, oldest first."""
    seals = [cast(ResultSeal, seal) for seal in snapshot.seals(layout.RESULTS).values()]
    return tuple(sorted(seals, key=lambda seal: (seal.created_at, seal.protocol_fingerprint)))


def scored(snapshot: Snapshot) -> pa.Table:
    """Which run has results under what: run_id, protocol, protocol_fingerprint, created_at; oldest first."""
    from evalframe.store.tables import oldest_first

    index = snapshot.index(layout.RESULTS)
    return oldest_first(index.select(["run_id", "protocol", "protocol_fingerprint", "created_at"]), "run_id")


def newest_fingerprint(snapshot: Snapshot, protocol: str) -> str:
    """The newest fingerprint of `protocol` that every run of the snapshot has results under.

    A snapshot of all runs asks those that have any results under the protocol. Raises ResultsMissing naming the runs
    that lack the fingerprint most of them have.
    """
    import pyarrow.compute as pc

    rows = scored(snapshot)
    rows = rows.filter(pc.equal(rows.column("protocol"), protocol))
    held = rows.group_by("protocol_fingerprint").aggregate([("run_id", "count"), ("created_at", "max")]).to_pylist()
    asked = snapshot.runs if snapshot.runs is not None else frozenset(rows.column("run_id").to_pylist())
    newest = sorted(held, key=lambda each: (each["created_at_max"], each["protocol_fingerprint"]), reverse=True)
    for each in newest:
        if each["run_id_count"] == len(asked):
            return str(each["protocol_fingerprint"])
    best = max(newest, key=lambda each: each["run_id_count"], default={"protocol_fingerprint": ""})[
        "protocol_fingerprint"
    ]
    holders = rows.filter(pc.equal(rows.column("protocol_fingerprint"), best)).column("run_id").to_pylist()
    lacking = sorted(asked.difference(holders))
    more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
    raise ResultsMissing(
        f"no results under {protocol} that all {len(asked)} runs have",
        expected=f"every run scored under one fingerprint, such as {best}" if best else "runs scored under it",
        found=f"none for {', '.join(map(repr, lacking[:5]))}{more}" if lacking else "no results at all",
        where=str(snapshot.files.root),
        hint=command("rescore --store", snapshot.files.root),
    )
