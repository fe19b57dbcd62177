"""A fingerprint changes only on purpose: the change is a line in the diff of fingerprints.json."""

from __future__ import annotations

from evalframe.protocols import all_protocols
from evalframe.relations import catalogue
from tests.sql.goldens import GOLDENS, fingerprints, spelled


def test_fingerprints_are_those_on_record() -> None:
    assert spelled(fingerprints()) == GOLDENS.read_text(encoding="utf-8"), (
        "a metric's definition changed; if that is meant, run: python -m tests.sql.goldens"
    )


def test_every_metric_belongs_to_a_protocol() -> None:
    claimed = {metric for protocol in all_protocols() for metric in protocol.metrics}
    assert {relation.name for relation in catalogue().of_layer("metric")} - claimed == set()


def test_protocols_name_relations_that_exist() -> None:
    for protocol in all_protocols():
        named = {*protocol.metrics, *protocol.stored, protocol.items}
        assert named - set(catalogue().relations) == set(), protocol.label
        assert {catalogue()[metric].layer for metric in protocol.metrics} <= {"metric"}, protocol.label
        read = set(catalogue().parameters(*named))
        declared = {parameter.name for parameter in protocol.parameters}
        assert read <= declared, f"{protocol.label} does not set {sorted(read - declared)}"
