"""`audit engines`: one stored run, relation by relation, on the engine of record and on Polars SQL."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.engines import TOLERANCE, Agreement, compare_plan
from evalframe.contracts import contract, from_rows
from evalframe.contracts.shards import whole
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.polars_sql import PolarsSql
from evalframe.errors import ExitCode, ResultsMissing, UnknownName
from evalframe.identity import canonical_json, sha256_text
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from evalframe.store import Store
from evalframe.store.refusals import command, never_scored
from evalframe.store.seals import ResultSeal
from evalframe.underway import counted
from evalframe.verbs.outputs import to_json
from evalframe.verbs.rescore import stored_run
from evalframe.verbs.results import Rows

ENGINE = "polars"
AUDIT = f"engines/{ENGINE}"
_SCHEMA = pa.schema(
    [
        *((name, pa.large_string()) for name in ("protocol", "relation", "layer", "outcome")),
        ("n_rows", pa.int64()),
        ("largest_relative_difference", pa.float64()),
        *((name, pa.large_string()) for name in ("reason", "detail")),
    ]
)


@dataclass(frozen=True, repr=False)
class Engines(Rows):
    """One row per protocol and relation."""

    run_id: str
    versions: dict[str, str]

    @property
    def exit_code(self) -> ExitCode:
        """0, or 5 where engines differ."""
        return ExitCode.MISMATCH if "differs" in self.table["outcome"].to_pylist() else ExitCode.OK

    def shown(self) -> pa.Table:
        """Without what the engine said word by word."""
        return self.table.drop_columns(["detail"])

    def headlines(self) -> list[str]:
        """How many relations came out how."""
        outcomes = self.table["outcome"].to_pylist()
        counts = ", ".join(
            f"{outcomes.count(name)} {name}"
            for name in ("exact", "close", "not portable", "differs")
            if name in outcomes
        )
        return [f"{self.run_id}: {counts}  ({', '.join(f'{name} {v}' for name, v in self.versions.items())})"]

    def to_json(self) -> str:
        """The one JSON object of --json."""
        body = {
            "run_id": self.run_id,
            "versions": self.versions,
            "tolerance": TOLERANCE,
            "relations": self.to_pylist(),
            "ok": self.exit_code is ExitCode.OK,
            "scope": "Each relation alone, over the rows that the engine of record gives its inputs; sources,"
            " features and the choice of protocol are not looked at.",
        }
        return to_json("audit engines", body)


def audit_engines(folder: Path | str, run: str) -> Engines:
    """Compare engines over everything `run` was scored with, under its newest results of each protocol.

    What differs is sealed in the store as `audit_findings`; the seal says what was compared. Raises UnknownName or
    ResultsMissing. A difference is no error: see `exit_code`.
    """
    store = Store.open(folder)
    if run not in store.run_ids():
        raise UnknownName(
            f"there is no run {run!r} in the store",
            expected=", ".join(list(store.run_ids())[:10]) or "a run",
            found=run,
            where="--run",
            hint=command("runs --store", store.path),
        )
    seals = {seal.protocol: seal for seal in store.results(run)}
    if not seals:
        raise ResultsMissing(
            f"{run} was never scored",
            expected="results under a protocol",
            found="none",
            where=str(store.path),
            hint=never_scored(store.path, [run]),
        )
    tables = {name: whole(rows) for name, rows in stored_run(store, run).tables.items()}
    versions = {"duckdb": version("duckdb"), ENGINE: version(ENGINE), "python": platform.python_version()}
    rows: list[dict[str, Any]] = []
    for label, seal in seals.items():
        found = agreements(label, seal.inputs["parameters"], tables)
        rows += [_row(label, agreement) for agreement in found]
        _seal(store, seal, found, versions)
    return Engines(pa.Table.from_pylist(rows, schema=_SCHEMA), run, versions)


def agreements(label: str, parameters: Mapping[str, str], tables: Mapping[str, pa.Table]) -> list[Agreement]:
    """What came of every relation of the protocol that these contract tables can feed."""
    relations, chosen = catalogue(), protocol(label)
    wanted = [name for name in (*chosen.metrics, *chosen.stored) if set(relations.tables(name)) <= set(tables)]
    with DuckDB() as record, PolarsSql() as other:
        chain = plan(relations, wanted, parameters=parameters)
        read = {name: table for name, table in tables.items() if name in chain.tables}
        return [
            found
            for _, found in counted(
                "relations", compare_plan(chain, read, record, {ENGINE: other}), len(chain.relations)
            )
        ]


def _row(label: str, agreement: Agreement) -> dict[str, Any]:
    told = asdict(agreement)
    return {**told, "protocol": label, "largest_relative_difference": told["largest"]}


def _seal(store: Store, seal: ResultSeal, found: Sequence[Agreement], versions: dict[str, str]) -> None:
    """The findings of one protocol; agreement is no row, and the seal holds the outcome of every relation."""
    inputs = {
        "audit": AUDIT,
        "protocol_fingerprint": seal.protocol_fingerprint,
        "versions": versions,
        "outcomes": {each.relation: each.reason or each.outcome for each in found},
        "largest_relative_difference": max((each.largest for each in found), default=0.0),
        "differs": {each.relation: each.detail for each in found if not each.passed},
    }
    audit_id = sha256_text(canonical_json({**inputs, "run_id": seal.run_id}))[:16]
    lines = [
        {
            "audit": f"{AUDIT}/{seal.protocol}",
            "audit_id": audit_id,
            "run_id": seal.run_id,
            "metric": each.relation,
            "tolerance": TOLERANCE,
            "explanation": "unexplained",
            "explained_by": [],
        }
        for each in found
        if not each.passed
    ]
    data = from_rows(contract("audit_findings"), lines)
    store.write_record("audit_findings", audit_id, data, inputs=inputs, runs=[seal.run_id])
