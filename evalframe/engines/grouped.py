"""A plan over groups of rows: what groups can answer apart is asked of each, merged, and the rest computed from it.

Who answers for a group is left open: it may be another process on another machine. The SQL is the same text, counts are
whole numbers and sums decimals, so the values are those of one engine over all rows, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalframe.engines.duckdb import DuckDB
from evalframe.engines.pooling import pooled
from evalframe.engines.splitting import (
    Group,
    Split,
    cells_query,
    groups,
    merging,
    range_query,
    restrictions,
    splits,
)
from evalframe.relations.plan import Plan, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.contracts import Contract
    from evalframe.engines.base import Answers, Source
    from evalframe.relations.relation import Relation


@dataclass(frozen=True)
class Work:
    """What every group of a split has to do. files: tables that it reads from Parquet itself, with their contracts."""

    plan: Plan
    split: Split
    files: Mapping[str, tuple[Contract, tuple[Path, ...]]]


def answer(engine: DuckDB, work: Work, group: Group, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What one group of rows yields. tables: what is not read from files; they may hold rows of other groups."""
    conditions = {name: group.condition(column) for name, column in work.split.keys.items()}
    conditions.update(restrictions(work.split, {name: tables[name].column_names for name in work.split.before}, group))
    for name in work.plan.sources:
        held = f"all {name}" if name in conditions else name
        if name in work.files:
            declared, paths = work.files[name]
            engine.bind(held, paths, declared)
        else:
            engine.bind(held, tables[name])
    for name, condition in conditions.items():
        if name in work.plan.sources:
            engine.view(name, f"SELECT * FROM {quoted(f'all {name}')} WHERE {condition}")
    with engine.answering(work.plan):
        # In no order: what groups yield is put in order where it is merged, if at all.
        return {name: engine.query(f"SELECT * FROM {engine.source(name)}") for name in work.plan.outputs}


class Grouped(DuckDB, ABC):
    """DuckDB that has groups of rows answered apart, by `_answers`. See engines/base.py."""

    def __init__(self, memory_limit: str | None = None, threads: int | None = None) -> None:
        super().__init__(memory_limit, threads)
        self._paths: dict[str, tuple[Contract, tuple[Path, ...]]] = {}

    @abstractmethod
    def _answers(self, work: Work, groups: Sequence[Group]) -> Iterator[Mapping[str, pa.Table]]:
        """What each group yields, in any order."""

    @abstractmethod
    def _wanted(self, rows: int) -> int:
        """How many groups so many rows are worth."""

    def bind(self, name: str, source: Source, contract: Contract | None = None) -> None:
        """As DuckDB; a list of files is remembered, so that groups can read them where they are answered.

        A table that happens to be in files may be in a folder of this machine alone: its rows are sent.
        """
        from evalframe.contracts import contract as contract_of

        super().bind(name, source, contract)
        self._paths.pop(name, None)
        if isinstance(source, Sequence) and source:
            self._paths[name] = contract or contract_of(name), tuple(Path(path).resolve() for path in source)

    @contextmanager
    def answering(self, plan: Plan) -> Iterator[Answers]:
        """As DuckDB, from what groups answered where the plan can be divided."""
        self._require_bound(plan)
        divided = [split for split in splits(plan) if self._wanted(self._size(split)) > 1]
        if not divided:
            with super().answering(plan) as answers:
                yield answers
            return
        one_cluster, found = pooled(plan), set[str]()
        before = {name for split in divided for name in split.before}
        bound = set(self._bound)
        try:
            with super().answering(plan.part(before, frozenset(), one_cluster)) as first:
                shared = {name: first.table(name) for name in before}
            for name, table in shared.items():
                self._append(name, table)
            self._bound |= before
            for split in divided:
                work = self._work(plan.part(split.outputs, frozenset(before), one_cluster), split)
                for answered in self._answers(work, self._groups(split)):
                    for name, table in answered.items():
                        self._append(_PARTS + name, table)
                for name in split.outputs:
                    self._merge(next(relation for relation in plan.relations if relation.name == name), split)
                self._bound |= set(split.outputs)
                found |= set(split.outputs)
            rest = [name for name in plan.outputs if name not in found]
            # What the groups yielded stands beside the rest under its name, so that both are asked for alike.
            with super().answering(plan.part(rest, frozenset(before | found), one_cluster)):
                yield self.answers(plan)
        finally:
            self._bound = bound
            for name, kind in self._temporary([*before, *found, *(_PARTS + name for name in found)]):
                self._execute(f"DROP {kind} temp.{quoted(name)}", f"{name} cannot be dropped")

    def rows_of(self, group: Group, name: str, work: Work) -> pa.Table:
        """The rows of a group of a divided table that is not in files."""
        return self.query(f"SELECT * FROM {quoted(name)} WHERE {group.condition(work.split.keys[name])}")

    def _work(self, plan: Plan, split: Split) -> Work:
        return Work(plan, split, {name: self._paths[name] for name in plan.sources if name in self._paths})

    def _size(self, split: Split) -> int:
        """Rows of all divided tables together."""
        counts = " UNION ALL ".join(f"SELECT count(*) AS n FROM {quoted(name)}" for name in split.keys)
        ((rows,),) = self._values(f"SELECT sum(n) FROM ({counts}) AS counts")
        return int(rows)

    def _groups(self, split: Split) -> tuple[Group, ...]:
        ((low, high),) = self._values(range_query(split.keys))
        if low is None:
            return (Group(),)
        cells = self._values(cells_query(split.keys, low, high))
        return groups(cells, self._wanted(sum(n for _, n in cells)))

    def _append(self, name: str, table: pa.Table) -> None:
        """Add rows to a temporary table, which is made where there is none yet."""
        with self._registered(table) as rows:
            if self._temporary([name]):
                self._execute(f"INSERT INTO temp.{quoted(name)} SELECT * FROM {rows}", f"{name} cannot be kept")
            else:
                self._execute(f"CREATE TEMP TABLE {quoted(name)} AS SELECT * FROM {rows}", f"{name} cannot be kept")

    def _merge(self, relation: Relation, split: Split) -> None:
        """Make the relation's rows of what the groups yielded of it."""
        parts, name = f"temp.{quoted(_PARTS + relation.name)}", quoted(relation.name)
        types = dict(self._values(f"SELECT column_name, column_type FROM (DESCRIBE {parts})"))
        query = merging(relation, parts, types, set(split.keys.values()))
        if query is None:
            self._execute(f"ALTER TABLE {parts} RENAME TO {name}", f"{relation.name} cannot be kept")
        else:
            self._execute(f"CREATE TEMP TABLE {name} AS {query}", f"{relation.name} cannot be merged")
            self._execute(f"DROP TABLE {parts}", f"{relation.name} cannot be merged")


_PARTS = "parts of "
