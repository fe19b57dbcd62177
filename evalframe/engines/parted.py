"""DuckDB that answers tables of any length a part of their rows at a time, one after the other.

A join or a group of a part is no wider than the part; what parts yield is added up, and spilled where it is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalframe.engines.choosing import chosen
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.grouped import Grouped, Work, answer
from evalframe.engines.limits import limit_bytes, memory_share
from evalframe.engines.splitting import Group
from evalframe.relations.plan import literal, quoted
from evalframe.underway import counted

if TYPE_CHECKING:
    import pyarrow as pa

ROW_BYTES = 1 << 10
"""Memory that a row of a divided table may take while its part is answered. Groups of its own that need more spill."""


class Parted(Grouped):
    """The engine of record over parts of rows. See engines/base.py."""

    def _wanted(self, rows: int) -> int:
        """As many as half of the memory asks for; one value of the column is never divided."""
        return max(1, -(-rows * ROW_BYTES // limit_bytes(memory_share(chosen().memory_limit, 2))))

    def _answers(self, work: Work, groups: Sequence[Group]) -> Iterator[Mapping[str, pa.Table]]:
        held = [name for name in work.plan.sources if name not in work.files]
        shared = {name: self.query(f"SELECT * FROM {quoted(name)}") for name in held if name not in work.split.keys}
        divided = [name for name in held if name in work.split.keys]
        with self._half_of_memory() as half:
            for group in counted(f"groups of {' and '.join(sorted(set(work.split.keys.values())))}", groups):
                own = {name: self.rows_of(group, name, work) for name in divided}
                with DuckDB(half) as engine:
                    answered = answer(engine, work, group, {**shared, **own})
                yield answered

    @contextmanager
    def _half_of_memory(self) -> Iterator[str]:
        """Leave half of the memory to the engines of the parts: its amount."""
        whole, half = (memory_share(chosen().memory_limit, parts) for parts in (1, 2))
        self._execute(f"SET memory_limit = {literal(half)}", "memory cannot be shared")
        try:
            yield half
        finally:
            self._execute(f"SET memory_limit = {literal(whole)}", "memory cannot be shared")
