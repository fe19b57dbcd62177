"""DuckDB that goes through large tables a part at a time, so that what a part yields is sorted within little memory.

An order over all rows would be kept on disk as wide as the rows are; dividing them first costs one compressed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from evalframe.engines.choosing import chosen
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.limits import limit_bytes, modest
from evalframe.engines.splitting import Group, cells_query, groups
from evalframe.relations.plan import literal, quoted
from evalframe.underway import counted

PART_ROWS = 1 << 19
"""Rows of a part at most, unless one value of the column has more."""

ROW_BYTES = 1 << 12
"""Memory for each row of a part: joined, sorted and handed over, a wide row is there several times."""

_PART = "part of"  # a column beside those of any table


class Dividing(DuckDB):
    """The engine of record within a modest share of memory."""

    def __init__(self) -> None:
        limit = modest(chosen().memory_limit)
        super().__init__(limit)
        self._part_rows = min(PART_ROWS, limit_bytes(limit) // ROW_BYTES)
        self._divisions = 0

    def parts(self, keys: Mapping[str, str]) -> Iterator[None]:
        """Bind tables to their rows of one range of values after another, in ascending order, null first.

        keys: text columns by the names of tables bound to files; equal values stand in one part. Where all rows are
        one part, nothing is copied. Afterwards the tables are no longer bound.
        """
        counted_rows = self.query(cells_query(keys, "", "")).to_pylist() if keys else []
        cells = [(row["start"], row["n"]) for row in counted_rows]
        ranges = groups(cells, -(-sum(n for _, n in cells) // self._part_rows) or 1)
        whole = len(ranges) == 1
        files = {} if whole else {name: self._divided(name, column, ranges) for name, column in keys.items()}
        for number in counted("parts", range(len(ranges))):
            for name, of_parts in files.items():
                self.bind(name, of_parts.get(number, []))
            yield
        self.unbind(*keys)

    def _divided(self, name: str, column: str, ranges: tuple[Group, ...]) -> dict[int, list[Path]]:
        """Copy a table into files of the spill folder; those of each part that has rows."""
        folder = self._spill.path / f"parts-{self._divisions}"
        self._divisions += 1
        cases = " ".join(f"WHEN {group.condition(column)} THEN {number}" for number, group in enumerate(ranges))
        self._execute(
            f"COPY (SELECT *, CASE {cases} END AS {quoted(_PART)} FROM {quoted(name)}) TO {literal(str(folder))}"
            f" (FORMAT parquet, PARTITION_BY ({quoted(_PART)}))",
            f"{name} cannot be divided",
        )
        found: dict[int, list[Path]] = {}
        for path in sorted(folder.rglob("*.parquet")):
            found.setdefault(int(path.parent.name.rpartition("=")[2]), []).append(path)
        return found
