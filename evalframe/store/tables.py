"""Tables made from seals: the runs, and the index of what is sealed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from evalframe.contracts import contract
from evalframe.store.seals import ResultSeal, RunSeal, Seal

_TEXT, _TIME = pa.large_string(), pa.timestamp("us", "UTC")
INDEX_SCHEMA = pa.schema(
    [
        pa.field("seal", _TEXT, nullable=False),
        pa.field("run_id", _TEXT),
        pa.field("protocol", _TEXT),
        pa.field("protocol_fingerprint", _TEXT),
        pa.field("dataset_id", _TEXT),
        pa.field("created_at", _TIME, nullable=False),
        pa.field("table", _TEXT, nullable=False),
        pa.field("path", _TEXT, nullable=False),
        pa.field("size", pa.int64(), nullable=False),
    ]
)
"""A sealed file, or with table "" a seal itself, beside what the seal says. seal: the seal's name."""


def seals_index(seals: Mapping[str, Seal]) -> pa.Table:
    """A row per seal, given by name."""
    return _index([(*_facts(name, seal), "", "", 0) for name, seal in seals.items()])


def files_index(seals: Mapping[str, Seal], table: str | None = None) -> pa.Table:
    """A row per sealed file of the seals, given by name, or of those of one table; by table, then by seal."""
    rows = [row for name, seal in seals.items() for row in _files(name, seal, table)]
    return _index(sorted(rows, key=lambda row: (row[6], row[0], row[7])))


def _facts(name: str, seal: Seal) -> tuple[Any, ...]:
    time = datetime.fromisoformat(seal.created_at)
    if isinstance(seal, RunSeal):
        return name, seal.run_id, None, None, seal.dataset_id, time
    if isinstance(seal, ResultSeal):
        return name, seal.run_id, seal.protocol, seal.protocol_fingerprint, None, time
    return name, None, None, None, None, time


def _files(name: str, seal: Seal, table: str | None) -> Iterator[tuple[Any, ...]]:
    facts = _facts(name, seal)
    for file in seal.files:
        if table is None or file.table == table:
            yield (*facts, file.table, file.path, file.size)


def _index(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(INDEX_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, INDEX_SCHEMA, strict=True)]
    return pa.table(arrays, schema=INDEX_SCHEMA)


def runs_table(seals: Sequence[RunSeal]) -> pa.Table:
    """Table `runs`, a row per seal."""
    from evalframe.identity import canonical_json

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


def among(rows: pa.Table, column: str, values: Collection[str], *, wanted: bool = True) -> pa.Table:
    """The rows whose `column` is one of `values`, or is none of them."""
    if len(rows) <= _FEW:
        cells = rows.column(column).to_pylist()
        return _at(rows, [place for place, cell in enumerate(cells) if (cell in values) == wanted])
    import pyarrow.compute as pc

    inside = pc.is_in(rows.column(column), value_set=pa.array(sorted(values), pa.large_string()))
    return rows.filter(inside if wanted else pc.invert(inside))


_FEW = 256
"""Rows that are gone through here: loading Arrow's functions takes longer."""


def oldest_first(rows: pa.Table, then: str) -> pa.Table:
    """The rows by created_at, then by another column."""
    if len(rows) > _FEW:
        return rows.sort_by([("created_at", "ascending"), (then, "ascending")])
    times = [time for chunk in rows.column("created_at").chunks for time in chunk.view(pa.int64()).to_pylist()]
    keys = list(zip(times, rows.column(then).to_pylist(), strict=True))
    return _at(rows, sorted(range(len(keys)), key=keys.__getitem__))


def _at(rows: pa.Table, places: Sequence[int]) -> pa.Table:
    return pa.concat_tables([rows.slice(0, 0), *(rows.slice(place, 1) for place in places)])
