"""What two runs differ in: system, data set, tags, inputs, protocols, parameters. What is equal is not shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.verbs.results import Rows

if TYPE_CHECKING:
    from evalframe.store import Store

_SCHEMA = pa.schema([("field", pa.large_string()), ("a", pa.large_string()), ("b", pa.large_string())])


@dataclass(frozen=True, repr=False)
class Differences(Rows):
    """One row per field that differs; null where a run has no such field."""

    runs: tuple[str, str]

    def headlines(self) -> list[str]:
        """Which run is which, and that nothing differs where nothing does."""
        named = [f"a: {self.runs[0]}", f"b: {self.runs[1]}"]
        return [*named, "nothing differs"] if not len(self.table) else named


def differing(store: Store, a: str, b: str) -> Differences:
    """The fields in which runs `a` and `b` differ, by name. Raises UnknownName for a run that is not there."""
    sides = [dict(_fields(store, run)) for run in (a, b)]
    rows = [
        {"field": name, "a": sides[0].get(name), "b": sides[1].get(name)}
        for name in sorted({*sides[0], *sides[1]})
        if sides[0].get(name) != sides[1].get(name)
    ]
    return Differences(pa.Table.from_pylist(rows, schema=_SCHEMA), (a, b))


def _fields(store: Store, run: str) -> Iterator[tuple[str, str]]:
    """Dotted names of what a run is made from, with values as text. Time is left out: it differs always."""
    (row,) = store.runs([run]).to_pylist()
    yield "system", row["system"]
    yield from _leaves("dataset_id", row["dataset_id"])
    yield from _leaves("tags", dict(row["tags"]))
    yield from _leaves("inputs", json.loads(row["inputs"]))
    scored = store.scored([run]).to_pylist()
    newest = {row["protocol"]: row["protocol_fingerprint"] for row in sorted(scored, key=lambda row: row["created_at"])}
    given = store.read("protocol_parameters", runs=[run]).to_pylist() if newest else []
    for protocol, fingerprint in newest.items():
        yield f"protocols.{protocol}", fingerprint
        for parameter in given:
            if parameter["protocol_fingerprint"] == fingerprint:
                yield f"parameters.{protocol}.{parameter['name']}", parameter["value"]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Values inside objects by dotted name; a list is one value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
