"""One step of a progress run: its tables, its scores, and the files and store entries made of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import polars as pl
import pyarrow as pa

from evalframe.contracts.shards import Rows, Spool, batches_of, blocks
from evalframe.errors import PoolTooSmall, SelectionDiffers
from evalframe.protocols import Protocol
from evalframe.relations import Catalogue
from evalframe.sources import progress as source
from evalframe.sources import progress_streams as streams
from evalframe.store import Store
from evalframe.verbs import robometer_report as report
from evalframe.verbs.identifying import Identity, identify
from evalframe.verbs.outputs import Make, to_json, with_list
from evalframe.verbs.score import Run, Scored, score

if TYPE_CHECKING:
    from evalframe.engines.base import Answers

SYSTEM = "robometer"
TRACE_COLUMNS = source.TRACES_ALL

_GROUP = 1 << 20
"""Rows of a row group: part of what makes the bytes of a file, so never changed."""

_CALLS = ("progress_calls", "failure_calls")
_COUNTS = ("failure_counts", "filter_cuts")

AnyTargets: TypeAlias = "source.Targets | streams.SpooledTargets"
Traces: TypeAlias = "pl.DataFrame | streams.SpooledTraces"
"""`progress_traces` of one step: in memory, or in a spool."""


@dataclass(frozen=True)
class Question:
    """What every step of a run is asked: protocol, parameters, relations, the data set, and the run's name."""

    protocol: Protocol
    identity: Identity
    relations: Catalogue
    targets: AnyTargets
    run_id: str

    @property
    def top_k(self) -> int:
        """Candidates that filtering keeps."""
        return int(self.identity.parameters["top_k"])

    def stored_id(self, step: int) -> str:
        """What a step is called in a store."""
        return f"{self.run_id}@{step}"

    def tables(self, step: int, traces: pl.DataFrame) -> Mapping[str, pa.Table]:
        """The contracted tables of a step from its `progress_traces`, under the name it has in a store."""
        assert isinstance(self.targets, source.Targets)
        return source.run_tables(traces.with_columns(run_id=pl.lit(self.stored_id(step))), self.targets)

    def run(self, step: int, tables: Mapping[str, Rows], inputs: Mapping[str, Any], tags: Mapping[str, str]) -> Run:
        """The run of a step."""
        return Run(
            run_id=self.stored_id(step),
            system=SYSTEM,
            dataset_id=self.targets.dataset_id,
            tables=tables,
            inputs={**inputs, "step": step},
            tags={"series": self.run_id, **tags, "step": str(step)},
        )

    def json(self, command: str, body: Mapping[str, Any]) -> bytes:
        """A result file of this question."""
        return to_json(command, body, self.identity.to_json()).encode()


def question(
    protocol: Protocol, settings: Mapping[str, str], relations: Catalogue, targets: AnyTargets, run_id: str
) -> Question:
    """The question, with its fingerprint; settings are canonical and complete (`Protocol.settings`)."""
    return Question(protocol, identify(protocol, settings, relations, ()), relations, targets, run_id)


def scored_step(
    asked: Question,
    step: int,
    traces: pl.DataFrame,
    *,
    inputs: Mapping[str, Any],
    tags: Mapping[str, str],
    store: Store | None,
    origin: str,
) -> Scored:
    """Every metric of the protocol on one step; sealed as run `<run-id>@<step>` where there is a store."""
    run = asked.run(step, asked.tables(step, traces), inputs, tags)
    return _scored(asked, run, (*_CALLS, *_COUNTS), store=store, origin=origin)


def spooled_step(
    asked: Question,
    step: int,
    traces: streams.SpooledTraces,
    spool: Spool,
    *,
    inputs: Mapping[str, Any],
    tags: Mapping[str, str],
    store: Store | None,
    origin: str,
) -> tuple[Scored, dict[str, Rows]]:
    """`scored_step` for traces in a spool; the rows of trajectories, by relation, are there too."""
    assert isinstance(asked.targets, streams.SpooledTargets)
    tables = streams.run_tables(step, asked.stored_id(step), traces, asked.targets, spool)
    calls: dict[str, Rows] = {}

    def look(answers: Answers) -> None:
        for name in _CALLS:
            if _is_read(asked, name):
                reader = answers.reader(name, order=("trajectory_index",))
                for batch in reader:
                    spool.add(name, batch)
                calls[name] = spool.take(name, reader.schema)

    run = asked.run(step, tables, inputs, tags)
    scored = _scored(asked, run, _COUNTS, store=store, origin=origin, look=look)
    for rows in tables.values():
        spool.discard(rows)
    return scored, calls


def _scored(
    asked: Question,
    run: Run,
    reported: Sequence[str],
    *,
    store: Store | None,
    origin: str,
    look: Callable[[Answers], None] | None = None,
) -> Scored:
    return score(
        run,
        asked.protocol,
        asked.identity.parameters,
        store=store,
        relations=asked.relations,
        also=tuple(name for name in reported if _is_read(asked, name)),
        look=look,
        origin=origin,
    )


def _is_read(asked: Question, relation: str) -> bool:
    return relation in {r.name for r in asked.relations.closure(*asked.protocol.metrics)}


def answers_of(scored: Scored, calls: Mapping[str, Rows] | None = None) -> dict[str, report.Rows]:
    """The rows of a scored step by relation, as `robometer_report` reads them. calls: those in a spool."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in scored.identity.protocol.metrics}
    for row in scored.to_pylist():
        found.setdefault(row["metric"], []).append(row)
    tables = {name: table.to_pylist() for name, table in scored.relations.items()}
    return {**found, **tables, **{name: report.InOrder(rows) for name, rows in (calls or {}).items()}}


def step_files(asked: Question, found: report.Answers, command: str) -> dict[str, Make]:
    """The JSON files of a step by name; a protocol that only filters has no progress.json and no failure.json."""
    made: dict[str, Make] = {}
    if "progress_mse" in found:
        for name, head, rows in (
            ("progress.json", report.progress_head(found), report.progress_trajectories),
            ("failure.json", report.failure_head(found), report.failure_trajectories),
        ):
            text = asked.json(command, {**head, "trajectories": []})
            made[name] = with_list(text, "trajectories", partial(rows, found))
    for name, body in (
        ("filtering.json", report.filtering_body(found, asked.top_k)),
        ("metrics.json", report.metrics_body(found)),
    ):
        made[name] = partial(_put, asked.json(command, body))
    return made


def _put(content: bytes, sink: BinaryIO) -> None:
    sink.write(content)


def check_pools(pools: Mapping[str, int], asked: Question, where: str) -> None:
    """Raise PoolTooSmall where a query task (text -> candidates) has fewer candidates than filtering keeps.

    A protocol of one pool of so many tasks (it has no rows per outcome) is also held to that number: SelectionDiffers.
    """
    wanted = asked.identity.parameters
    if "rows_per_outcome" not in wanted and len(pools) != int(wanted["tasks"]):
        raise SelectionDiffers(
            f"{asked.protocol.label} filters a pool of {wanted['tasks']} query tasks",
            expected=f"{wanted['tasks']} query tasks",
            found=f"{len(pools)}: {', '.join(sorted(pools))}",
            where=where,
            hint=f"--set tasks={len(pools)}  (another pool is another evaluation)",
        )
    small = {task: n for task, n in sorted(pools.items()) if n < asked.top_k}
    if small:
        raise PoolTooSmall(
            f"filtering keeps {asked.top_k} candidates, and a pool has fewer",
            expected=f"at least {asked.top_k} candidates for each query task",
            found="; ".join(f"{task}: {n}" for task, n in small.items()),
            where=where,
            hint=f"--set top_k={max(1, min(small.values()))}  (another k is another evaluation)",
        )


def pools_of(traces: Traces) -> Mapping[str, int]:
    """Candidates of each query task: trajectories that were asked about it."""
    if isinstance(traces, streams.SpooledTraces):
        return traces.pools
    counts = traces.group_by("query_task").agg(pl.col("trajectory_id").n_unique())
    return dict(counts.iter_rows())


def parquet(rows: pl.DataFrame, columns: Sequence[str]) -> bytes:
    """The rows as a Parquet file whose bytes depend on nothing but the rows."""
    sink = io.BytesIO()
    parquet_of(rows.select(columns).to_arrow(), columns)(sink)
    return sink.getvalue()


def parquet_of(rows: Rows, columns: Sequence[str]) -> Make:
    """`parquet` for rows that need not fit into memory."""
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field(name, rows.schema.field(name).type) for name in columns])

    def make(sink: BinaryIO) -> None:
        with pq.ParquetWriter(sink, schema, compression="zstd", store_schema=False) as writer:
            for group in blocks(batches_of(rows, columns), _GROUP):
                writer.write_table(group.cast(schema).combine_chunks(), row_group_size=_GROUP)
            if not len(rows):
                writer.write_table(schema.empty_table())

    return make
