"""Which relations of a plan groups of rows can answer apart, and how rows fall into groups. Nothing runs here.

A relation says so itself (`split:` in its front matter): by which column its tables are divided. What stands below it
is computed in every group, but for relations that need all rows (`whole: true`): they are computed once, before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evalframe.relations.plan import Plan, literal, quoted
from evalframe.relations.relation import Relation

CELLS = 4096
"""Whole numbers are counted in so many equal cells; groups are made of cells."""

Bound = int | str


@dataclass(frozen=True)
class Split:
    """Relations that one pass over groups of rows answers.

    keys: the divided tables, each with its column. outputs: what groups yield. before: what is computed over all rows
    before that and given to the groups.
    """

    keys: Mapping[str, str]
    outputs: tuple[str, ...]
    before: tuple[str, ...]

    def agrees(self, keys: Mapping[str, str]) -> bool:
        """Whether relations divided by `keys` fall into the same groups."""
        shared = set(self.keys) & set(keys)
        return bool(shared) and all(self.keys[name] == keys[name] for name in shared)


@dataclass(frozen=True)
class Group:
    """Rows whose column is at least `low` and below `high`; None: no bound. The lowest group has the nulls."""

    low: Bound | None = None
    high: Bound | None = None

    def condition(self, column: str) -> str:
        """The rows of the group as an SQL condition on `column`."""
        name = quoted(column)
        above = None if self.low is None else f"{name} >= {_constant(self.low)}"
        below = None if self.high is None else f"{name} < {_constant(self.high)}"
        if above is None:
            return "TRUE" if below is None else f"({below} OR {name} IS NULL)"
        return above if below is None else f"{above} AND {below}"


def splits(plan: Plan) -> tuple[Split, ...]:
    """The splits of a plan, in the order in which its outputs meet them; none where nothing can be divided."""
    named = {relation.name: relation for relation in plan.relations}
    found: list[Split] = []
    seen: set[str] = set()
    queue = list(reversed(plan.outputs))
    while queue:
        name = queue.pop()
        if name in seen or name not in named:
            continue
        seen.add(name)
        relation = named[name]
        keys, before = _below(relation, named)
        if not keys:
            queue += reversed(relation.inputs)
            continue
        at = next((i for i, split in enumerate(found) if split.agrees(keys)), None)
        if at is None:
            found.append(Split(keys, (name,), before))
        else:
            old = found[at]
            beside = tuple(sorted({*old.before, *before}))
            found[at] = Split({**old.keys, **keys}, (*old.outputs, name), beside)
    return tuple(found)


def _below(relation: Relation, named: Mapping[str, Relation]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The tables below `relation` that it is divided by, with their columns, and the whole relations it stands on."""
    if relation.split is None:
        return {}, ()
    keys: dict[str, str] = {}
    before: dict[str, None] = {}
    queue, seen = [*relation.inputs], set()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in named:
            if name in relation.split:
                keys[name] = relation.split[name]
        elif named[name].whole:
            before[name] = None
        else:
            queue += named[name].inputs
    return keys, tuple(sorted(before)) if keys else ()


def range_query(keys: Mapping[str, str]) -> str:
    """A query for the least and the greatest value (low, high) of the divided columns over all their tables."""
    parts = (f"SELECT min({quoted(c)}) AS low, max({quoted(c)}) AS high FROM {quoted(t)}" for t, c in keys.items())
    return f"SELECT min(low) AS low, max(high) AS high FROM ({' UNION ALL '.join(parts)}) AS ends"


def cells_query(keys: Mapping[str, str], low: Bound, high: Bound) -> str:
    """A query for (start, n): where each cell of values that has rows starts, in order, and how many rows it has."""
    parts = []
    for table, column in keys.items():
        start = quoted(column)
        if isinstance(low, int) and isinstance(high, int):
            width = (high - low) // CELLS + 1
            start = f"(CAST({start} AS BIGINT) - {low}) // {width} * {width} + {low}"
        parts.append(f"SELECT {start} AS start, count(*) AS n FROM {quoted(table)} GROUP BY 1")
    whole = " UNION ALL ".join(parts)
    return (
        f"SELECT start, CAST(sum(n) AS BIGINT) AS n FROM ({whole}) AS cells WHERE start IS NOT NULL "
        "GROUP BY start ORDER BY start"
    )


def groups(cells: Sequence[tuple[Bound, int]], wanted: int) -> tuple[Group, ...]:
    """At most `wanted` groups of about equally many rows, which every value falls into, also one without rows."""
    total = sum(n for _, n in cells)
    starts: list[Bound] = []
    passed = 0
    for start, n in cells:
        # A group begins where the rows before it fill the groups before it.
        if passed and passed * wanted >= total * (len(starts) + 1) and len(starts) + 1 < wanted:
            starts.append(start)
        passed += n
    ends = [None, *starts, None]
    return tuple(Group(low, high) for low, high in pairwise(ends))


def restrictions(split: Split, columns: Mapping[str, Sequence[str]], group: Group) -> Iterator[tuple[str, str]]:
    """(relation, condition) for those of `split.before` of which a group needs only its own rows.

    columns: of each relation. Rows are told by the column that the tables are divided by, or else by their cluster: the
    clusters of a group are those that the former name.
    """
    divided = set(split.keys.values())
    if len(divided) != 1:
        return
    (column,) = divided
    by_column = [name for name in split.before if column in columns[name]]
    for name in by_column:
        yield name, group.condition(column)
    owners = [name for name in by_column if set(columns[name]) >= _CLUSTER]
    for name in split.before:
        if name not in by_column and owners and set(columns[name]) >= _CLUSTER:
            yield name, f"(run_id, cluster_id) IN (SELECT (run_id, cluster_id) FROM {quoted(owners[0])})"


_CLUSTER = {"run_id", "cluster_id"}


def merging(relation: Relation, parts: str, types: Mapping[str, str], divided: Collection[str]) -> str | None:
    """A query over the table `parts`, what groups yielded of `relation`, that adds up; None where no two rows do.

    types: the engine's type of every column. divided: the columns that tell groups apart.
    """
    if not relation.merge or set(divided) & set(relation.grain):
        return None
    columns = [
        f"CAST({relation.merge[name]}({quoted(name)}) AS {kind}) AS {quoted(name)}"
        if name in relation.merge
        else quoted(name)
        for name, kind in types.items()
    ]
    grain = ", ".join(quoted(column) for column in relation.grain)
    return f"SELECT {', '.join(columns)} FROM {parts} GROUP BY {grain}"


def _constant(value: Bound) -> str:
    return literal(value) if isinstance(value, str) else str(value)
