"""Records of others into a store: frozen and sidecar values, errata. They keep their source, with no fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from evalframe.audit.errata import Errata
from evalframe.audit.recorded import FROZEN, SIDECAR, Record, recorded_table
from evalframe.contracts import contract, from_rows
from evalframe.errors import StoreConflict
from evalframe.identity import canonical_json, sha256_text
from evalframe.relations import catalogue
from evalframe.store import Store


def import_records(store: Store, frozen: Mapping[str, Record], sidecars: Mapping[str, Record], errata: Errata) -> None:
    """Seal the recorded values, per model, as `frozen_results` and as rows of `metric_values`; again is a no-op.

    Raises StoreConflict where another catalogue in the store holds other frozen values of a model, unless errata name
    that catalogue: there is one authority.
    """
    import_errata(store, errata)
    known = [record for record in frozen.values() if errata.of_record(record) is None]
    _refuse_second_authority(store, known, errata)
    for model_id in dict.fromkeys((*frozen, *sidecars)):
        found = [(frozen.get(model_id), FROZEN), (sidecars.get(model_id), SIDECAR)]
        tables = [recorded_table([record], origin) for record, origin in found if record is not None]
        recorded = pa.concat_tables(tables)
        if not len(recorded):
            continue
        inputs = {origin: _told(record) for record, origin in found if record is not None}
        record_id = f"{model_id}/{sha256_text(canonical_json(inputs))[:16]}"
        store.write_record("frozen_results", record_id, recorded, inputs=inputs, runs=[model_id])
        store.write_record("metric_values", record_id, _as_values(recorded), inputs=inputs, runs=[model_id])


def import_errata(store: Store, errata: Errata) -> None:
    """Seal the errata; each line is a record of its own, so that a longer list adds to a shorter one."""
    for row in errata.table().to_pylist():
        line = from_rows(contract("known_bad"), [row])
        store.write_record("known_bad", sha256_text(canonical_json(row))[:16], line, inputs=row)


def _told(record: Record) -> dict[str, object]:
    return {
        "source": record.source,
        "sha256": record.sha256,
        "claimed": record.claimed,
        "values": {metric: recorded.text for metric, recorded in record.values.items()},
    }


def _refuse_second_authority(store: Store, records: Iterable[Record], errata: Errata) -> None:
    bad = {*errata.scorers, *(row["name"] for row in store.read("known_bad").to_pylist() if row["kind"] == "scorer")}
    sealed: dict[tuple[str, str], tuple[float | None, str]] = {}
    for row in store.read("frozen_results").to_pylist():
        if row["origin"] == FROZEN and row["source_digest"] not in bad and row["claimed_protocol"] not in bad:
            sealed[row["run_id"], row["metric"]] = (row["value"], row["source_digest"])
    for record in records:
        for metric, recorded in record.values.items():
            value, digest = sealed.get((record.model_id, metric), (recorded.value, ""))
            if value != recorded.value:
                raise StoreConflict(
                    f"{metric} of {record.model_id!r} is frozen with another value already",
                    expected=f"{value!r}, from the file with SHA-256 {digest}",
                    found=f"{recorded.value!r} in {record.source}",
                    where=str(store.path),
                    hint=f"--known-bad errata.csv  # with the line: scorer,{digest},WHY",
                )


def _as_values(recorded: pa.Table) -> pa.Table:
    """Rows of `metric_values`: the value and where it comes from; no fingerprint, for nobody computed it here."""
    relations = catalogue()
    rows = [
        {
            "run_id": row["run_id"],
            "metric": row["metric"],
            "stratum": "all",
            "value": row["value"],
            "status": "undefined" if row["value"] is None else "ok",
            "reason": "nan_input" if row["value"] is None else None,
            "tainted": False,
            "unit": relations[row["metric"]].unit,
            "better": relations[row["metric"]].better,
            "origin": row["origin"],
            "claimed_protocol": row["claimed_protocol"],
            "source_digest": row["source_digest"],
        }
        for row in recorded.to_pylist()
    ]
    return from_rows(contract("metric_values"), rows)


def opened(path: Path | str) -> Store:
    """The store to import into, made where there is none."""
    return Store.open(path, create=True)
