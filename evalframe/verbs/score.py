"""Score one run under one protocol: validate, fingerprint, evaluate the relations, seal. The same for every system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.contracts import conform, contract, from_rows
from evalframe.contracts.shards import Rows as TableRows
from evalframe.contracts.shards import Shards, blocks
from evalframe.engines.choosing import open_engine
from evalframe.identity import BLOCK, ITEM_COLUMNS, digest_of_blocks
from evalframe.protocols.base import Protocol
from evalframe.relations import Catalogue, catalogue, plan
from evalframe.verbs.checking import bind_checked
from evalframe.verbs.identifying import Identity, identify, vocabulary_of
from evalframe.verbs.results import Rows

if TYPE_CHECKING:
    from evalframe.engines.base import Answers
    from evalframe.store import Store

# Shown where a metric's own relation does not have the column: the row is about all horizons, recalls or steps at once.
_DIMENSIONS = ("horizon_s", "recall", "step")


@dataclass(frozen=True)
class Run:
    """One run as its source read it: contracted tables, and the digests and options that make it the same run again."""

    run_id: str
    system: str
    dataset_id: str | None
    tables: Mapping[str, TableRows]
    inputs: Mapping[str, Any]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Scored(Rows):
    """The metric rows of one run (table `metric_values`), with the relations that were asked for beside them."""

    run_id: str
    identity: Identity
    data_digest: str
    relations: Mapping[str, pa.Table]
    outcome: str

    def value(self, metric: str, stratum: str = "all", **at: object) -> float | None:
        """The value of one metric; null where it is undefined. `at` picks a horizon_s, recall or step."""
        wanted = {"metric": metric, "stratum": stratum, **at}
        found = [row for row in self.to_pylist() if all(row[name] == value for name, value in wanted.items())]
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows for {wanted}")
        value: float | None = found[0]["value"]
        return value

    def headlines(self) -> list[str]:
        """The run, the protocol and the start of its fingerprint."""
        return [f"{self.run_id}  {self.identity.protocol.label}  {self.identity.fingerprint[:20]}…  ({self.outcome})"]

    def shown(self) -> pa.Table:
        """The value beside its status and counts; dimensions that no row uses are left out."""
        used = [name for name in _DIMENSIONS if self.table[name].null_count < len(self.table)]
        return self.table.select(["metric", "stratum", *used, "value", "status", "reason", "n_items", "n_failed"])

    def screen(self) -> pa.Table:
        """The values that are defined; `closing` names the others."""
        defined = self._defined()
        return defined.drop_columns(["status", "reason"]) if len(defined) else self.shown()

    def closing(self) -> list[str]:
        """The metrics without a value, by reason."""
        why: dict[str, list[str]] = {}
        for row in self.shown().to_pylist() if len(self._defined()) else ():
            if row["status"] != "ok":
                why.setdefault(str(row["reason"]), []).append(row["metric"])
        return [f"undefined, not zero, {reason}: {', '.join(dict.fromkeys(names))}" for reason, names in why.items()]

    def _defined(self) -> pa.Table:
        shown = self.shown()
        return shown.filter(pa.array([status == "ok" for status in shown["status"].to_pylist()], pa.bool_()))


def score(
    run: Run,
    protocol: Protocol,
    settings: Mapping[str, str] | None = None,
    *,
    store: Store | None = None,
    relations: Catalogue | None = None,
    also: Sequence[str] = (),
    look: Callable[[Answers], None] | None = None,
    admit: Callable[[Scored], None] | None = None,
    origin: str = "rescored_saved_predictions",
    taint: str | None = None,
) -> Scored:
    """Score `run` under `protocol`; with `store`, seal its predictions and then its results.

    settings: protocol parameters that differ from the default. relations: with a folder of the user's, its metrics that
    the run's tables can feed are scored too. also: relations whose rows the caller is given as tables. look: called
    before anything is written, to ask for parts of what is too long to be given as a table. admit: given the result
    before it is sealed; where it raises, nothing is. taint: why the numbers must not be taken for a result (kept in
    every row).
    Raises ContractError before anything is computed or written when a table breaks its contract.
    """
    relations = relations or catalogue()
    with open_engine(by_parts=protocol.by_parts) as engine:
        bind_checked(engine, run.tables, where=run.run_id)
        own = relations.own_metrics(run.tables)
        identity = identify(protocol, protocol.settings(settings), relations, vocabulary_of(run.tables), own)
        outputs = tuple(dict.fromkeys((*identity.metric_fingerprints, *protocol.stored, *also, protocol.items)))
        asked = plan(relations, outputs, parameters=identity.parameters, pooled=True, run_id=run.run_id)
        with engine.answering(asked) as answers:
            digest = digest_of_blocks(blocks(answers.reader(protocol.items, order=ITEM_COLUMNS), BLOCK))
            values = _metric_values(run.run_id, identity, digest, answers, relations, origin, taint)
            shown = {name: answers.table(name) for name in also}
            if look is not None:
                look(answers)
            scored = Scored(values, run.run_id, identity, digest, shown, "not stored")
            if admit is not None:
                admit(scored)
            if store is not None:
                tables = {
                    "metric_values": values,
                    **_identity_tables(identity),
                    **{name: _stamped(name, answers, identity) for name in protocol.stored},
                }
                inputs = {"data_digest": digest, "origin": origin, "taint": taint}
                scored = replace(scored, outcome=_seal(store, run, identity, tables, inputs))
    return scored


def _seal(store: Store, run: Run, identity: Identity, tables: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Seal what was predicted and then what came of it: "written", or "unchanged" where both stood already."""
    written = store.write_run(
        run.run_id,
        system=run.system,
        dataset_id=run.dataset_id,
        tables={name: table.reader() if isinstance(table, Shards) else table for name, table in run.tables.items()},
        inputs=run.inputs,
        tags=run.tags,
    )
    sealed = store.write_results(
        run.run_id,
        protocol=identity.protocol.label,
        protocol_fingerprint=identity.fingerprint,
        tables=tables,
        inputs={"parameters": dict(identity.parameters), **inputs},
    )
    return "unchanged" if written == sealed == "unchanged" else "written"


def _metric_values(
    run_id: str,
    identity: Identity,
    digest: str,
    answers: Answers,
    relations: Catalogue,
    origin: str,
    taint: str | None,
) -> pa.Table:
    """Every metric's rows with their identity beside them, in the columns of the contract `metric_values`."""
    target = contract("metric_values")
    parts = []
    for metric, fingerprint in identity.metric_fingerprints.items():
        table, relation = answers.table(metric), relations.relations[metric]
        stamps = {
            "run_id": run_id,
            "protocol": identity.protocol.label,
            "protocol_fingerprint": identity.fingerprint,
            "metric": relation.published,
            "metric_fingerprint": fingerprint,
            "data_digest": digest,
            "tainted": taint is not None,
            "taint_reason": taint,
            "unit": relation.unit,
            "better": relation.better,
            "origin": origin,
        }
        columns = []
        for wanted in target.arrow_schema():
            if wanted.name in stamps:
                columns.append(pa.repeat(pa.scalar(stamps[wanted.name], wanted.type), len(table)))
            elif wanted.name in table.column_names:
                columns.append(table[wanted.name].cast(wanted.type))
            else:
                columns.append(pa.nulls(len(table), wanted.type))
        parts.append(pa.table(columns, schema=target.arrow_schema()))
    return conform(target, pa.concat_tables(parts))


def _identity_tables(identity: Identity) -> dict[str, pa.Table]:
    """What the fingerprint stands for: the protocol in words, and every parameter."""
    protocol, print_of = identity.protocol, {"protocol_fingerprint": identity.fingerprint}
    words = {name: getattr(protocol, name) for name in ("name", "version", "system", "title", "claims")}
    rows = {
        "protocols": [{**print_of, "protocol": protocol.label, **words}],
        "protocol_parameters": [{**print_of, "name": n, "value": v} for n, v in identity.parameters.items()],
    }
    return {name: from_rows(contract(name), found) for name, found in rows.items()}


def _stamped(name: str, answers: Answers, identity: Identity) -> pa.RecordBatchReader:
    """A stored relation's rows with `protocol` and `protocol_fingerprint` in front, as its contract says.

    The engine is asked when they are read: it answers one question at a time.
    """
    target = contract(name)
    stamps = {"protocol": identity.protocol.label, "protocol_fingerprint": identity.fingerprint}

    def stamped() -> Iterator[pa.RecordBatch]:
        for batch in answers.reader(name):
            table = pa.Table.from_batches([batch])
            for position, (column, text) in enumerate(stamps.items()):
                table = table.add_column(position, column, pa.repeat(pa.scalar(text, pa.large_string()), len(table)))
            yield from conform(target, table).to_batches()

    return pa.RecordBatchReader.from_batches(target.arrow_schema(), stamped())
