"""A metric's fingerprint changes with what defines the number and with nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import UnknownName
from evalframe.relations import Catalogue, metric_fingerprint, protocol_fingerprint
from evalframe.relations.explain import explanation
from evalframe.relations.fingerprints import defining
from tests.relations.writing import chain, write

UNDER: dict[str, Any] = {"protocol": "demo", "version": "1", "parameters": {"lowest": "1", "unread": "7"}}


def test_what_is_hashed(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    made_of = defining(graph, "hit_rate", **UNDER, vocabulary=("sit", "walk"))
    assert made_of["protocol"] == {"name": "demo", "version": "1"}
    assert made_of["parameters"] == {"lowest": "1"}
    assert made_of["relations"] == {name: graph[name].digest for name in ("hits", "hit_counts", "hit_rate")}
    assert [contract["name"] for contract in made_of["contracts"]] == ["class_predictions"]
    assert made_of["vocabulary"] == ["sit", "walk"]


def test_prose_and_unread_parameters_do_not_count(tmp_path: Path) -> None:
    before = metric_fingerprint(chain(tmp_path), "hit_rate", **UNDER)
    body = chain(tmp_path)["hits"].body
    write(tmp_path, "hits", f"-- a new comment\n{body}", definition="New words.", inputs=["class_predictions"],
          grain=["run_id", "cluster_id"], parameters=["lowest"])  # fmt: skip
    after = metric_fingerprint(Catalogue((tmp_path,)), "hit_rate", **{**UNDER, "parameters": {"lowest": "1"}})
    assert before == after
    assert before.startswith("ef1-")
    assert len(before) == 4 + 64


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": "other"},
        {"version": "2"},
        {"parameters": {"lowest": "2"}},
        {"vocabulary": ("walk", "sit")},
        {"vocabulary": ("sit", "walk", "lie")},
    ],
)
def test_every_defining_part_counts(tmp_path: Path, change: dict[str, Any]) -> None:
    graph = chain(tmp_path)
    given = {**UNDER, "vocabulary": ("sit", "walk")}
    assert metric_fingerprint(graph, "hit_rate", **{**given, **change}) != metric_fingerprint(
        graph, "hit_rate", **given
    )


def test_the_sql_of_any_relation_below_counts(tmp_path: Path) -> None:
    before = metric_fingerprint(chain(tmp_path), "hit_rate", **UNDER)
    body = chain(tmp_path)["hits"].body.replace(">=", ">")
    write(tmp_path, "hits", body, inputs=["class_predictions"], grain=["run_id", "cluster_id"], parameters=["lowest"])
    assert metric_fingerprint(Catalogue((tmp_path,)), "hit_rate", **UNDER) != before


def test_a_parameter_that_the_closure_reads_must_be_set(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="hit_rate reads parameters that demo/1 does not set"):
        metric_fingerprint(chain(tmp_path), "hit_rate", protocol="demo", version="1", parameters={})


def test_a_protocol_is_the_set_of_its_metrics() -> None:
    assert protocol_fingerprint(["ef1-b", "ef1-a"]) == protocol_fingerprint(iter(["ef1-a", "ef1-b"]))
    assert protocol_fingerprint(["ef1-a"]) != protocol_fingerprint(["ef1-a", "ef1-b"])


def test_an_explanation_holds_the_chain_and_what_was_hashed(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    explained = explanation(graph, "hit_rate", **UNDER)
    assert [(link.name, link.layer) for link in explained.chain] == [
        ("hits", "fact"),
        ("hit_counts", "state"),
        ("hit_rate", "metric"),
    ]
    assert explained.chain[1].reads == ("hits",)
    assert all("\n" not in link.definition for link in explained.chain)
    assert [(s.name, s.value, s.read_by) for s in explained.settings] == [("lowest", "1", ("hits",))]
    assert explained.readings == (("hit_rate", "Ours."),)
    assert explained.tables == ("class_predictions",)
    assert explained.fingerprint == metric_fingerprint(graph, "hit_rate", **UNDER)


def test_an_explanation_without_a_protocol_has_no_fingerprint(tmp_path: Path) -> None:
    explained = explanation(chain(tmp_path), "hit_rate")
    assert (explained.fingerprint, explained.defining) == (None, None)
    assert explained.settings[0].value is None
