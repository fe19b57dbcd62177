"""The tables of a run, in memory or in files of any size: every rule of their contracts checked, bound to an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from evalframe.contracts import contract, validate
from evalframe.contracts.keys import duplicates
from evalframe.contracts.shards import ROWS, Rows, Shards, batches_of, blocks, in_memory
from evalframe.engines.duckdb import DuckDB, in_order
from evalframe.errors import ContractError
from evalframe.relations.plan import quoted


def bind_checked(engine: DuckDB, tables: Mapping[str, Rows], where: str) -> None:
    """Make `tables` readable under their names. Raises ContractError naming `where` when one breaks its contract."""
    held = in_memory(tables)
    for name, table in held.items():
        validate(contract(name), table, references=held).raise_for_failures(where)
    for name, rows in tables.items():
        engine.bind(name, rows)
    for name, rows in tables.items():
        if isinstance(rows, Shards):
            _check_files(engine, name, rows, tables, where)
        _check_references(engine, name, tables, where)


def _check_files(engine: DuckDB, name: str, rows: Shards, tables: Mapping[str, Rows], where: str) -> None:
    """Every rule that looks at one row, batch by batch, then that no two rows share a key."""
    declared, held = contract(name), in_memory(tables)
    references = tuple(reference for reference in declared.references if reference.table in held)
    by_row = replace(declared, key=(), uniques=(), references=references)
    rising, start = _Rising(), 0
    for batch in rows.batches():
        validate(by_row, batch, references=held, first_row=start).raise_for_failures(where)
        rising.look(batch.select(declared.key))
        start += len(batch)
    if not rising.always:
        _refuse_shared(engine, name, declared.key, "", where)
    for unique in declared.uniques:
        given = " AND ".join(f"{quoted(column)} IS NOT NULL" for column in unique)
        _refuse_shared(engine, name, unique, f" WHERE {given}", where)


def _refuse_shared(engine: DuckDB, name: str, columns: Sequence[str], given: str, where: str) -> None:
    """Look for equal neighbours among the sorted keys: sorting needs less memory than counting each of them."""
    listed = ", ".join(map(quoted, columns))
    keys = engine.stream(f"SELECT {listed} FROM {quoted(name)}{given}{in_order(columns)}", f"the keys of {name}")
    last: pa.Table | None = None
    for batch in keys:
        table = pa.Table.from_batches([batch])
        rows = table if last is None else pa.concat_tables([last, table])
        for row in duplicates(rows.columns)[:1]:
            _refuse(rows.slice(int(row), 1), "duplicate_key", "no other row has the same key", name, where)
        last = rows.slice(len(rows) - 1)


def _check_references(engine: DuckDB, name: str, tables: Mapping[str, Rows], where: str) -> None:
    """Rows that refer to none, where either side is in files; the rest is checked with the rows."""
    for reference in contract(name).references:
        here, there = tables[name], tables.get(reference.table)
        if not isinstance(there, Shards) or _same(here, there, reference.columns, reference.to_columns):
            continue
        match = " AND ".join(
            f"o.{quoted(a)} = t.{quoted(b)}" for a, b in zip(reference.columns, reference.to_columns, strict=True)
        )
        listed = ", ".join(f"o.{quoted(column)}" for column in reference.columns)
        given = " AND ".join(f"o.{quoted(column)} IS NOT NULL" for column in reference.columns)
        lost = (
            f"SELECT {listed} FROM {quoted(name)} AS o "
            f"WHERE {given} AND NOT EXISTS (SELECT 1 FROM {quoted(reference.table)} AS t WHERE {match}) LIMIT 1"
        )
        if len(found := engine.query(lost)):
            _refuse(found, "orphan", f"a row of {reference.table} with the same values", name, where)


def _refuse(found: pa.Table, rule: str, expected: str, name: str, where: str) -> None:
    values = ", ".join(f"{column}={value!r}" for column, value in found.to_pylist()[0].items())
    raise ContractError(
        f"1 rule of table {name} broken",
        expected=expected,
        found=f"{rule} in {', '.join(found.column_names)}: {values}",
        where=where,
        hint=f"evalframe explain {name}",
    )


def _same(here: Rows, there: Shards, columns: Sequence[str], to_columns: Sequence[str]) -> bool:
    """Whether both hold equal values row by row, as predictions beside their labels do: one look instead of a join."""
    if len(here) != len(there):
        return False
    ours, theirs = blocks(batches_of(here, columns), ROWS), blocks(there.batches(to_columns), ROWS)
    return all(a.rename_columns(list(to_columns)).equals(b) for a, b in zip(ours, theirs, strict=True))


class _Rising:
    """Whether the keys of all rows so far rise from row to row, as most sources write them: then none comes twice."""

    _MOST = 1 << 16  # texts of one column; more of them are better asked of the engine

    def __init__(self) -> None:
        self.always = True
        self._codes: dict[str, dict[str | None, int]] = {}
        self._last: tuple[int, ...] | None = None

    def look(self, keys: pa.RecordBatch) -> None:
        """Take the next rows' keys into account."""
        if not self.always or not len(keys):
            return
        columns = [self._numbers(name, keys.column(name)) for name in keys.schema.names]
        if any(column is None for column in columns):
            self.always = False
            return
        import numpy as np

        rows = np.stack([np.asarray(column) for column in columns], axis=1)
        if self._last is not None:
            rows = np.concatenate([np.array([self._last]), rows])
        steps = np.diff(rows, axis=0)
        first = np.take_along_axis(steps, (steps != 0).argmax(axis=1)[:, None], axis=1)
        self.always = bool((first > 0).all())
        self._last = tuple(rows[-1].tolist())

    def _numbers(self, name: str, column: pa.Array) -> object:
        """The column as integers whose order is that of the rows so far; None where it has no such form."""
        if column.null_count:
            return None
        if pa.types.is_integer(column.type):
            return column.to_numpy()
        if not pa.types.is_large_string(column.type):
            return None
        coded, known = column.dictionary_encode(), self._codes.setdefault(name, {})
        numbers = [known.setdefault(text, len(known)) for text in coded.dictionary.to_pylist()]
        return None if len(known) > self._MOST else pa.array(numbers, pa.int64()).take(coded.indices).to_numpy()
