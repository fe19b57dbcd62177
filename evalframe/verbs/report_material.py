"""What a report is made of, asked in the ways its sections need. Only what a page shows is ever read into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.contracts.shards import Shards
from evalframe.engines.choosing import chosen
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.limits import modest
from evalframe.engines.parquet import numbered
from evalframe.protocols import Protocol, all_protocols
from evalframe.publish.star import Star
from evalframe.relations.plan import literal, quoted
from evalframe.verbs.comparisons import Compared

if TYPE_CHECKING:
    from evalframe.contracts.shards import Rows
    from evalframe.store import Store

FIRST_ROWS, TABLE_ROWS = 12, 400
"""Rows of a table that are seen at once, and those that can be unfolded; the rest is in an export."""

AUTHORITY = "authority"
"""The rows of fact_metric that stand for their runs."""

PLACE = "place"
"""A column of every table: how many rows stand before. An order by it is the order of an export."""


@dataclass(frozen=True)
class Material:
    """What a report is made of. protocol: show this one only. only: runs of a page that is about one comparison.

    engine: has the tables of the star schema, and AUTHORITY, with the rows of the runs shown and the column PLACE.
    """

    store: Store
    star: Star
    engine: DuckDB
    compared: Compared
    protocol: str | None = None
    only: frozenset[str] | None = None

    @classmethod
    @contextmanager
    def of(
        cls,
        store: Store,
        star: Star,
        compared: Compared,
        protocol: str | None = None,
        only: frozenset[str] | None = None,
    ) -> Iterator[Material]:
        """The material, for the length of a block."""
        with DuckDB(modest(chosen().memory_limit)) as engine:
            for name, rows in star.tables.items():
                _bind(engine, name, rows, only)
            engine.view(AUTHORITY, "SELECT * FROM fact_metric WHERE is_authority")
            yield cls(store, star, engine, compared, protocol, only)

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of one SELECT over the engine's tables: those few that are shown, or what is counted."""
        found: list[dict[str, Any]] = self.engine.query(query).to_pylist()
        return found

    def count(self, rows: str) -> int:
        """How many rows there are of what stands behind FROM."""
        return int(self.ask(f"SELECT count(*) AS n FROM {rows}")[0]["n"])

    def texts(self, column: str, rows: str) -> list[str]:
        """The distinct texts in a column of what stands behind FROM, sorted; null is none."""
        name = quoted(column)
        asked = self.engine.query(f"SELECT DISTINCT {name} FROM (SELECT * FROM {rows}) AS r WHERE {name} IS NOT NULL")
        return sorted(asked.column(column).to_pylist())

    @cached_property
    def _runs(self) -> dict[tuple[str, str], set[str]]:
        """(protocol, fingerprint) -> runs with a value under it."""
        found: dict[tuple[str, str], set[str]] = {}
        for row in self.ask(f"SELECT DISTINCT protocol, protocol_fingerprint, run_id FROM {AUTHORITY}"):
            found.setdefault((row["protocol"], row["protocol_fingerprint"]), set()).add(row["run_id"])
        return found

    @cached_property
    def protocols(self) -> list[tuple[Protocol, str]]:
        """(protocol, fingerprint) of the results shown, those with most runs first."""
        known = {one.label: one for one in all_protocols()}
        held = [key for key in self._runs if key[0] in known]
        order = sorted(held, key=lambda key: (key[0], -len(self._runs[key]), key[1]))
        found = [(known[label], fingerprint) for label, fingerprint in order]
        return [(one, print_) for one, print_ in found if self.protocol in (None, one.label, one.name)]

    def runs_of(self, label: str, fingerprint: str) -> list[str]:
        """Runs with results under a fingerprint, oldest first; those that were compared come before others."""
        has = self._runs.get((label, fingerprint), set())
        return [run for run in self._in_order if run in has]

    @cached_property
    def _in_order(self) -> list[str]:
        compared = (run for one in self.compared.comparisons for run in (one.request.baseline, *one.request.candidates))
        return list(dict.fromkeys((*compared, *self.store.run_ids())))


def _bind(engine: DuckDB, name: str, rows: Rows, only: frozenset[str] | None) -> None:
    """Make a table of the star schema readable: of the runs `only` where it has rows per run."""
    held = f"all {name}"
    if isinstance(rows, Shards):
        (path,) = rows.paths
        engine.view(held, numbered(path, PLACE))
    else:
        engine.bind(held, rows.append_column(PLACE, pa.array(range(len(rows)), pa.int64())))
    shown = "TRUE"
    if only is not None and "run_id" in rows.column_names:
        shown = f"run_id IS NULL OR run_id IN ({among(only)})"
    engine.view(name, f"SELECT * FROM {quoted(held)} WHERE {shown}")


def among(texts: frozenset[str] | list[str]) -> str:
    """Texts as an SQL list; no text is among an empty one."""
    return ", ".join(map(literal, sorted(texts))) or "NULL"


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table without the columns that none of them fills."""
    used = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    return pa.Table.from_pylist([{name: row[name] for name in used} for row in rows])
