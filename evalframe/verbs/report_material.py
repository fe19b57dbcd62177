"""What a report is made of, asked in the ways its sections need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.protocols import Protocol, all_protocols
from evalframe.publish.star import Star
from evalframe.verbs.comparisons import Compared

if TYPE_CHECKING:
    from evalframe.store import Store

FIRST_ROWS, TABLE_ROWS = 12, 400
"""Rows of a table that are seen at once, and those that can be unfolded; the rest is in an export."""


@dataclass(frozen=True)
class Material:
    """What a report is made of. protocol: show this one only. only: runs of a page that is about one comparison."""

    store: Store
    star: Star
    compared: Compared
    protocol: str | None = None
    only: frozenset[str] | None = None

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of one table of the star schema, of the runs shown where it has rows per run."""
        found: list[dict[str, Any]] = self.star.table(table).to_pylist()
        return [row for row in found if self.only is None or row.get("run_id") is None or row["run_id"] in self.only]

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        """Values that stand for their runs."""
        return [row for row in self.rows("fact_metric") if row["is_authority"]]

    @cached_property
    def protocols(self) -> list[tuple[Protocol, str]]:
        """(protocol, fingerprint) of the results shown, those with most runs first."""
        known = {one.label: one for one in all_protocols()}
        runs: dict[tuple[str, str], set[str]] = {}
        for row in self.values:
            if row["protocol"] in known:
                runs.setdefault((row["protocol"], row["protocol_fingerprint"]), set()).add(row["run_id"])
        order = sorted(runs, key=lambda key: (key[0], -len(runs[key]), key[1]))
        found = [(known[label], fingerprint) for label, fingerprint in order]
        return [(one, print_) for one, print_ in found if self.protocol in (None, one.label, one.name)]

    def runs_of(self, label: str, fingerprint: str) -> list[str]:
        """Runs with results under a fingerprint, oldest first; those that were compared come before others."""
        has = {r["run_id"] for r in self.values if (r["protocol"], r["protocol_fingerprint"]) == (label, fingerprint)}
        compared = dict.fromkeys(
            run for one in self.compared.comparisons for run in (one.request.baseline, *one.request.candidates)
        )
        return [run for run in dict.fromkeys((*compared, *self.store.run_ids())) if run in has]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table without the columns that none of them fills."""
    used = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    return pa.Table.from_pylist([{name: row[name] for name in used} for row in rows])
