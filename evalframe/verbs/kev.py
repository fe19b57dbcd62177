"""KEV: answers to choice questions -> every metric in every population, OUT.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts.shards import Spool
from evalframe.errors import UnknownName, UsageError
from evalframe.protocols import Protocol, all_protocols
from evalframe.protocols.kev_choice import TEMPERATURE
from evalframe.relations import catalogue
from evalframe.sources.choice import ChoiceRun, read_outcomes, read_rows
from evalframe.store import Store
from evalframe.verbs.arguments import loosely
from evalframe.verbs.kev_report import report
from evalframe.verbs.kev_temperature import fitted_temperature, refuse_leak
from evalframe.verbs.naming import named
from evalframe.verbs.outputs import refusing, to_json, write_text
from evalframe.verbs.score import Run, Scored
from evalframe.verbs.score import score as score_run
from evalframe.verbs.spooling import spooled

DEFAULT_POLICY = "kev-choice/2"
IN_SAMPLE = "temperature fitted on evaluated rows"
_ALSO = ("choice_bins", "choice_selections")


@dataclass(frozen=True, repr=False)
class ChoiceScores(Scored):
    """The metric rows of one run of choice questions. calibration: where a fitted temperature comes from, if one is."""

    inputs: Mapping[str, Any]
    calibration: Mapping[str, Any] | None = None

    def shown(self) -> pa.Table:
        """The values of the whole and of the headline population."""
        strata = pa.array(["all", "headline"], self.table["stratum"].type)
        return super().shown().filter(pc.is_in(self.table["stratum"], strata))

    def body(self) -> dict[str, Any]:
        """What OUT.json says."""
        rows = {name: self.relations[name].to_pylist() for name in _ALSO}
        return {
            "run_id": self.run_id,
            **report(self.to_pylist(), rows["choice_bins"], rows["choice_selections"]),
            "parameters": dict(self.identity.parameters),
            "metric_fingerprints": self.identity.published_fingerprints,
            "data_digest": self.data_digest,
            "inputs": dict(self.inputs),
            "calibration": self.calibration,
            "tainted": any(self.table["tainted"].to_pylist()),
        }

    def to_json(self) -> str:
        """OUT.json as text."""
        return to_json("kev score", self.body(), self.identity.to_json())


@loosely
def score(
    *,
    rows: Path | str | None = None,
    outcomes: Path | str | None = None,
    output: Path | None = None,
    policy: str = DEFAULT_POLICY,
    calibration_rows: Path | str | None = None,
    allow_in_sample: bool = False,
    store: Path | str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    force: bool = False,
) -> ChoiceScores:
    """Score KEV rows (a JSON list or JSON lines) or outcomes (Parquet, Arrow, CSV) under `kev-choice/1` or `/2`.

    output: OUT.json to write. calibration_rows: KEV rows that a temperature is fitted on; they may share no id, group
    or parent with what is evaluated, unless allow_in_sample, which taints every number. store: folder to seal the run
    and its results in. run_id: default the file's name without suffix. settings: protocol parameters. relations: a
    folder of the user's own relations.
    Raises InputError or UsageError (exit 2), ContractError, ProtocolError or StoreConflict (exit 4); nothing is written
    then.
    """
    with spooled() as spool:
        run = _read(rows, outcomes, run_id, tags, spool)
        protocol = policy_of(policy)
        chosen, calibration, taint = dict(settings or {}), None, None
        if calibration_rows is not None:
            fitted_on = _calibration(Path(calibration_rows), run, chosen, spool)
            if allow_in_sample:
                taint = IN_SAMPLE
            else:
                refuse_leak(fitted_on.tables, run.tables)
            chosen["temperature"] = fitted_temperature(fitted_on.tables, protocol, protocol.settings(chosen))
            calibration = {**fitted_on.inputs, "dataset_id": fitted_on.dataset_id, "temperature": chosen["temperature"]}
            run = replace(run, inputs={**run.inputs, "calibration": dict(fitted_on.inputs)})
        elif not run.has_probabilities:
            _refuse_temperature(protocol.settings(chosen)["temperature"])

        def finished(scored: Scored) -> ChoiceScores:
            return ChoiceScores(**vars(scored), inputs=run.inputs, calibration=calibration)

        scored = score_run(
            Run(run.run_id, protocol.system, run.dataset_id, run.tables, run.inputs, tags or {}),
            protocol,
            chosen,
            store=None if store is None else Store.open(store, create=True),
            relations=catalogue(relations),
            also=_ALSO,
            admit=refusing(output, lambda scored: finished(scored).to_json(), force=force),
            taint=taint,
        )
    result = finished(scored)
    if output is not None:
        write_text(output, result.to_json(), force=force)
    return result


def policy_of(policy: str) -> Protocol:
    """The protocol `name/version`, or the newest of a `name`, if it scores options with probabilities.

    Raises UsageError for a protocol that does not, UnknownName for any other text; both name those that do.
    """
    known = all_protocols()
    fitting = [one for one in known if "choice_probabilities" in catalogue().tables(*one.metrics)]
    if named_so := [one for one in fitting if policy in (one.label, one.name)]:
        return named_so[-1]
    misfit = any(policy in (one.label, one.name) for one in known)
    raise (UsageError if misfit else UnknownName)(
        f"{policy} does not score options with probabilities" if misfit else f"there is no policy {policy!r}",
        expected=" or ".join(one.label for one in fitting),
        found=policy,
        where="--policy",
        hint=f"--policy {DEFAULT_POLICY}",
    )


def _read(
    rows: Path | str | None,
    outcomes: Path | str | None,
    run_id: str | None,
    tags: Mapping[str, str] | None,
    spool: Spool,
) -> ChoiceRun:
    if (rows is None) == (outcomes is None):
        raise UsageError(
            "one file of answers is scored",
            expected="--rows FILE or --outcomes FILE",
            found="neither" if rows is None else "both",
            hint="evalframe kev score --rows rows.jsonl --output out.json",
        )
    path = Path(rows if rows is not None else outcomes or "")
    name = named(run_id, path.stem, tags)
    return read_outcomes(path, name) if rows is None else read_rows(path, name, spool)


def _calibration(path: Path, run: ChoiceRun, settings: Mapping[str, str], spool: Spool) -> ChoiceRun:
    if "temperature" in settings or not run.has_probabilities:
        raise UsageError(
            "a temperature cannot be fitted",
            expected="--calibration-rows with --rows, or --set temperature=T",
            found="--set temperature as well"
            if "temperature" in settings
            else "--outcomes, which have no probabilities",
            where="--calibration-rows",
            hint="evalframe kev score --rows rows.jsonl --calibration-rows other.jsonl --output out.json",
        )
    return read_rows(path, run.run_id, spool)


def _refuse_temperature(temperature: str) -> None:
    """Raise UsageError for a temperature of outcomes: their numbers would stay as they are and be called cooled."""
    if temperature != TEMPERATURE.default:
        raise UsageError(
            "a temperature divides probabilities, and outcomes have none",
            expected=f"temperature {TEMPERATURE.default}, or --rows with probabilities",
            found=f"temperature {temperature}",
            where="--set temperature",
            hint=f"--set temperature={TEMPERATURE.default}",
        )
