"""Tables made from seals: the runs, the results, and the index of sealed files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from evalframe.contracts import contract
from evalframe.identity import canonical_json
from evalframe.store.seals import ResultSeal, RunSeal, Seal


class Entry(NamedTuple):
    """One sealed file, or with table "" the seal itself, beside what its seal says of it. seal: the seal's name."""

    seal: str
    run_id: str | None
    protocol: str | None
    protocol_fingerprint: str | None
    dataset_id: str | None
    created_at: str
    table: str
    path: str
    size: int


INDEX_SCHEMA = pa.schema([
    pa.field(name, pa.int64() if name == "size" else pa.large_string(), nullable=name not in ("seal", "table", "path"))
    for name in Entry._fields
])  # fmt: skip


def entries(name: str, seal: Seal) -> Iterator[Entry]:
    """The seal itself, then its files."""
    run_id = protocol = fingerprint = dataset_id = None
    if isinstance(seal, RunSeal):
        run_id, dataset_id = seal.run_id, seal.dataset_id
    elif isinstance(seal, ResultSeal):
        run_id, protocol, fingerprint = seal.run_id, seal.protocol, seal.protocol_fingerprint
    for table, path, size in [("", "", 0), *((file.table, file.path, file.size) for file in seal.files)]:
        yield Entry(name, run_id, protocol, fingerprint, dataset_id, seal.created_at, table, path, size)


def index(found: Iterable[Entry]) -> pa.Table:
    """Entries as a table."""
    columns: Sequence[Sequence[object]] = list(zip(*found, strict=True)) or [()] * len(Entry._fields)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, INDEX_SCHEMA, strict=True)],
        schema=INDEX_SCHEMA,
    )


def from_index(tables: Iterable[pa.Table], table: str) -> list[Entry]:
    """The entries of one table in tables that `index` made."""
    import pyarrow.compute as pc

    found: list[Entry] = []
    for rows in tables:
        wanted = rows.filter(pc.equal(rows.column("table"), table))
        found += [Entry(*row) for row in zip(*(column.to_pylist() for column in wanted.itercolumns()), strict=True)]
    return found


def runs_table(seals: Sequence[RunSeal]) -> pa.Table:
    """Table `runs`, a row per seal."""
    columns = {
        "run_id": [seal.run_id for seal in seals],
        "dataset_id": [seal.dataset_id for seal in seals],
        "system": [seal.system for seal in seals],
        "tags": [sorted(seal.tags.items()) for seal in seals],
        "created_at": [datetime.fromisoformat(seal.created_at) for seal in seals],
        "inputs": [canonical_json(seal.inputs) for seal in seals],
    }
    schema = contract("runs").arrow_schema()
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


SCORED_SCHEMA = pa.schema(
    [
        pa.field("run_id", pa.large_string(), nullable=False),
        pa.field("protocol", pa.large_string(), nullable=False),
        pa.field("protocol_fingerprint", pa.large_string(), nullable=False),
        pa.field("created_at", pa.timestamp("us", "UTC"), nullable=False),
    ]
)
