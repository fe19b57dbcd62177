"""What a contract is: columns, key, rules and references, as frozen values.

The YAML files in data_contracts/ are the only place where a column's type is written; everything here is derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from evalframe.contracts import physical

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Column:
    """One column. In a list column, `minimum`, `maximum`, `allowed`, `finite` and `element_required` hold per element.

    `required`: no nulls. `allowed`: the closed set of values, None where any is. `finite`: NaN and infinities are
    refused. `min_items`, `max_items`: length of a list. `present_when`: another column and the values of it with which
    this one is given, and without which it is null. `examples`: values to show.
    """

    name: str
    physical: str
    required: bool
    description: str
    minimum: float | None = None
    maximum: float | None = None
    allowed: tuple[Any, ...] | None = None
    finite: bool = True
    element_required: bool = True
    min_items: int | None = None
    max_items: int | None = None
    present_when: tuple[str, tuple[Any, ...]] | None = None
    examples: tuple[Any, ...] = ()

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type; text is large_string."""
        return physical.arrow_type(self.physical)


class Reference(NamedTuple):
    """`columns` must be found together in `to_columns` of `table`; a row with a null among them refers to nothing."""

    columns: tuple[str, ...]
    table: str
    to_columns: tuple[str, ...]


@dataclass(frozen=True)
class Contract:
    """One table: what its rows mean and what must hold of them.

    `key`: columns that no two rows share together (nulls count as equal). `uniques`: further such sets, in which a row
    with a null is free. `grain`: what one row is.
    """

    name: str
    version: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    references: tuple[Reference, ...]
    uniques: tuple[tuple[str, ...], ...] = ()
    grain: str = ""
    limitations: str = ""

    def column(self, name: str) -> Column:
        """The column of that name; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in contract order."""
        return tuple(c.name for c in self.columns)

    def arrow_schema(self) -> pa.Schema:
        """The table's schema; columns without nulls are marked so."""
        return pa.schema([pa.field(c.name, c.arrow_type, nullable=not c.required) for c in self.columns])

    def polars_schema(self) -> pl.Schema:
        """The same in Polars, which cannot say that a column has no nulls."""
        import polars as pl

        return pl.Schema({c.name: physical.polars_type(c.physical) for c in self.columns})

    def ddl(self) -> str:
        """CREATE TABLE with every description as a comment.

        Keys are not declared: they are checked before anything is written, and an index over 1e7 rows costs more than
        the table.
        """
        columns = ",\n".join(
            f"    {_quoted(c.name)} {physical.duckdb_type(c.physical)}{' NOT NULL' if c.required else ''}"
            for c in self.columns
        )
        statements = [
            f"CREATE TABLE {_quoted(self.name)} (\n{columns}\n);",
            f"COMMENT ON TABLE {_quoted(self.name)} IS {_text(self.description)};",
        ]
        statements += [
            f"COMMENT ON COLUMN {_quoted(self.name)}.{_quoted(c.name)} IS {_text(c.description)};" for c in self.columns
        ]
        return "\n".join(statements) + "\n"

    def semantics(self) -> dict[str, Any]:
        """What defines the meaning of the table's values, JSON-able and without prose: what enters a fingerprint."""
        return {
            "name": self.name,
            "columns": [_column_semantics(c) for c in self.columns],
            "key": list(self.key),
            "uniques": [list(u) for u in self.uniques],
            "references": [
                {"columns": list(r.columns), "table": r.table, "to_columns": list(r.to_columns)}
                for r in self.references
            ],
        }

    def empty(self) -> pa.Table:
        """The table without rows."""
        return self.arrow_schema().empty_table()


def _column_semantics(column: Column) -> dict[str, Any]:
    rules = {
        "minimum": column.minimum,
        "maximum": column.maximum,
        "allowed": None if column.allowed is None else list(column.allowed),
        "min_items": column.min_items,
        "max_items": column.max_items,
        "present_when": None if column.present_when is None else [column.present_when[0], list(column.present_when[1])],
    }
    return {
        "name": column.name,
        "type": column.physical,
        "required": column.required,
        "finite": column.finite,
        "element_required": column.element_required,
        **{name: value for name, value in rules.items() if value is not None},
    }


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
