"""All rules of a contract over one table, in one pass, as a report of what fails where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts import keys
from evalframe.contracts.conforming import as_table, cast_losslessly, castable
from evalframe.contracts.fitting import fitted
from evalframe.contracts.model import Column, Contract, Reference
from evalframe.contracts.report import ROW_NUMBER, Failure, Report, legible
from evalframe.contracts.rules import RULES, expectation, offences
from evalframe.contracts.text import read_again
from evalframe.errors import ContractError

Rows = NDArray[np.int64]
SHOWN = 5
_NO_ROWS = np.zeros(0, dtype=np.int64)


def validate(
    contract: Contract,
    data: Any,
    references: Mapping[str, Any] | None = None,
    *,
    shown: int = SHOWN,
    first_row: int = 0,
) -> Report:
    """Check every rule of `contract`; see `rules.RULES`.

    data: anything that `conform` takes, or what `read_table` returns. references: the tables that foreign keys point
    to, by name; a foreign key into a table that is not given is not checked and is named in `Report.unchecked`.
    shown: how many offending rows each failure carries. first_row: position of the first row, where `data` is a part
    of a table.
    """
    run = _Validation(contract, data, shown, first_row)
    run.check_names()
    for column in contract.columns:
        run.check_column(column)
    for column in contract.columns:
        run.check_presence(column)
    if contract.key:
        run.check_unique(contract.key)
    for unique in contract.uniques:
        run.check_unique(unique, nulls_are_free=True)
    for reference in contract.references:
        run.check_reference(reference, references or {})
    return run.report()


class _Validation:
    """The state of one pass: what was read so far, and what failed."""

    def __init__(self, contract: Contract, data: Any, shown: int, first_row: int) -> None:
        self.contract = contract
        self.first_row = first_row
        self.table = as_table(data)
        self.shown = shown
        self.failures: list[Failure] = []
        self.unchecked: list[str] = []
        self.typed: dict[str, pa.ChunkedArray] = {}
        self.lost: dict[str, Rows] = {}  # rows whose value is null in `typed` only because it could not be read
        self.sound = np.ones(self.table.num_rows, dtype=bool)

    def check_names(self) -> None:
        given = self.table.column_names
        for name in dict.fromkeys([*self.contract.names, *given]):
            if name not in given:
                self.fail_column("missing_column", name)
            elif name not in self.contract.names:
                self.fail_column("undeclared_column", name)
            elif given.count(name) > 1:
                self.fail_column("repeated_column", name)

    def check_column(self, column: Column) -> None:
        if self.table.column_names.count(column.name) != 1 or not self.read(column):
            return
        lost = self.lost[column.name]
        self.fail("wrong_type", column.name, lost, column.physical)
        found: dict[str, list[Rows]] = {}
        start = 0
        for chunk in self.typed[column.name].chunks:
            for rule, rows in offences(column, chunk):
                found.setdefault(rule, []).append(rows + start)
            start += len(chunk)
        for rule, parts in found.items():
            rows = np.unique(np.concatenate(parts))
            rows = np.setdiff1d(rows, lost, assume_unique=True) if rule == "null" else rows
            self.fail(rule, column.name, rows, expectation(column, rule))

    def read(self, column: Column) -> bool:
        """Note the column's values in its type; False, and a failure, if it is of another type altogether."""
        data = self.table.column(column.name)
        unread = _NO_ROWS
        again = read_again(self.table.schema.field(column.name), data, column)
        if again is not None:
            unread = np.flatnonzero(np.asarray(data.is_valid()) & np.asarray(again.is_null()))
            data = again
        if castable(data.type, column.arrow_type):
            self.typed[column.name], lost = fitted(data, column.arrow_type)
            self.lost[column.name] = np.union1d(lost, unread)
            return True
        filled = np.flatnonzero(np.asarray(data.is_valid()))
        expected = f"{column.physical}, not {data.type}"
        if len(filled):
            self.fail("wrong_type", column.name, filled, expected)
        else:  # without a value to show it is still the wrong column
            self.fail_column("wrong_type", column.name, expected)
        return False

    def check_presence(self, column: Column) -> None:
        if column.present_when is None or column.name not in self.typed:
            return
        other, values = column.present_when
        if other not in self.typed:
            self.unchecked.append(f"presence of {column.name}: {other} is missing or of another type")
            return
        wanted = pc.is_in(self.typed[other], value_set=pa.array(values, type=self.typed[other].type))
        given = self.typed[column.name].is_valid()
        rows = np.flatnonzero(np.asarray(wanted) != np.asarray(given))
        rows = np.setdiff1d(rows, np.union1d(self.lost[column.name], self.lost[other]), assume_unique=True)
        self.fail("presence", f"{column.name}, {other}", rows, expectation(column, "presence"))

    def check_unique(self, columns: Sequence[str], *, nulls_are_free: bool = False) -> None:
        name = ", ".join(columns)
        if not self.readable(f"duplicate_key in {name}", columns):
            return
        arrays = [self.typed[c] for c in columns]
        if nulls_are_free:
            asked = keys.without_nulls(arrays)
        else:
            asked = self.all_but(np.concatenate([self.lost[c] for c in columns]))
        self.fail("duplicate_key", name, _among(asked, arrays, keys.duplicates))

    def check_reference(self, reference: Reference, given: Mapping[str, Any]) -> None:
        name = ", ".join(reference.columns)
        rule = f"orphan in {name}"
        if reference.table not in given:
            self.unchecked.append(f"{rule}: table {reference.table} was not given")
            return
        if not self.readable(rule, reference.columns):
            return
        arrays = [self.typed[c] for c in reference.columns]
        targets = self.targets(reference, as_table(given[reference.table]))
        rows = _among(keys.without_nulls(arrays), arrays, lambda some: keys.orphans(some, targets))
        to = ", ".join(reference.to_columns)
        self.fail("orphan", name, rows, f"a row of {reference.table} with the same {to}")

    def targets(self, reference: Reference, table: pa.Table) -> list[pa.ChunkedArray]:
        arrays = []
        for here, there in zip(reference.columns, reference.to_columns, strict=True):
            target = self.typed[here].type
            found = table.column(there).type if table.column_names.count(there) == 1 else "no such column"
            if found == "no such column" or not castable(found, target):
                raise ContractError(
                    f"table {reference.table} cannot be referred to by column {here} of {self.contract.name}",
                    expected=f"a column {there} of type {target}",
                    found=str(found),
                    hint=f"evalframe explain {reference.table}",
                )
            arrays.append(cast_losslessly(table.column(there), target))
        return arrays

    def readable(self, rule: str, columns: Sequence[str]) -> bool:
        """Whether every column could be read; else the rule is noted as not checked."""
        lacking = [c for c in columns if c not in self.typed]
        if lacking:
            self.unchecked.append(f"{rule}: {', '.join(lacking)} is missing or of another type")
        return not lacking

    def all_but(self, rows: Rows) -> Rows | None:
        """Every other row; None for all of them."""
        return np.setdiff1d(np.arange(self.table.num_rows), rows) if len(rows) else None

    def fail_column(self, rule: str, column: str, expected: str = "") -> None:
        """A failure of the column as such, which concerns no row in particular and leaves none valid."""
        self.sound[:] = False
        self.failures.append(Failure(rule, column, 1, self.shown_rows(_NO_ROWS), expected or RULES[rule]))

    def fail(self, rule: str, column: str, rows: Rows, expected: str = "") -> None:
        if len(rows):
            self.sound[rows] = False
            self.failures.append(
                Failure(rule, column, len(rows), self.shown_rows(rows[: self.shown]), expected or RULES[rule])
            )

    def shown_rows(self, rows: Rows) -> pa.Table:
        """Those rows as they were given, behind their position."""
        slices = [self.table.slice(int(row), 1) for row in rows]  # take() would first copy whole text columns together
        picked = pa.concat_tables(slices) if slices else self.table.slice(0, 0)
        return legible(picked).add_column(0, ROW_NUMBER, pa.array(rows + self.first_row, pa.int64()))

    def report(self) -> Report:
        complete = all(c in self.typed for c in self.contract.names)
        valid = self.contract.empty()
        if complete and self.sound.any():
            schema = self.contract.arrow_schema()
            arrays = [self.typed[c] for c in self.contract.names]
            valid = pa.Table.from_arrays(arrays, schema=schema)
            valid = valid if self.sound.all() else valid.filter(pa.array(self.sound))
        return Report(
            self.contract.name, self.table.num_rows, tuple(self.failures), valid, unchecked=tuple(self.unchecked)
        )


def _among(asked: Rows | None, arrays: list[pa.ChunkedArray], find: Callable[[list[pa.ChunkedArray]], Rows]) -> Rows:
    """The rows that `find` finds among those asked about, or among all where `asked` is None."""
    if asked is None:
        return find(arrays)
    found: Rows = asked[find([a.take(pa.array(asked)) for a in arrays])]
    return found
