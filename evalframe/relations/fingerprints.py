"""What a number is the answer to: the fingerprint of a metric, and of a protocol as the set of its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalframe.errors import UnknownName
from evalframe.identity import fingerprint
from evalframe.relations.catalogue import Catalogue


def metric_fingerprint(
    catalogue: Catalogue,
    metric: str,
    *,
    protocol: str,
    version: str,
    parameters: Mapping[str, str],
    vocabulary: Sequence[str] = (),
) -> str:
    """`ef1-` + 64 hex over what defines the number. `parameters`: the protocol's settings in canonical text."""
    return fingerprint(
        defining(catalogue, metric, protocol=protocol, version=version, parameters=parameters, vocabulary=vocabulary)
    )


def defining(
    catalogue: Catalogue,
    metric: str,
    *,
    protocol: str,
    version: str,
    parameters: Mapping[str, str],
    vocabulary: Sequence[str] = (),
) -> dict[str, Any]:
    """The JSON value that `metric_fingerprint` hashes.

    Of the settings only those that the metric's closure reads; of the relations their normalised SQL; of the contracts
    names, types and rules (a table of features says there which versions of its formulas it may hold). No prose.
    Raises UnknownName where the closure reads a parameter that is not set.
    """
    from evalframe.contracts import contract

    needed = catalogue.parameters(metric)
    if missing := [name for name in needed if name not in parameters]:
        raise UnknownName(
            f"{metric} reads parameters that {protocol}/{version} does not set",
            expected=", ".join(needed),
            found=f"no {', '.join(missing)}",
            hint=f"declare {missing[0]} in the protocol",
        )
    return {
        "protocol": {"name": protocol, "version": version},
        "metric": metric,
        "parameters": {name: parameters[name] for name in needed},
        "relations": {relation.name: relation.digest for relation in catalogue.closure(metric)},
        "contracts": [contract(name).semantics() for name in catalogue.tables(metric)],
        "vocabulary": list(vocabulary),
    }


def protocol_fingerprint(metric_fingerprints: Iterable[str]) -> str:
    """`ef1-` + 64 hex over the sorted metric fingerprints: printed and filed under, never compared."""
    return fingerprint(sorted(metric_fingerprints))
