"""Check a file against the contract of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.contracts import contract, read_table
from evalframe.contracts import validate as check
from evalframe.verbs import drawing
from evalframe.verbs.results import Rows


@dataclass(frozen=True, repr=False)
class Checked(Rows):
    """One row per broken rule: rule, column, exact count, and the first offending rows as JSON text."""

    contract: str
    n_rows: int
    unchecked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no rule was broken."""
        return len(self.table) == 0

    def headlines(self) -> list[str]:
        """How many rules were broken, and what was not asked."""
        broken = f"{len(self.table)} rule(s) of {self.contract} broken in {self.n_rows} rows"
        kept = f"the contract {self.contract} is kept: {self.n_rows} rows"
        return [kept if self.ok else broken, *(f"not checked: {rule}" for rule in self.unchecked)]

    def to_json(self) -> dict[str, Any]:
        """The object of `evalframe validate --json`; its rows are objects."""
        failures = [
            {**failure, "first_rows": [json.loads(row) for row in failure["first_rows"]]}
            for failure in self.to_pylist()
        ]
        return {
            "contract": self.contract,
            "n_rows": self.n_rows,
            "ok": self.ok,
            "failures": failures,
            "unchecked": list(self.unchecked),
        }


def validate(table: str, file: Path) -> Checked:
    """Every rule of contract `table` against the rows of `file`. Raises InputError when the file cannot be read."""
    wanted = contract(table)
    data = read_table(wanted, file)
    report = check(wanted, data)
    rows = [
        {
            "rule": failure.rule,
            "column": failure.column,
            "count": failure.count,
            "first_rows": [
                json.dumps(row, ensure_ascii=False, allow_nan=False) for row in drawing.rows(failure.rows.slice(0, 3))
            ],
        }
        for failure in report.failures
    ]
    schema = pa.schema(
        {"rule": pa.string(), "column": pa.string(), "count": pa.int64(), "first_rows": pa.list_(pa.string())}
    )
    return Checked(pa.Table.from_pylist(rows, schema=schema), table, len(data), report.unchecked)
