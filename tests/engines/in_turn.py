"""An engine that answers groups one after the other, as a cluster does at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa

from evalframe.engines.duckdb import DuckDB
from evalframe.engines.grouped import Grouped, Work, answer
from evalframe.engines.splitting import Group

Answer = Mapping[str, pa.Table]


class InTurn(Grouped):
    """groups: so many are wanted, whatever the rows. seen: groups that were answered."""

    def __init__(self, groups: int) -> None:
        super().__init__(threads=1)
        self.groups, self.seen = groups, 0

    def _wanted(self, rows: int) -> int:
        return self.groups

    def _answers(self, work: Work, groups: Sequence[Group]) -> Iterator[Answer]:
        read = [name for name in work.plan.sources if name not in work.files]
        tables = {name: self.query(f'SELECT * FROM "{name}"') for name in read}

        def answered(group: Group) -> Answer:
            self.seen += 1
            with DuckDB(threads=1) as engine:  # of its own, as each worker has one
                return answer(engine, work, group, tables)

        for group in self.ordered(groups):
            yield self.told(partial(answered, group))

    def ordered(self, groups: Sequence[Group]) -> Iterable[Group]:
        """The order in which they are answered."""
        return groups

    def told(self, answered: Callable[[], Answer]) -> Answer:
        """One answer; a place to count what it costs."""
        return answered()
