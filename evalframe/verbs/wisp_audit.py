"""WISP: every disagreement between sidecars and the frozen catalogue, each explained as far as it can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.errata import Errata, read_errata
from evalframe.audit.explaining import Explainer, Explanation
from evalframe.audit.files import KEYS, Files
from evalframe.audit.inventory import Model, read_inventory
from evalframe.audit.recorded import (
    FROZEN,
    SIDECAR,
    Record,
    Recorded,
    Sidecars,
    read_frozen,
    read_sidecars,
    recorded_table,
)
from evalframe.audit.replaying import Replay
from evalframe.contracts import contract, from_rows
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import ExitCode, UnknownName
from evalframe.identity import canonical_json, sha256_text
from evalframe.protocols import protocol
from evalframe.protocols.wisp_har import FROZEN_TOLERANCE
from evalframe.relations import catalogue, plan
from evalframe.sources.fields import file_sha256
from evalframe.underway import counted
from evalframe.verbs import drawing
from evalframe.verbs.arguments import loosely
from evalframe.verbs.outputs import refuse_others, to_json, write_texts
from evalframe.verbs.results import Rows
from evalframe.verbs.wisp import PROTOCOL
from evalframe.verbs.wisp_records import import_records, opened

AUDIT = "sidecar_against_frozen"


@dataclass(frozen=True, repr=False)
class Audited(Rows):
    """The disagreements (table `audit_findings`), and what was and was not compared."""

    models: Sequence[Model]
    sidecars: Sidecars
    missing_frozen: Sequence[str]
    known_bad: Mapping[str, str]
    n_compared: int
    facts: Mapping[str, Any]

    @property
    def exit_code(self) -> ExitCode:
        """MISMATCH where anything disagrees or could not be read."""
        return ExitCode.MISMATCH if len(self.table) or self.sidecars.unreadable else ExitCode.OK

    def discrepancies(self) -> pa.Table:
        """The rows of discrepancies.csv."""
        found = self.table
        columns = {
            "model_id": found["run_id"],
            "metric": found["metric"],
            "sidecar_value": found["observed"],
            "frozen_value": found["expected"],
            "difference": found["difference"],
            "explanation": found["explanation"],
            "explained_by": pa.array(
                [" | ".join(each) for each in found["explained_by"].to_pylist()], pa.large_string()
            ),
            "sidecar_sha256": found["source_digest"],
        }
        return pa.table(columns)

    def body(self) -> dict[str, Any]:
        """What audit.json says."""
        found = self.to_pylist()
        metrics = protocol(PROTOCOL).metrics
        return {
            "n_models": len(self.models),
            "n_compared_values": self.n_compared,
            "n_discrepant_models": len({row["run_id"] for row in found}),
            "n_discrepancies": len(found),
            "by_metric": {metric: sum(row["metric"] == metric for row in found) for metric in metrics},
            "by_explanation": dict(Counter(row["explanation"] for row in found)),
            "missing_sidecars": list(self.sidecars.missing),
            "unreadable_sidecars": dict(self.sidecars.unreadable),
            "missing_frozen": list(self.missing_frozen),
            "known_bad": dict(self.known_bad),
            **self.facts,
        }

    def to_json(self) -> str:
        """audit.json as text."""
        return to_json("wisp audit", self.body())

    def headlines(self) -> list[str]:
        """What was compared, and what was not."""
        body = self.body()
        lines = [
            f"{body['n_discrepancies']} of {self.n_compared} sidecar values of {body['n_discrepant_models']} of"
            f" {body['n_models']} models differ from the frozen catalogue"
        ]
        for name in ("missing_sidecars", "missing_frozen"):
            if body[name]:
                lines.append(f"{name.replace('_', ' ')}, not compared: {', '.join(body[name])}")
        lines += [f"sidecar of {model} cannot be read: {why}" for model, why in self.sidecars.unreadable.items()]
        lines += [f"{model} is known to be bad and left out: {why}" for model, why in self.known_bad.items()]
        return lines

    def shown(self) -> pa.Table:
        """The rows of discrepancies.csv, without digests."""
        return self.discrepancies().drop_columns(["sidecar_sha256"])


@loosely
def audit(
    inventory: Path | str,
    frozen: Path | str,
    *,
    output: Path | None = None,
    tolerance: str = FROZEN_TOLERANCE.default,
    keys: Mapping[str, str] | None = None,
    known_bad: Path | None = None,
    store: Path | str | None = None,
    force: bool = False,
) -> Audited:
    """Compare every sidecar value with the frozen one, and explain what differs by replaying saved predictions.

    inventory: inventory.csv. frozen: run_results.csv. output: folder for audit.json and discrepancies.csv. tolerance:
    largest absolute difference that agrees. keys: what files of predictions call a field. known_bad: errata (kind,
    name, reason); what they name is left out and listed. store: where recorded values and findings are imported.
    Raises InputError or UsageError (exit 2), InventoryRefused, DuplicateItem or StoreConflict (exit 4). Nothing is
    edited, and torch is not loaded.
    """
    inventory, frozen = Path(inventory), Path(frozen)
    tolerance = FROZEN_TOLERANCE.canonical(tolerance)
    metrics = protocol(PROTOCOL).metrics
    models = read_inventory(inventory)
    errata = Errata() if known_bad is None else read_errata(known_bad)
    catalogued, sidecars = read_frozen(frozen, metrics), read_sidecars(models, metrics)
    sound, bad_frozen = errata.without({m.model_id: catalogued[m.model_id] for m in models if m.model_id in catalogued})
    usable, bad_sidecars = errata.without(sidecars.records)
    facts = {
        "inventory_sha256": file_sha256(inventory),
        "frozen_sha256": file_sha256(frozen),
        "tolerance": float(tolerance),
        "frozen_without_model": sorted(set(catalogued) - {model.model_id for model in models}),
    }
    explained = _explained(models, sound, usable, tolerance, checked_keys(keys))
    sidecar_digests = {name: record.sha256 for name, record in sorted(sidecars.records.items())}
    audit_id = sha256_text(canonical_json({**facts, "tolerance": tolerance, "sidecars": sidecar_digests}))[:16]
    result = Audited(
        _findings(audit_id, explained, usable, tolerance),
        models=models,
        sidecars=sidecars,
        missing_frozen=[model.model_id for model in models if model.model_id not in catalogued],
        known_bad={**bad_sidecars, **bad_frozen},
        n_compared=sum(
            1
            for name, record in usable.items()
            for metric in record.values
            if name in sound and metric in sound[name].values
        ),
        facts={**facts, "audit_id": audit_id},
    )
    told = {"discrepancies.csv": drawing.csv(result.discrepancies()), "audit.json": result.to_json()}
    files = {} if output is None else {output / name: text for name, text in told.items()}
    refuse_others(files, force=force)
    if store is not None:
        folder = opened(store)
        import_records(folder, catalogued, sidecars.records, errata)
        inputs = {"frozen_sha256": facts["frozen_sha256"], "tolerance": tolerance, "sidecars": sidecar_digests}
        folder.write_record("audit_findings", audit_id, result.table, inputs=inputs)
    write_texts(files, force=force)
    return result


def checked_keys(keys: Mapping[str, str] | None) -> dict[str, str]:
    """`keys` of fields that files of an inventory may have. Raises UnknownName for any other."""
    if unknown := sorted(set(keys or {}) - set(KEYS)):
        raise UnknownName(
            f"--key names nothing that is read: {unknown[0]}",
            expected=", ".join(KEYS),
            found=unknown[0],
            where="--key",
            hint="--key time=NAME",
        )
    return dict(keys or {})


def _explained(
    models: Sequence[Model],
    frozen: Mapping[str, Record],
    sidecars: Mapping[str, Record],
    tolerance: str,
    keys: Mapping[str, str],
) -> list[tuple[dict[str, Any], Explanation]]:
    """The rows of relation sidecars_against_frozen, each with its explanation."""
    recorded = pa.concat_tables([recorded_table(frozen.values(), FROZEN), recorded_table(sidecars.values(), SIDECAR)])
    with DuckDB() as engine:
        engine.bind("frozen_results", recorded)
        wanted = plan(catalogue(), ["sidecars_against_frozen"], parameters={FROZEN_TOLERANCE.name: tolerance})
        rows = engine.evaluate(wanted)["sidecars_against_frozen"].to_pylist()
    disagreements: dict[str, dict[str, Recorded]] = {}
    for row in rows:
        disagreements.setdefault(row["run_id"], {})[row["metric"]] = sidecars[row["run_id"]].values[row["metric"]]
    by_id, files = {model.model_id: model for model in models}, Files(keys)
    replay = Replay(lambda model_id: files.counts(by_id[model_id]), frozen, float(tolerance))
    explainer = Explainer(models, replay, disagreements)
    return [(row, explainer.explain(row["run_id"], row["metric"])) for row in counted("disagreements", rows)]


def _findings(
    audit_id: str,
    explained: Sequence[tuple[Mapping[str, Any], Explanation]],
    sidecars: Mapping[str, Record],
    tolerance: str,
) -> pa.Table:
    rows = [
        {
            "audit": AUDIT,
            "audit_id": audit_id,
            "run_id": row["run_id"],
            "metric": row["metric"],
            "observed": row["observed"],
            "expected": row["expected"],
            "difference": row["difference"],
            "tolerance": float(tolerance),
            "explanation": explanation.status,
            "explained_by": list(explanation.definitions),
            "source_digest": sidecars[row["run_id"]].sha256,
        }
        for row, explanation in explained
    ]
    return from_rows(contract("audit_findings"), rows)
