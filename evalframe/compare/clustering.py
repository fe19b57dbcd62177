"""`--cluster COLUMN`: other clusters than the protocol's, made from a column of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import Contract, contracts
from evalframe.errors import UsageError

if TYPE_CHECKING:
    from evalframe.compare.sides import Side
    from evalframe.compare.states import Reader
    from evalframe.protocols import Protocol


@dataclass(frozen=True)
class Clustering:
    """How the clusters change: facts whose rows carry new ones, or a new name for each cluster of a run."""

    facts: Mapping[str, pa.Table]
    renamed: Mapping[tuple[str, str], str]

    def read(self, reader: Reader, names: Sequence[str], sides: Sequence[Side]) -> dict[str, pa.Table]:
        """Relations with these clusters; rows of one cluster are merged when they are resampled."""
        found = reader.standing_in(self.facts).read(names, sides)
        return {name: self._renamed(table) if self.renamed else table for name, table in found.items()}

    def _renamed(self, table: pa.Table) -> pa.Table:
        pairs = zip(table["run_id"].to_pylist(), table["cluster_id"].to_pylist(), strict=True)
        names = pa.array([self.renamed.get(pair, pair[1]) for pair in pairs], pa.large_string())
        return table.set_column(table.schema.get_field_index("cluster_id"), "cluster_id", names)


def clustering(
    reader: Reader, protocol: Protocol, column: str, states: Sequence[str], sides: Sequence[Side]
) -> Clustering:
    """New clusters from `column` of the facts that carry clusters, of a table that says more about the same rows, or of
    any relation that tells it for each cluster of the protocol. A null keeps the cluster as it was.

    Raises UsageError where there is no such column, where no row tells it, or where one cluster would be in two.
    """
    closure = reader.catalogue.closure(*states)
    shapes = {r.name: reader.columns(r.name, sides) for r in closure if r.layer == "fact"}
    facts = _facts_with(reader, states, shapes, column, sides)
    if facts is not None:
        return Clustering(facts, {})
    for name, columns in shapes.items():
        key = next((key for key in ("cluster_id", protocol.cluster) if key in columns), None)
        if key is not None and column in columns:
            return Clustering({}, _names(_told(reader.read([name], sides)[name], column), key, column))
    known = sorted({each for columns in shapes.values() for each in columns})
    raise UsageError(
        f"there is no column {column!r} to cluster by",
        expected=", ".join(known),
        found=column,
        where="--cluster",
        hint=f"--cluster {protocol.cluster}, or leave it out",
    )


def _facts_with(
    reader: Reader, states: Sequence[str], shapes: Mapping[str, Sequence[str]], column: str, sides: Sequence[Side]
) -> dict[str, pa.Table] | None:
    """Facts with the new clusters, on every way from the states down to the tables; None where a way has none.

    What is computed from such a fact has its clusters from there.
    """
    found: dict[str, pa.Table] = {}

    def visit(name: str) -> bool:
        if name in found or name not in reader.catalogue.relations:
            return name in found
        if "cluster_id" in shapes.get(name, ()):
            rows = _with_column(reader, name, shapes[name], column, sides)
            if rows is not None:
                found[name] = _replaced(rows, column, shapes[name])
                return True
        carriers = [each for each in reader.catalogue[name].inputs if _carries(reader, each, shapes)]
        return bool(carriers) and all(visit(each) for each in carriers)

    return found if all(visit(state) for state in states) else None


def _carries(reader: Reader, name: str, shapes: Mapping[str, Sequence[str]]) -> bool:
    if name in shapes:
        return "cluster_id" in shapes[name]
    return name in reader.catalogue.relations and "cluster_id" in reader.catalogue[name].grain


def _with_column(
    reader: Reader, fact: str, columns: Sequence[str], column: str, sides: Sequence[Side]
) -> pa.Table | None:
    """The rows of `fact` with `column` among them: its own, or that of contract tables with the fact's grain."""
    if column in columns:
        return _told(reader.read([fact], sides)[fact], column)
    grain = list(reader.catalogue[fact].grain)
    runs = [side.run_id for side in sides]
    tables = [name for name in reader.catalogue.tables(fact) if name in contracts()]
    found = [told for name in tables if (told := _of_table(reader, contracts()[name], grain, column, runs)) is not None]
    if not found:
        return None
    rows = reader.read([fact], sides)[fact]
    named = [f"{column} {place}" for place in range(len(found))]  # rows of several runs may stand in several tables
    for name, values in zip(named, found, strict=True):
        types = pa.schema([*(rows.schema.field(key) for key in grain), values.schema.field(column).with_name(name)])
        told = values.rename_columns([*grain, name]).cast(types)
        rows = rows.join(told, keys=grain, join_type="left outer")
    return _told(rows.append_column(column, pc.coalesce(*(rows[name] for name in named))), column)


def _of_table(
    reader: Reader, table: Contract, grain: Sequence[str], column: str, runs: Sequence[str]
) -> pa.Table | None:
    """`grain` and `column` of a contract table, or of one that its rows refer to (choice_questions); None without."""
    if not set(grain) <= set(table.names):
        return None
    if _groups(table, column):
        return reader.table(table.name, runs).select([*grain, column])
    for reference in table.references:
        other = contracts()[reference.table]
        if _groups(other, column):
            here = list(reference.columns)
            rows = reader.table(table.name, runs).select(list(dict.fromkeys([*grain, *here])))
            told = reader.table(other.name, runs).select([*reference.to_columns, column])
            return rows.join(told, keys=here, right_keys=list(reference.to_columns)).select([*grain, column])
    return None


def _groups(table: Contract, column: str) -> bool:
    """Whether the table has such a column, and one whose values are single."""
    return any(each.name == column and "<" not in each.physical for each in table.columns)


def _told(rows: pa.Table, column: str) -> pa.Table:
    """The rows, of which some tell the column: where none does, the clusters would keep theirs under another name."""
    kind = rows.schema.field(column).type
    if pa.types.is_nested(kind):
        raise _makes_no_clusters(column, "it holds lists", str(kind))
    if len(rows) and rows[column].null_count == len(rows):
        raise _makes_no_clusters(column, "it is empty in every row of these runs", f"{len(rows)} rows without {column}")
    return rows


def _makes_no_clusters(column: str, why: str, found: str) -> UsageError:
    return UsageError(
        f"{column} makes no clusters: {why}",
        expected="a column that says which items belong together",
        found=found,
        where="--cluster",
        hint="leave out --cluster",
    )


def _replaced(rows: pa.Table, column: str, columns: Sequence[str]) -> pa.Table:
    text = rows[column].cast(pa.large_string())
    clusters = pc.coalesce(text, rows["cluster_id"].cast(pa.large_string()))
    return rows.set_column(rows.schema.get_field_index("cluster_id"), "cluster_id", clusters).select(list(columns))


def _names(rows: pa.Table, key: str, column: str) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    distinct = rows.select(["run_id", key, column]).group_by(["run_id", key, column]).aggregate([])
    for run, cluster, value in zip(*(distinct[name].to_pylist() for name in ("run_id", key, column)), strict=True):
        name = cluster if value is None else str(value)
        if found.setdefault((run, cluster), name) != name:
            raise UsageError(
                f"{column} does not make clusters: one {key} would be in two",
                expected=f"one {column} for each {key}",
                found=f"{cluster}: {found[run, cluster]} and {name}",
                where="--cluster",
                hint="name a column that is the same for all of it",
            )
    return found
