"""Which relations need not be computed again over a store of many runs: their rows were sealed with the results.

They are taken where every run that has something to compute them from has results under the fingerprint that the
installed definitions give it now. The fingerprint covers the SQL of the relation with all below it, the parameters it
reads and the vocabulary, so what was sealed is what would be computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from evalframe.contracts import contracts
from evalframe.protocols import default_protocols

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue
    from evalframe.store import Store

MANY = 64
"""Of so many runs and fewer the predictions are read as fast."""

_VOCABULARIES = 16
"""Results under more fingerprints than that are not looked into one by one."""


class Sealed(NamedTuple):
    """Rows of a relation: the fingerprints under which they stand, and all runs that would have any."""

    fingerprints: frozenset[str]
    runs: frozenset[str]


class SealedRows:
    """What a store holds of relations, as it is when asked. runs: look at these alone."""

    def __init__(self, store: Store, relations: Catalogue, runs: Collection[str] | None = None) -> None:
        self._store, self._relations, self._runs = store, relations, runs

    def usable(self, outputs: Collection[str], parameters: Mapping[str, str]) -> dict[str, Sealed]:
        """Relations below `outputs` whose rows may be taken as sealed."""
        found: dict[str, Sealed] = {}
        if not outputs or len(self._store.run_ids() if self._runs is None else self._runs) <= MANY:
            return found
        scored = self._store.scored(self._runs)
        for relation in self._relations.closure(*outputs):
            keeper = self._keeper(relation.name, parameters)
            if keeper is None:
                continue
            prints = self._current(keeper, scored)
            runs = self._holders(relation.name)
            if runs <= _runs_under(scored, prints):
                found[relation.name] = Sealed(prints, runs)
        return found

    def stand(self, found: Mapping[str, Sealed]) -> bool:
        """Whether the runs are still those: another may have been sealed, or withdrawn, in the meantime."""
        return all(self._holders(relation) == sealed.runs for relation, sealed in found.items())

    def _holders(self, relation: str) -> frozenset[str]:
        """The runs that have something to compute a relation from."""
        tables = self._relations.tables(relation)
        return frozenset[str]().union(*(self._store.holders(table, self._runs) for table in tables))

    def _keeper(self, relation: str, parameters: Mapping[str, str]) -> Protocol | None:
        """The protocol whose fingerprints cover a relation that it seals, where its settings are `parameters`."""
        if relation not in contracts():
            return None
        keepers = [protocol for protocol in default_protocols() if relation in protocol.stored]
        if len(keepers) != 1:
            return None
        (keeper,) = keepers
        settings = keeper.settings()
        alike = all(parameters[name] == settings.get(name) for name in self._relations.parameters(relation))
        covered = any(relation == each.name for each in self._relations.closure(*keeper.metrics))
        return keeper if alike and covered else None

    def _current(self, protocol: Protocol, scored: pa.Table) -> frozenset[str]:
        """Fingerprints of results that the installed definitions would give again under default settings."""
        from evalframe.verbs.identifying import identify, vocabulary_of

        runs = {
            row["protocol_fingerprint"]: row["run_id"]
            for row in scored.select(["protocol", "protocol_fingerprint", "run_id"]).to_pylist()
            if row["protocol"] == protocol.label
        }
        if len(runs) > _VOCABULARIES:
            return frozenset()
        found = set()
        for fingerprint, run_id in runs.items():
            tables = [name for name in self._store.run(run_id).contracts if name != "runs"]
            words = {name: self._store.read(name, [run_id]) for name in tables if name == "class_vocabulary"}
            own = self._relations.own_metrics(tables)
            now = identify(protocol, protocol.settings(), self._relations, vocabulary_of(words), own)
            if now.fingerprint == fingerprint:
                found.add(fingerprint)
        return frozenset(found)


def _runs_under(scored: pa.Table, prints: frozenset[str]) -> frozenset[str]:
    rows = scored.select(["protocol_fingerprint", "run_id"]).to_pylist()
    return frozenset(row["run_id"] for row in rows if row["protocol_fingerprint"] in prints)
