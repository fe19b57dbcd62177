"""What a metric means, as data: its prose, its chain in order, its parameters, what its fingerprint is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalframe.identity import fingerprint
from evalframe.relations.catalogue import Catalogue
from evalframe.relations.fingerprints import defining
from evalframe.relations.relation import Layer, Relation


@dataclass(frozen=True)
class Link:
    """One relation of the chain: `definition` is one line; `reads` are the relations and contract tables below it."""

    name: str
    layer: Layer
    definition: str
    grain: tuple[str, ...]
    reads: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class Setting:
    """One parameter that the chain reads: its value under the protocol and the relations that read it."""

    name: str
    value: str | None
    read_by: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """A relation explained. `fingerprint` and `defining` are None where no protocol was named."""

    relation: Relation
    chain: tuple[Link, ...]
    tables: tuple[str, ...]
    settings: tuple[Setting, ...]
    readings: tuple[tuple[str, str], ...]
    fingerprint: str | None
    defining: Mapping[str, Any] | None


def explanation(
    catalogue: Catalogue,
    name: str,
    *,
    protocol: str | None = None,
    version: str = "",
    parameters: Mapping[str, str] | None = None,
) -> Explanation:
    """Explain a relation of any layer; with a protocol and its settings, also its fingerprint and what made it.

    `readings` are the choices of ours along the chain, as (relation, text). Raises UnknownName for no such relation.
    """
    relation = catalogue[name]
    closure = catalogue.closure(name)
    values = dict(parameters or {})
    made_of = (
        None if protocol is None else defining(catalogue, name, protocol=protocol, version=version, parameters=values)
    )
    return Explanation(
        relation=relation,
        chain=tuple(_link(link) for link in closure),
        tables=catalogue.tables(name),
        settings=tuple(
            Setting(
                parameter,
                values.get(parameter),
                tuple(reader.name for reader in closure if parameter in reader.parameters),
            )
            for parameter in catalogue.parameters(name)
        ),
        readings=tuple((link.name, link.reading) for link in closure if link.reading),
        fingerprint=None if made_of is None else fingerprint(made_of),
        defining=made_of,
    )


def _link(relation: Relation) -> Link:
    return Link(
        name=relation.name,
        layer=relation.layer,
        definition=" ".join(relation.definition.split()),
        grain=relation.grain,
        reads=relation.inputs,
        digest=relation.digest,
    )
