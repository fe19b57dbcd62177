"""The star schema of a store: dimensions, facts, and what each column means. Every export writes this and nothing else.

Facts keep numerators, denominators and counts, so that whoever draws them need never average a ratio.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from evalframe.contracts import contracts
from evalframe.contracts.shards import Rows, Spool, whole
from evalframe.engines.dividing import Dividing
from evalframe.engines.duckdb import in_order
from evalframe.engines.spilling import SpillFolder
from evalframe.identity import canonical_json
from evalframe.protocols import all_protocols
from evalframe.publish.dictionary import data_dictionary
from evalframe.publish.metrics import Keys, dim_metric
from evalframe.publish.normalising import bi_safe
from evalframe.publish.rows import passing
from evalframe.relations import plan

if TYPE_CHECKING:
    from evalframe.relations import Catalogue
    from evalframe.store import Store

SCHEMA_VERSION = "1"
ROOM = 1 << 27
"""Bytes of rows that are in memory before they are put into files."""

RELATIONS = ("dim_run", "fact_metric", "fact_comparison", "fact_audit")
"""Tables that are relations of sql/views and can be asked for live."""

OF_RUNS: Mapping[str, tuple[str, ...]] = {"fact_metric": ("metric_values",)}
"""Of relations that may be large and sort by run first, the tables of which a run's rows need its own rows only."""


@dataclass(frozen=True)
class Kept:
    """A fact read from rows that were sealed with results, each under its protocol fingerprint.

    of_runs: tables of which a run's rows need its own rows only. beside: the other tables that are read.
    """

    definition: str
    of_runs: tuple[str, ...]
    key: tuple[str, ...]
    query: str
    beside: tuple[str, ...] = ()


KEPT: Mapping[str, Kept] = {
    "fact_confusion": Kept(
        "Counts of true and predicted classes per cluster, classes by name; predicted_class is null where the model"
        " failed. Failure detection is there with the classes success and failure, a cluster per trajectory, and a"
        " trajectory on which the model failed is called wrongly. is_counted is false where the protocol leaves failed"
        " items out.",
        ("class_confusion_by_cluster", "class_vocabulary", "failure_calls"),
        ("run_id", "protocol_fingerprint", "stratum", "step", "cluster_id", "target_index", "predicted_index"),
        """
        SELECT c.run_id, c.protocol, c.protocol_fingerprint, c.stratum, CAST(NULL AS BIGINT) AS step, c.cluster_id,
            c.target_index, t.class AS target_class, c.predicted_index, p.class AS predicted_class,
            c.predicted_index IS NOT NULL OR coalesce(x.value, 'wrong') <> 'excluded' AS is_counted, c.n
        FROM class_confusion_by_cluster AS c
        LEFT JOIN protocol_parameters AS x ON x.protocol_fingerprint = c.protocol_fingerprint AND x.name = 'failed'
        LEFT JOIN class_vocabulary AS t ON t.run_id = c.run_id AND t.class_index = c.target_index
        LEFT JOIN class_vocabulary AS p ON p.run_id = c.run_id AND p.class_index = c.predicted_index
        UNION ALL
        SELECT f.run_id, f.protocol, f.protocol_fingerprint, 'all', f.step, f.trajectory_id,
            CAST(f.is_failure AS SMALLINT), if(f.is_failure, 'failure', 'success'),
            CAST(f.called_failure AS SMALLINT), if(f.called_failure, 'failure', 'success'), TRUE, 1
        FROM failure_calls AS f
        WHERE f.called_failure IS NOT NULL
        """,
        beside=("protocol_parameters",),
    ),
    "fact_bin": Kept(
        "Answers, right answers and the sum of confidences per confidence bin; empty bins are there with n 0.",
        ("choice_bins",),
        ("run_id", "protocol_fingerprint", "stratum", "bin"),
        """
        SELECT run_id, protocol, protocol_fingerprint, stratum, bin, lo, hi, n, correct, confidence_sum
        FROM choice_bins
        """,
    ),
    "fact_event": Kept(
        "One candidate event at one horizon: how it was counted, how it ended and the score it got. n is 1, so that"
        " sums of it are counts.",
        ("floor_events",),
        ("run_id", "protocol_fingerprint", "fold", "role", "session", "kind", "boundary_row", "horizon_steps"),
        """
        SELECT run_id, protocol, protocol_fingerprint, fold, role, session, cluster_id, cluster_unit, kind,
            decision_timing, boundary_row, decision_row, horizon_steps, horizon_s, competing_row, transition_row, state,
            outcome, score, truncated, stratum, CAST(1 AS BIGINT) AS n
        FROM floor_events
        """,
    ),
}


Parts: TypeAlias = "Generator[pa.RecordBatchReader, None, None]"
"""The rows of one table, in streams of which each is read to its end before the next."""


@dataclass(frozen=True)
class Star:
    """Tables in types every reader takes, in a fixed order of rows, and what they are."""

    tables: Mapping[str, Rows]
    definitions: Mapping[str, str]

    def table(self, name: str) -> pa.Table:
        """All rows of one table at once."""
        return whole(self.tables[name])

    @cached_property
    def digest(self) -> str:
        """64 hex over names, types and rows: two exports of equal content have equal digests, whatever their format."""
        digest = hashlib.sha256()
        for name, rows in self.tables.items():
            schema = [[field.name, str(field.type)] for field in rows.schema]
            digest.update(canonical_json([name, rows.num_rows, schema]).encode())
            _digest_rows(name, rows, digest)
        return digest.hexdigest()

    def info(self) -> dict[str, str]:
        """What an export says of itself."""
        return {"producer": "evalframe", "schema_version": SCHEMA_VERSION, "content_sha256": self.digest}


@contextmanager
def star(store: Store, relations: Catalogue, comparisons: Sequence[pa.Table] = ()) -> Iterator[Star]:
    """The star schema of `store`, for the length of a block: what does not fit into memory lies in files until then.

    comparisons: rows of the contract of that name beside those sealed in the store.
    """
    folder = SpillFolder()
    try:
        with Spool(folder.path, room=ROOM) as spool:
            keys = Keys()
            found = dict(_from_rows(store, relations, comparisons, spool, keys))
            protocols = _protocols(store)
            found["dim_protocol"] = bi_safe(protocols)
            found["dim_metric"] = bi_safe(dim_metric(relations, keys, protocols))
            tables = {name: found[name] for name in sorted(found)}
            dictionary = data_dictionary({name: rows.schema for name, rows in tables.items()})
            yield Star({**tables, "data_dictionary": dictionary}, _definitions(relations))
    finally:
        folder.remove()


def _from_rows(
    store: Store, relations: Catalogue, comparisons: Sequence[pa.Table], spool: Spool, keys: Keys
) -> Iterator[tuple[str, Rows]]:
    """The tables that the engine makes of sealed rows. keys: is shown the facts about metrics."""
    kept_tables = {table for kept in KEPT.values() for table in (*kept.of_runs, *kept.beside)}
    with Dividing() as engine:
        for table in sorted({*relations.tables(*RELATIONS), *kept_tables} - {"comparisons"}):
            engine.bind(table, store.files(table))
        engine.bind("comparisons", _distinct([store.read("comparisons"), *comparisons]))
        for name in RELATIONS:
            yield name, _put(spool, name, _asked(engine, relations, name), keys)
        for name, kept in KEPT.items():
            query = f"SELECT * FROM ({kept.query}) AS kept{in_order(kept.key)}"
            parts = engine.parts(dict.fromkeys(kept.of_runs, "run_id"))
            yield name, _put(spool, name, (engine.stream(query, name) for _ in parts))


def _asked(engine: Dividing, relations: Catalogue, name: str) -> Parts:
    """The rows of a relation, sorted by its grain."""
    wanted = plan(relations, [name])
    for _ in engine.parts(dict.fromkeys(OF_RUNS.get(name, ()), "run_id")):
        with engine.answering(wanted) as answers:
            yield answers.reader(name)


def _put(spool: Spool, name: str, parts: Parts, keys: Keys | None = None) -> Rows:
    """Rows of the engine in types of `SAFE`, put aside."""
    schema: pa.Schema = None
    with closing(parts):
        for part in parts:
            schema = bi_safe(part.schema.empty_table()).schema
            try:
                for batch in keys.seen(part) if keys is not None and "metric_key" in schema.names else part:
                    spool.add(name, bi_safe(pa.Table.from_batches([batch])))
            finally:
                del part  # one that is left half way would hold the engine
    return spool.take(name, schema)


def _definitions(relations: Catalogue) -> dict[str, str]:
    return {
        **{name: relations[name].definition for name in RELATIONS},
        **{name: kept.definition for name, kept in KEPT.items()},
        "dim_protocol": "One row per protocol fingerprint: its name, what it was given and what it does not claim.",
        "dim_metric": "One row per metric of a protocol: what it means and whether its numerators may be summed.",
        "data_dictionary": "Every column of every table: type, role, whether it may be summed, and its meaning.",
    }


def _distinct(found: Sequence[pa.Table]) -> pa.Table:
    """Comparisons one after another; one that was sealed and made again counts once."""
    seen: set[str] = set()
    kept = []
    for table in found:
        ids = set(table["comparison_id"].to_pylist())
        if not ids <= seen:
            kept.append(table)
        seen |= ids
    return pa.concat_tables(kept) if kept else contracts()["comparisons"].empty()


def _protocols(store: Store) -> pa.Table:
    """One row per fingerprint that results were sealed under; `parameters`: what it was given, as JSON text."""
    target = contracts()["protocols"]
    given: dict[str, dict[str, str]] = {}
    for row in store.read("protocol_parameters").to_pylist():
        given.setdefault(row["protocol_fingerprint"], {})[row["name"]] = row["value"]
    known = {one.label: one for one in all_protocols()}
    scored = store.scored().select(["protocol_fingerprint", "protocol"]).to_pylist()
    rows = []
    for fingerprint, label in sorted({(row["protocol_fingerprint"], row["protocol"]) for row in scored}):
        name, _, version = label.rpartition("/")
        fields = {"name": name, "version": version, "system": "", "title": "", "claims": ""}
        if label in known:
            fields |= {name: getattr(known[label], name) for name in fields}
        parameters = canonical_json(given.get(fingerprint, {}))
        rows.append({"protocol_fingerprint": fingerprint, "protocol": label, **fields, "parameters": parameters})
    return pa.Table.from_pylist(rows, schema=target.arrow_schema().append(pa.field("parameters", pa.string())))


class _Digesting:
    """A file that keeps only the digest of what is written to it."""

    def __init__(self, digest: Any) -> None:
        self._digest = digest
        self.closed = False

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True


def _digest_rows(name: str, rows: Rows, digest: Any) -> None:
    """Rows as CSV: one spelling per value, null apart from empty text, no trace of batches."""
    from pyarrow import csv

    with csv.CSVWriter(pa.PythonFile(cast(IO[bytes], _Digesting(digest)), mode="w"), rows.schema) as writer:
        for batch in passing(name, rows):
            writer.write_batch(batch)
