"""WISP: the four gates over an inventory, kept apart, and a report that claims what was run and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.errata import Errata, read_errata
from evalframe.audit.files import Files
from evalframe.audit.findings import GATES, Finding, findings_table
from evalframe.audit.inventory import Model, read_inventory, select
from evalframe.audit.metric_gate import metric_gate
from evalframe.audit.model_gates import Loading, model_gates
from evalframe.audit.recorded import read_frozen, read_sidecars
from evalframe.audit.report import markdown, sentences
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import ExitCode, StoreConflict, UsageError
from evalframe.identity import canonical_json, sha256_text
from evalframe.protocols import protocol
from evalframe.protocols.wisp_har import FROZEN_TOLERANCE
from evalframe.relations import catalogue, plan
from evalframe.sources.classification import SavedPredictions
from evalframe.sources.fields import file_sha256
from evalframe.store import Store
from evalframe.verbs import drawing
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import axes, listed
from evalframe.verbs.outputs import refuse_others, to_json, write_texts
from evalframe.verbs.rescore import stored_run
from evalframe.verbs.results import Rows
from evalframe.verbs.score import Run
from evalframe.verbs.score import score as score_run
from evalframe.verbs.wisp import PROTOCOL
from evalframe.verbs.wisp_audit import checked_keys
from evalframe.verbs.wisp_records import import_records, opened


@dataclass(frozen=True, repr=False)
class Gated(Rows):
    """The findings (table `gate_findings`), what they come to, and what was asked for.

    coverage: a row of gate_coverage per gate. statuses: per model, the status of each gate. unmet: what --require asked
    for and was not run. known_bad: what errata left out, with the reason.
    """

    findings: Sequence[Finding]
    coverage: Mapping[str, Mapping[str, Any]]
    statuses: Mapping[str, Mapping[str, str]]
    said: Sequence[str]
    unmet: Sequence[str]
    known_bad: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def exit_code(self) -> ExitCode:
        """GATE_FAILED where anything failed, or a required gate was not run on what it was required for."""
        failed = any(row["failed"] for row in self.coverage.values())
        return ExitCode.GATE_FAILED if failed or self.unmet else ExitCode.OK

    def body(self) -> dict[str, Any]:
        """What gate.json says."""
        told = {name: [_brief(f) for f in self.findings if f.run_id == name] for name in self.statuses}
        return {
            "gates": {
                gate: {
                    "exercised": row["exercised"],
                    "of": row["n_models"],
                    **{name: row[name] for name in ("passed", "failed", "not_run")},
                    "subjects": self._subjects(gate),
                }
                for gate, row in self.coverage.items()
            },
            "models": [{"model_id": name, **own, "findings": told[name]} for name, own in self.statuses.items()],
            "sentences": list(self.said),
            "unmet_requirements": list(self.unmet),
            "known_bad": dict(self.known_bad),
            **self.facts,
        }

    def _subjects(self, gate: str) -> dict[str, dict[str, int]]:
        """Findings of one gate counted by subject: data and export, or aspects, apart."""
        found: dict[str, dict[str, int]] = {}
        for finding in self.findings:
            if finding.gate == gate:
                counts = found.setdefault(finding.subject, {"passed": 0, "failed": 0, "not_run": 0})
                counts[finding.status] += 1
        return found

    def to_json(self) -> str:
        """gate.json as text."""
        return to_json("wisp gate", self.body())

    def to_markdown(self) -> str:
        """gate.md: to be pasted into a release note as it is."""
        problems = [
            f"{f.gate} of {f.run_id} on {f.subject}: {f.reason}"
            for f in self.findings
            if f.status == "failed" and f.decides
        ]
        notes = [f"{name} is known to be bad: {why}" for name, why in self.known_bad.items()]
        return markdown(self.said, drawing.markdown(self.shown()), [*problems, *self.unmet], notes)

    def headlines(self) -> list[str]:
        """The sentences, and what was required and not run."""
        bad = [f"{name} is known to be bad and left out: {why}" for name, why in self.known_bad.items()]
        return [*self.said, *bad, *self.unmet]

    def shown(self) -> pa.Table:
        """A row per gate."""
        rows = [
            {
                "gate": gate,
                "exercised": f"{row['exercised']} of {row['n_models']}",
                "passed": row["passed"],
                "failed": row["failed"],
                "not_run": row["not_run"],
            }
            for gate, row in self.coverage.items()
        ]
        return pa.Table.from_pylist(rows)


@loosely
def gate(
    inventory: Path | str,
    frozen: Path | str,
    *,
    output: Path | None = None,
    full_inference: Sequence[str] | str = (),
    require: Mapping[str, str] | None = None,
    module: str | None = None,
    trust_pickle: bool = False,
    device: str = "cpu",
    layout: str = "NTC",
    batch_size: int = 256,
    keys: Mapping[str, str] | None = None,
    tolerance: str = FROZEN_TOLERANCE.default,
    known_bad: Path | None = None,
    store: Path | str | None = None,
    force: bool = False,
) -> Gated:
    """Run the four gates: checkpoint_loading, prediction_equivalence, export_equivalence, metric_equivalence.

    full_inference: `all` or NAME=VALUE[,NAME=VALUE] of inventory columns; whose data and export are predicted in full.
    require: gate -> `all`, or a number of models it must be run on. module: builds state dicts whose line names none.
    layout: axes of X in data and exports. The rest as in `audit` and `evaluate`. store: where recorded values, findings
    and the rescored predictions are sealed. output: folder for gate.json and gate.md.
    Raises InputError or UsageError (exit 2), InventoryRefused, DuplicateItem or StoreConflict (exit 4). What is wrong
    with one model is a finding, not an error. Torch is loaded only if the inventory names a checkpoint.
    """
    inventory, frozen, signals = Path(inventory), Path(frozen), axes(layout)
    full_inference = listed(full_inference)
    tolerance = FROZEN_TOLERANCE.canonical(tolerance)
    required = _required(require or {})
    relations, wisp = catalogue(), protocol(PROTOCOL)
    models = read_inventory(inventory)
    selected = {model.model_id for model in select(models, full_inference)}
    errata = Errata() if known_bad is None else read_errata(known_bad)
    catalogued = read_frozen(frozen, wisp.metrics)
    sound, bad_frozen = errata.without(catalogued)
    bad_runs = {m.model_id: errata.runs[m.model_id] for m in models if m.model_id in errata.runs}
    facts = {
        "inventory_sha256": file_sha256(inventory),
        "frozen_sha256": file_sha256(frozen),
        "tolerance": tolerance,
        "full_inference": list(full_inference),
        "device": device,
        "layout": signals,
        "batch_size": batch_size,
        "module": module,
        "trust_pickle": trust_pickle,
        "keys": dict(sorted((keys or {}).items())),
        "known_bad": None if known_bad is None else file_sha256(known_bad),
    }
    gate_id = sha256_text(canonical_json(facts))[:16]
    files, folder = Files(checked_keys(keys)), None if store is None else opened(store)
    if folder is not None:
        import_records(folder, catalogued, read_sidecars(models, wisp.metrics).records, errata)

    loading = Loading(module, trust_pickle, device, signals, batch_size)
    by_id = {model.model_id: model for model in models}
    known = frozenset() if folder is None else frozenset(folder.run_ids())
    scored = frozenset() if folder is None else frozenset(folder.scored()["run_id"].to_pylist())

    def seal(saved: SavedPredictions) -> None:
        if folder is not None:
            _seal(folder, saved, by_id[saved.run_id], known, scored)

    found = [
        *model_gates(models, files, selected, bad_runs, loading, relations),
        *metric_gate(
            models,
            files,
            sound,
            {**{name: f"known to be bad: {why}" for name, why in bad_frozen.items()}, **bad_runs},
            protocol=wisp,
            relations=relations,
            tolerance=tolerance,
            on_read=seal,
        ),
    ]
    place = {name: number for number, name in enumerate(by_id)}
    findings = sorted(found, key=lambda f: (place[f.run_id], GATES.index(f.gate)))
    return _finished(gate_id, findings, models, required, {**bad_frozen, **bad_runs}, facts, output, folder, force)


def _finished(
    gate_id: str,
    findings: Sequence[Finding],
    models: Sequence[Model],
    required: Mapping[str, int | None],
    known_bad: Mapping[str, str],
    facts: Mapping[str, Any],
    output: Path | None,
    folder: Store | None,
    force: bool,
) -> Gated:
    table = findings_table(gate_id, findings)
    with DuckDB() as engine:
        engine.bind("gate_findings", table)
        answers = engine.evaluate(plan(catalogue(), ["gate_models", "gate_coverage"]))
    coverage = {row["gate"]: row for row in answers["gate_coverage"].to_pylist()}
    coverage = {name: coverage[name] for name in GATES}
    statuses: dict[str, dict[str, str]] = {model.model_id: {} for model in models}
    for row in answers["gate_models"].to_pylist():
        statuses[row["run_id"]][row["gate"]] = row["status"]
    result = Gated(
        table,
        findings=findings,
        coverage=coverage,
        statuses=statuses,
        said=sentences(coverage, findings, facts["full_inference"], facts["tolerance"]),
        unmet=list(_unmet(required, coverage)),
        known_bad=known_bad,
        facts={"gate_id": gate_id, "run_with": {**facts, "tolerance": float(facts["tolerance"])}},
    )
    told = {"gate.md": result.to_markdown(), "gate.json": result.to_json()}
    files = {} if output is None else {output / name: text for name, text in told.items()}
    refuse_others(files, force=force)
    if folder is not None:
        content = sha256_text(canonical_json([asdict(finding) for finding in findings]))
        folder.write_record("gate_findings", gate_id, table, inputs={**facts, "findings_sha256": content})
    write_texts(files, force=force)
    return result


def _brief(finding: Finding) -> dict[str, Any]:
    """A finding as a row of its model in gate.json."""
    return {name: value for name, value in asdict(finding).items() if name != "run_id" and value is not None}


def _required(require: Mapping[str, str]) -> dict[str, int | None]:
    """Gate -> models it must be run on, None for all of them."""
    found: dict[str, int | None] = {}
    for name, amount in require.items():
        if name not in GATES or not (amount == "all" or amount.isdecimal()):
            raise UsageError(
                "--require names no gate and amount",
                expected=f"GATE=all or GATE=NUMBER, of {', '.join(GATES)}",
                found=f"{name}={amount}",
                where="--require",
                hint="--require metric_equivalence=all",
            )
        found[name] = None if amount == "all" else int(amount)
    return found


def _unmet(required: Mapping[str, int | None], coverage: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for name, amount in required.items():
        row = coverage[name]
        wanted = row["n_models"] if amount is None else amount
        if row["exercised"] < wanted:
            yield f"{name} was required of {wanted} models and run on {row['exercised']} of {row['n_models']}"


def _seal(store: Store, saved: SavedPredictions, model: Model, known: frozenset[str], scored: frozenset[str]) -> None:
    """The rescored predictions as a run of the store. A run that is there stays, if it is not of other predictions.

    known: runs of the store; scored: those with results, which one has not whose writer was killed in between.
    """
    if saved.run_id in known:
        sealed = store.run(saved.run_id).inputs.get("predictions_sha256", saved.data_sha256)
        if sealed != saved.data_sha256:
            raise StoreConflict(
                f"run {saved.run_id!r} is sealed with other predictions",
                expected=f"the file with SHA-256 {sealed}",
                found=saved.data_sha256,
                where=str(model.predictions),
                hint="name another --store, or another model_id",
            )
        if saved.run_id not in scored:
            score_run(stored_run(store, saved.run_id), protocol(PROTOCOL), store=store)
        return
    run = Run(saved.run_id, "wisp", saved.dataset_id, saved.tables, saved.inputs, model.tags)
    score_run(run, protocol(PROTOCOL), store=store)
