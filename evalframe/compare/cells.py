"""Where a metric has a value: a stratum, and a horizon, recall or step where the metric has those."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Cell(NamedTuple):
    """One row of a metric apart from its run. A dimension that the metric does not have is None."""

    stratum: str
    horizon_s: float | None = None
    recall: float | None = None
    step: int | None = None


DIMENSIONS = Cell._fields


def cell_of(row: dict[str, object]) -> Cell:
    """The cell of a metric row given as a dictionary."""
    return Cell(row.get("stratum"), row.get("horizon_s"), row.get("recall"), row.get("step"))  # type: ignore[arg-type]


def rows_in(table: pa.Table, cell: Cell) -> pa.ChunkedArray | None:
    """A mask of the rows of `table` that lie in `cell`; None where all do because the table has no such column."""
    import pyarrow.compute as pc

    mask = None
    for name in DIMENSIONS:
        if name in table.column_names:
            wanted = getattr(cell, name)
            column = table[name]
            same = pc.is_null(column) if wanted is None else pc.fill_null(pc.equal(column, wanted), False)
            mask = same if mask is None else pc.and_(mask, same)
    return mask
