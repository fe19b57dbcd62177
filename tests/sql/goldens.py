"""The fingerprint of every metric under every protocol's defaults: `python -m tests.sql.goldens` writes them anew.

A changed line in fingerprints.json is a number that is no longer comparable with those stored before.
"""

from __future__ import annotations

import json
from pathlib import Path

from evalframe.protocols import all_protocols
from evalframe.protocols.base import Protocol
from evalframe.relations import catalogue, metric_fingerprint

GOLDENS = Path(__file__).with_name("fingerprints.json")

VOCABULARY = ("first", "second")
"""Stands in for a run's own classes where a metric reads the vocabulary."""


def fingerprints() -> dict[str, dict[str, str]]:
    """protocol/version -> metric -> fingerprint."""
    return {
        protocol.label: {metric: _fingerprint(protocol, metric) for metric in protocol.metrics}
        for protocol in all_protocols()
    }


def _fingerprint(protocol: Protocol, metric: str) -> str:
    return metric_fingerprint(
        catalogue(),
        metric,
        protocol=protocol.name,
        version=protocol.version,
        parameters=protocol.settings(),
        vocabulary=VOCABULARY if "class_vocabulary" in catalogue().tables(metric) else (),
    )


def spelled(found: dict[str, dict[str, str]]) -> str:
    """One line a fingerprint, so that a diff shows each."""
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    GOLDENS.write_text(spelled(fingerprints()), encoding="utf-8")
