"""The per-cluster states of the compared runs: read as they were stored, computed where they were not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from evalframe.contracts import contracts
from evalframe.engines.duckdb import DuckDB
from evalframe.relations import Catalogue, plan

if TYPE_CHECKING:
    from evalframe.compare.sides import Side
    from evalframe.store import Store


class Reader:
    """Evaluates relations for the compared runs from what the store keeps of them.

    Facts and states that were stored with the results are taken from there, everything else is computed from the
    contract tables, under the parameters of each side. `replaced` holds tables that stand in for stored ones.
    """

    def __init__(
        self, store: Store, catalogue: Catalogue, engine: DuckDB, replaced: Mapping[str, pa.Table] | None = None
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._engine = engine
        self._replaced = dict(replaced or {})

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
        if name in self._replaced:
            return self._replaced[name]
        return self._store.runs(runs) if name == "runs" else self._store.read(name, runs=runs)

    def _read(self, outputs: tuple[str, ...], sides: Sequence[Side]) -> dict[str, pa.Table]:
        given = self._stored(outputs, sides)
        runs = [side.run_id for side in sides]
        prints = {side.fingerprint for side in sides}
        needed = plan(self._catalogue, outputs, parameters=sides[0].parameters, given=given)
        for name in needed.sources:
            if name in given:
                self._engine.bind(name, self._store.files(name, runs=runs, fingerprints=prints))
            elif name in self._replaced or name == "runs":
                self._engine.bind(name, self.table(name, runs))
            else:
                self._engine.bind(name, self._store.files(name, runs=runs))
        if computed := [name for name in outputs if name not in given]:
            found = self._engine.evaluate(plan(self._catalogue, computed, parameters=sides[0].parameters, given=given))
        else:
            found = {}
        for name in outputs:
            if name in given:
                found[name] = self._store.read(name, runs=runs, fingerprints=prints).drop_columns(
                    ["protocol", "protocol_fingerprint"]
                )
        return found

    def _stored(self, outputs: tuple[str, ...], sides: Sequence[Side]) -> frozenset[str]:
        """Relations below `outputs` (or among them) whose rows every side has stored; none where tables stand in."""
        if self._replaced:
            return frozenset()
        known = contracts()
        closure = self._catalogue.closure(*outputs)
        return frozenset(
            relation.name
            for relation in closure
            if relation.name in known and all(relation.name in side.kept for side in sides)
        )
