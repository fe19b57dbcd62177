"""What a validation found: failures are values, each with its exact count and the rows it concerns."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from evalframe.errors import ContractError

ROW_NUMBER = "row_number"


@dataclass(frozen=True, slots=True)
class Failure:
    """One rule that does not hold.

    rule: a name of `rules.RULES`. column: the column, or several joined by a comma. count: offending rows; 1 for a
    missing, undeclared or repeated column, which concerns no row. rows: the first of them as they were given, with
    their position (from 0) as `row_number`; rows that share a key stand together. expected: what the rule asks.
    """

    rule: str
    column: str
    count: int
    rows: pa.Table
    expected: str

    def __str__(self) -> str:
        numbers = self.rows.column(ROW_NUMBER).to_pylist() if self.rows.num_rows else []
        shown = ", ".join(str(n) for n in numbers) + (", ..." if self.count > len(numbers) else "")
        place = f", row{'s' if self.count > 1 else ''} {shown}: {self._values()}" if numbers else ""
        return f"{self.rule} in {self.column} ({self.count}{place}; expected {self.expected})"

    def _values(self) -> str:
        named = [c for c in self.column.split(", ") if c in self.rows.column_names]
        first = self.rows.select(named).slice(0, 1).to_pylist()[0]
        return ", ".join(f"{name}={value!r}" for name, value in first.items())


@dataclass(frozen=True, slots=True)
class Report:
    """Every failure of one table. `unchecked` says which rules could not be asked and why: ok is about the rest."""

    contract: str
    n_rows: int
    failures: tuple[Failure, ...]
    valid: pa.Table
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """No rule failed."""
        return not self.failures

    def raise_for_failures(self, where: str = "") -> None:
        """Raise one ContractError that names every failure, if there is any."""
        if self.ok:
            return
        n = len(self.failures)
        raise ContractError(
            f"{n} rule{'s' if n > 1 else ''} of table {self.contract} broken in {self.n_rows} rows",
            expected=f"rows that keep the contract of {self.contract}",
            found="; ".join(str(f) for f in self.failures),
            where=where or self.contract,
            hint=f"evalframe explain {self.contract}",
        )


def legible(rows: pa.Table) -> pa.Table:
    """`rows` with text in place of any column that has no Python values: bytes that are no UTF-8, nanoseconds, ..."""
    for i, field in enumerate(rows.schema):
        column = rows.column(i)
        try:
            column.to_pylist()
        except (ValueError, OverflowError):
            text = pa.chunked_array([[_spelled(column.slice(row, 1)) for row in range(len(column))]], type=pa.string())
            rows = rows.set_column(i, field.name, text)
    return rows


def _spelled(value: pa.ChunkedArray) -> str | None:
    if pa.types.is_string(value.type) or pa.types.is_large_string(value.type):
        [raw] = value.cast(pa.large_binary()).to_pylist()
        return None if raw is None else raw.decode("utf-8", "backslashreplace")
    return " ".join(value.to_string().split())
