"""The per-cluster states of the compared runs: read as they were stored, computed where they were not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from evalframe.contracts import contracts
from evalframe.relations import Catalogue, plan
from evalframe.relations.layers import STAMPS

if TYPE_CHECKING:
    from evalframe.compare.sides import Side
    from evalframe.engines.duckdb import DuckDB
    from evalframe.store import Store


class Reader:
    """Evaluates relations for the compared runs from what the store keeps of them.

    Facts and states that were stored with the results are taken from there, everything else is computed from the
    contract tables, under the parameters of each side. tables: stand in for stored contract tables. relations: stand in
    for relations of that name. What is computed from either is never taken from the store.
    """

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        engine: DuckDB,
        tables: Mapping[str, pa.Table] | None = None,
        relations: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.engine = engine
        self._store = store
        self._tables = dict(tables or {})
        self._relations = dict(relations or {})

    def standing_in(self, relations: Mapping[str, pa.Table]) -> Reader:
        """The same reader with rows of its own for some relations."""
        return Reader(self._store, self.catalogue, self.engine, self._tables, {**self._relations, **relations})

    def read(self, outputs: Iterable[str], sides: Sequence[Side]) -> dict[str, pa.Table]:
        """The rows of the relations `outputs` of all `sides`, keyed by name; each keeps its run_id."""
        outputs = tuple(dict.fromkeys(outputs))
        alike: dict[tuple[tuple[str, str], ...], list[Side]] = {}
        for side in sides:
            alike.setdefault(tuple(sorted(side.parameters.items())), []).append(side)
        parts = [self._read(outputs, group) for group in alike.values()]
        return {name: pa.concat_tables([part[name] for part in parts]) for name in outputs}

    def table(self, name: str, runs: Sequence[str]) -> pa.Table:
        """The rows of a contract table that belong to `runs` or to their data sets."""
        if name in self._tables:
            return self._tables[name]
        return self._store.runs(runs) if name == "runs" else self._store.read(name, runs=runs)

    def columns(self, relation: str, sides: Sequence[Side]) -> tuple[str, ...]:
        """Names of the columns of a relation; nothing is computed."""
        given = self._given((relation,), sides)
        if relation in given:
            return tuple(name for name in contracts()[relation].names if name not in STAMPS)
        wanted = plan(self.catalogue, [relation], parameters=sides[0].parameters, given=given)
        self._bind(wanted.sources, given, sides)
        return tuple(self.engine.schema(wanted)[relation].names)

    def _read(self, outputs: tuple[str, ...], sides: Sequence[Side]) -> dict[str, pa.Table]:
        given = self._given(outputs, sides)
        found = {name: self._kept(name, sides) for name in outputs if name in given}
        if computed := [name for name in outputs if name not in given]:
            wanted = plan(self.catalogue, computed, parameters=sides[0].parameters, given=given)
            self._bind(wanted.sources, given, sides)
            found.update(self.engine.evaluate(wanted))
        return found

    def _bind(self, names: Sequence[str], given: frozenset[str], sides: Sequence[Side]) -> None:
        runs = [side.run_id for side in sides]
        for name in names:
            if name in self._relations:
                self.engine.bind(name, self._relations[name])
            elif name in given:
                prints = {side.fingerprint for side in sides}
                self.engine.bind(name, self._store.files(name, runs=runs, fingerprints=prints))
            elif name in self._tables or name == "runs":
                self.engine.bind(name, self.table(name, runs))
            else:
                self.engine.bind(name, self._store.files(name, runs=runs))

    def _kept(self, name: str, sides: Sequence[Side]) -> pa.Table:
        if name in self._relations:
            return self._relations[name]
        runs, prints = [side.run_id for side in sides], {side.fingerprint for side in sides}
        return self._store.read(name, runs=runs, fingerprints=prints).drop_columns(list(STAMPS))

    def _given(self, outputs: tuple[str, ...], sides: Sequence[Side]) -> frozenset[str]:
        """Relations below `outputs`, or among them, whose rows need not be computed."""
        stand_ins = frozenset(self._relations)
        if self._tables:
            return stand_ins
        known = contracts()
        stored = {
            relation.name
            for relation in self.catalogue.closure(*outputs)
            if relation.name in known
            and all(relation.name in side.kept for side in sides)
            and stand_ins.isdisjoint(one.name for one in self.catalogue.closure(relation.name))
        }
        return stand_ins | stored
