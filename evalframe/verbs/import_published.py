"""Published values into a store: records beside a run, with their source and no fingerprint, never an authority."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import pyarrow as pa

from evalframe.contracts import contract, validate
from evalframe.errors import RecordRefused, StoreConflict
from evalframe.sources.documents import spelled
from evalframe.sources.recorded import Published
from evalframe.store import Store

RECORDED = "recorded"
"""System of a run of which nothing but published values is known."""


def check_published(published: Published, *, alone: bool) -> None:
    """Raise ContractError where a value is one that no table may hold, or where there is none at all.

    Asked before anything is sealed. alone: whether there are no answers beside them.
    """
    if alone and not published.results:
        raise RecordRefused(
            "there is nothing to import",
            expected="answers, or published values",
            found="neither",
            where=published.source,
            hint="import the files of an evaluation that ran to its end",
        )
    for name, table in _tables(published, "").items():
        validate(contract(name), table).raise_for_failures(where=published.source)


def seal_published(
    store: Store, published: Published, run_id: str, tags: Mapping[str, str], *, named: bool = True
) -> str:
    """Seal the checked values of one file as `metric_values` and `recorded_results` of `run_id`; again is a no-op.

    A run that is not there is made, without predictions. tags: those asked for, which a run that is there must have.
    named: whether the caller chose the run; a file alone may not add to a run that has predictions.
    Raises StoreConflict; the outcome is written or unchanged.
    """
    if run_id in store.run_ids():
        _refuse_other(store, run_id, tags, named=named)
    else:
        store.write_run(
            run_id,
            system=published.system or RECORDED,
            dataset_id=None,
            tables={},
            inputs={RECORDED: True},
            tags={**published.tags, **tags},
        )
    record = f"{run_id}/{published.sha256[:16]}"
    inputs = {"sha256": published.sha256, "format": published.format, "head": spelled(published.head)}
    outcomes = [
        store.write_record(name, record, table, inputs=inputs, runs=[run_id])
        for name, table in _tables(published, run_id).items()
    ]
    return "written" if "written" in outcomes else "unchanged"


def _tables(published: Published, run_id: str) -> dict[str, pa.Table]:
    return {"metric_values": published.metric_values(run_id), "recorded_results": published.recorded_results(run_id)}


def _refuse_other(store: Store, run_id: str, tags: Mapping[str, str], *, named: bool) -> None:
    sealed = store.run(run_id)
    if not named and sealed.dataset_id is not None:
        raise StoreConflict(
            f"run {run_id!r} is in the store with answers of its own",
            expected="a run that the file may name, or --run-id",
            found=f"a run of {sealed.system}",
            where=str(store.path),
            hint=f"--run-id {shlex.quote(run_id)}  # if the values are of that very run",
        )
    if other := [name for name, value in tags.items() if sealed.tags.get(name) != value]:
        raise StoreConflict(
            f"run {run_id!r} is sealed with other tags",
            expected=f"{other[0]}={sealed.tags[other[0]]}" if other[0] in sealed.tags else f"no tag {other[0]}",
            found=f"{other[0]}={tags[other[0]]}",
            where=str(store.path),
            hint="name the run otherwise: --run-id ID",
        )
