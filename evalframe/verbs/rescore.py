"""Score stored runs again under the installed definitions. Results under older definitions stay where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from evalframe.contracts import contract
from evalframe.contracts.shards import Rows as TableRows
from evalframe.contracts.shards import Shards
from evalframe.errors import UnknownName
from evalframe.protocols import Protocol
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.store import ResultSeal, Store
from evalframe.store.refusals import command
from evalframe.underway import counted
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import listed
from evalframe.verbs.results import Rows
from evalframe.verbs.score import Run, score

IN_MEMORY = 1 << 24
"""Bytes in Parquet up to which a stored table is read into memory."""

_SCHEMA = pa.schema(
    {
        "run_id": pa.large_string(),
        "protocol": pa.large_string(),
        "protocol_fingerprint": pa.large_string(),
        "outcome": pa.large_string(),
    }
)


@loosely
def rescore(store: Store, runs: Sequence[str] | str | None = None, *, relations: Path | None = None) -> Rows:
    """One row per run, protocol and parameters it was scored under: the fingerprint now, `written` or `unchanged`.

    relations: a folder of the user's own, whose metrics are scored too. Raises UnknownName for an unknown run.
    """
    definitions = catalogue(relations)
    known = store.run_ids()
    chosen = list(known if runs is None else listed(runs))
    if missing := [run for run in chosen if run not in known]:
        raise UnknownName(
            f"there is no run {missing[0]!r} in the store",
            expected=", ".join(list(known)[:10]) or "a run",
            found=missing[0],
            where="--run",
            hint=command("runs --store", store.path),
        )
    rows = []
    for run_id in counted("runs", chosen):
        run = stored_run(store, run_id)
        for rules, settings, seal in _scored_under(store.results(run_id)):
            done = score(
                run,
                rules,
                settings,
                store=store,
                relations=definitions,
                origin=seal.inputs["origin"],
                taint=seal.inputs["taint"],
            )
            rows.append(
                {
                    "run_id": run_id,
                    "protocol": rules.label,
                    "protocol_fingerprint": done.identity.fingerprint,
                    "outcome": done.outcome,
                }
            )
    return Rows(pa.Table.from_pylist(rows, schema=_SCHEMA))


def _scored_under(results: Sequence[ResultSeal]) -> Iterator[tuple[Protocol, dict[str, str], ResultSeal]]:
    """Each protocol and parameters of results, oldest first, with the newest result under them."""
    found: dict[tuple[object, ...], tuple[Protocol, dict[str, str], ResultSeal]] = {}
    for seal in results:
        rules = protocol_of(seal.protocol)
        settings = rules.settings_of(seal.inputs["parameters"])
        key = (seal.protocol, *sorted(settings.items()))
        found.pop(key, None)
        found[key] = (rules, settings, seal)
    yield from found.values()


def stored_run(store: Store, run_id: str) -> Run:
    """A sealed run as scoring takes it: its tables, large ones as the files they are sealed in, inputs and tags."""
    seal = store.run(run_id)
    sizes = Counter[str]()
    for file in seal.files:
        sizes[file.table] += file.size
    return Run(
        run_id=run_id,
        system=seal.system,
        dataset_id=seal.dataset_id,
        tables={name: _rows(store, run_id, name, sizes[name]) for name in seal.contracts if name != "runs"},
        inputs=seal.inputs,
        tags=seal.tags,
    )


def _rows(store: Store, run_id: str, table: str, size: int) -> TableRows:
    if size <= IN_MEMORY:
        return store.read(table, runs=[run_id])
    return Shards(contract(table).arrow_schema(), store.files(table, runs=[run_id]))
