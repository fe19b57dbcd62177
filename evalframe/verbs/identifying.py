"""What a set of numbers is the answer to: a protocol under settings, with the fingerprint of each of its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from evalframe.contracts.shards import whole
from evalframe.relations import Catalogue, metric_fingerprint, protocol_fingerprint

if TYPE_CHECKING:
    from evalframe.contracts.shards import Rows
    from evalframe.protocols.base import Protocol


@dataclass(frozen=True)
class Identity:
    """What a set of numbers is the answer to. metric_fingerprints: by relation. published: the name that each
    relation's metric has outside."""

    protocol: Protocol
    parameters: Mapping[str, str]
    metric_fingerprints: Mapping[str, str]
    published: Mapping[str, str]

    @property
    def published_fingerprints(self) -> dict[str, str]:
        """The metric fingerprints by the names under which the values are published."""
        return {self.published[metric]: fingerprint for metric, fingerprint in self.metric_fingerprints.items()}

    @cached_property
    def fingerprint(self) -> str:
        """The protocol fingerprint: printed and filed under, while comparisons look at each metric's own."""
        return protocol_fingerprint(self.metric_fingerprints.values())

    def to_json(self) -> dict[str, str]:
        """The `protocol` object of every JSON output."""
        return {"name": self.protocol.name, "version": self.protocol.version, "fingerprint": self.fingerprint}


def identify(
    protocol: Protocol,
    settings: Mapping[str, str],
    relations: Catalogue,
    vocabulary: Sequence[str],
    own: Sequence[str] = (),
) -> Identity:
    """The fingerprints of every metric of `protocol`, and of the user's `own`, under `settings` (canonical text)."""
    prints = {
        metric: metric_fingerprint(
            relations,
            metric,
            protocol=protocol.name,
            version=protocol.version,
            parameters=settings,
            vocabulary=tuple(vocabulary) if "class_vocabulary" in relations.tables(metric) else (),
        )
        for metric in (*protocol.metrics, *own)
    }
    return Identity(protocol, settings, prints, {metric: relations.relations[metric].published for metric in prints})


def vocabulary_of(tables: Mapping[str, Rows]) -> list[str]:
    """The ordered class names of a run that has a vocabulary, else none."""
    if "class_vocabulary" not in tables:
        return []
    rows = whole(tables["class_vocabulary"])
    pairs = zip(rows["class_index"].to_pylist(), rows["class"].to_pylist(), strict=True)
    return [str(name) for _, name in sorted(pairs, key=lambda pair: pair[0])]
