"""Write a store's star schema where BI tools read it. `evalframe export` and `Store.export` call this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from evalframe.publish.star import star
from evalframe.publish.targets import Outcome, target
from evalframe.relations import catalogue
from evalframe.verbs.arguments import loosely
from evalframe.verbs.comparisons import REPLICATES, comparisons
from evalframe.verbs.results import Rows

if TYPE_CHECKING:
    from evalframe.store import Store


@dataclass(frozen=True, repr=False)
class Exported(Rows):
    """Rows per table of the export. `outcome`: unchanged where the target held the same content already."""

    to: str
    outcome: Outcome
    digest: str
    left_out: tuple[str, ...]

    def headlines(self) -> list[str]:
        """Where it went, and what it does not hold."""
        said = "wrote" if self.outcome == "written" else "unchanged:"
        return [f"{said} {self.to}  content {self.digest[:16]}", *self.left_out]


@loosely
def export(
    store: Store,
    to: str,
    *,
    baseline: str | None = None,
    compare: bool = True,
    replicates: int = REPLICATES,
    force: bool = False,
    database: str | None = None,
) -> Exported:
    """Export to `FILE.duckdb`, `KIND:PLACE` (parquet, csv, sqlite, hyper, delta, eee, superset) or `postgresql://...`.

    baseline: the run the others are compared with; default the oldest of each protocol and evaluation set. compare:
    False leaves only comparisons that are sealed in the store. force: replace another export. database: URI of what
    `superset:FILE.zip` reads, as Superset reaches it; default FILE.duckdb, written beside. Raises UsageError for
    another target, StoreConflict where something else is there, ExtraMissing where a target needs what is not
    installed, DatabaseRefused for PostgreSQL.
    """
    place = target(to, database)
    made = comparisons(store, baseline, replicates=replicates) if compare and place.compares else None
    with star(store, catalogue(), [one.table for one in made.comparisons] if made else []) as whole:
        outcome = place.write(whole, force=force)
        digest = whole.digest
        counts = pa.table(
            {
                "table": pa.array(whole.tables, pa.large_string()),
                "rows": pa.array([rows.num_rows for rows in whole.tables.values()], pa.int64()),
            }
        )
    sealed_only = ("comparisons: only those sealed in the store",) if place.compares else ("comparisons: none",)
    left_out = made.left_out if made else sealed_only
    return Exported(counts, place.shown, outcome, digest, left_out)
