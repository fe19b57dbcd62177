"""What every verb returns: an Arrow table that knows how to show itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.errors import printable
from evalframe.verbs import drawing

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Rows:
    """A result table. `to_arrow()` and `to_polars()` keep full precision; `repr` and notebooks show it rounded."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`."""
        return self.table

    def to_polars(self) -> pl.DataFrame:
        """The rows as a `polars.DataFrame`."""
        import polars as pl

        return pl.DataFrame(self.table)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def headlines(self) -> list[str]:
        """Lines that stand above the rows when they are shown."""
        return []

    def shown(self) -> pa.Table:
        """The columns that people are shown."""
        return self.table

    def screen(self) -> pa.Table:
        """The columns of a terminal, the most telling first: those shown, unless there is a shorter way to say them."""
        return self.shown()

    def closing(self) -> list[str]:
        """Lines that stand below the rows in a terminal."""
        return self.legend()

    def paper(self) -> pa.Table:
        """The columns of a paper's table: those shown, with the marks that `legend` explains."""
        return self.shown()

    def legend(self) -> list[str]:
        """What the marks of `paper` mean, each with the method that gave it."""
        return []

    def specs(self) -> dict[str, Any]:
        """Charts as Vega-Lite specifications by caption; none for results that are read as tables."""
        return {}

    def chart(self) -> Any:
        """An `altair.Chart` of the result, for notebooks. Raises ExtraMissing without the extra `report`."""
        from evalframe.verbs.plots import chart

        return chart(self.specs())

    def __repr__(self) -> str:
        return "\n".join([*map(printable, self.headlines()), drawing.table(self.shown())])

    def _repr_html_(self) -> str:
        return drawing.html_page(self.paper(), self.headlines(), self.legend())
