"""What an export says of itself: a table of its own, and comments that DuckDB and PostgreSQL both read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from evalframe.contracts.shards import Rows
from evalframe.publish.recomputed import VIEWS
from evalframe.publish.star import Star
from evalframe.relations.plan import literal, quoted

INFO = "export_info"
"""The table in which a database says what it holds, so that an export knows its own."""


def tables_of(star: Star) -> Mapping[str, Rows]:
    """All tables of a database: the star schema, and `export_info`, names and values."""
    info = star.info()
    names, values = pa.array(info, pa.string()), pa.array(info.values(), pa.string())
    return {**star.tables, INFO: pa.table({"name": names, "value": values})}


def comments(star: Star) -> Iterator[str]:
    """COMMENT ON statements; a measure's comment ends with what may be done with it."""
    for table, definition in star.definitions.items():
        yield f"COMMENT ON TABLE {quoted(table)} IS {literal(definition)}"
    for row in star.table("data_dictionary").to_pylist():
        text = row["description"]
        if row["additivity"]:
            text += f" [{row['additivity']}: {row['additivity_meaning']}]"
        column = f"{quoted(row['table_name'])}.{quoted(row['column_name'])}"
        yield f"COMMENT ON COLUMN {column} IS {literal(text)}"


def views() -> Iterator[str]:
    """CREATE VIEW statements of what recomputes ratios, each with its comment."""
    for name, (definition, query) in VIEWS.items():
        yield f"CREATE VIEW {quoted(name)} AS {query}"
        yield f"COMMENT ON VIEW {quoted(name)} IS {literal(definition)}"
