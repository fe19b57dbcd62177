"""Protocols are found by their label, and what they name exists."""

from __future__ import annotations

import pytest

from evalframe.contracts import contracts
from evalframe.errors import UnknownName
from evalframe.protocols import Protocol, all_protocols, protocol
from evalframe.relations import catalogue

EVERY = pytest.mark.parametrize("one", all_protocols(), ids=lambda one: one.label)


def test_labels_are_distinct_and_sorted() -> None:
    labels = [one.label for one in all_protocols()]
    assert "wisp-har/1" in labels
    assert len(set(labels)) == len(labels)
    assert [one.name for one in all_protocols()] == sorted(one.name for one in all_protocols())


@EVERY
def test_a_protocol_is_found_by_its_label(one: Protocol) -> None:
    assert protocol(one.label) is one
    newest = [other for other in all_protocols() if other.name == one.name][-1]
    assert protocol(one.name) is newest


@pytest.mark.parametrize("label", ["wisp-har/2", "wisp", "", "wisp-har/"])
def test_an_unknown_label_is_refused_with_one_that_exists(label: str) -> None:
    with pytest.raises(UnknownName) as caught:
        protocol(label)
    hinted = caught.value.hint.removeprefix("evalframe explain ")
    assert protocol(hinted).label == hinted


@EVERY
def test_what_a_protocol_names_exists(one: Protocol) -> None:
    known = catalogue().relations
    assert [known[name].layer for name in one.metrics] == ["metric"] * len(one.metrics)
    assert set(one.primary) <= set(one.metrics)
    assert set(one.secondary) <= set(one.metrics)
    assert known[one.items].layer == "fact"
    assert {"run_id", "item_id", "label", "cluster_id", "stratum"} <= set(_columns(one.items))
    for name in one.stored:
        assert known[name].layer in ("fact", "state", "calibration")
        assert contracts()[name].names[:2] == ("protocol", "protocol_fingerprint")


@EVERY
def test_a_protocol_has_the_parameters_that_its_relations_read(one: Protocol) -> None:
    read = catalogue().parameters(*one.metrics, *one.stored, one.items)
    assert set(read) <= {parameter.name for parameter in one.parameters}


def _columns(relation: str) -> list[str]:
    from evalframe.engines.duckdb import DuckDB

    with DuckDB(threads=1) as engine:
        return [str(name) for name in engine.syntax(catalogue()[relation].body).columns]
