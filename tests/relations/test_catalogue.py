"""The graph: closure in order, tables, parameters, the states a bootstrap resamples, users' folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.errors import RelationError, UnknownName
from evalframe.relations import Catalogue, catalogue
from tests.relations.writing import chain, write


def names(relations: object) -> list[str]:
    return [relation.name for relation in relations]  # type: ignore[attr-defined]


def test_a_closure_lists_each_relation_once_after_its_inputs(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    assert names(graph.closure("hit_rate", "hits")) == ["hits", "hit_counts", "hit_rate"]


def test_what_is_given_is_not_entered(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    given = frozenset({"hit_counts"})
    assert names(graph.closure("hit_rate", given=given)) == ["hit_rate"]
    assert graph.tables("hit_rate", given=given) == ()


def test_tables_and_parameters_of_a_closure(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    assert graph.tables("hit_rate") == ("class_predictions",)
    assert graph.parameters("hit_rate") == ("lowest",)


def test_cluster_states_cut_every_path_to_a_fact(tmp_path: Path) -> None:
    graph = chain(tmp_path)
    write(tmp_path, "totals", "SELECT 1", layer="state", inputs=["hit_counts"], grain=["run_id"])
    write(tmp_path, "mean_hits", "SELECT 1", layer="metric", inputs=["totals", "hit_rate", "class_vocabulary"])
    graph = Catalogue((tmp_path,))
    assert names(graph.cluster_states("mean_hits")) == ["hit_counts"]


def test_a_metric_that_reaches_rows_beside_its_states_is_refused(tmp_path: Path) -> None:
    chain(tmp_path)
    write(tmp_path, "totals", "SELECT 1", layer="state", inputs=["hits"], grain=["run_id"])
    write(tmp_path, "both", "SELECT 1", layer="metric", inputs=["totals", "hit_counts"])
    with pytest.raises(RelationError, match="rows that no per-cluster state holds"):
        Catalogue((tmp_path,)).cluster_states("both")


def test_a_circle_is_refused_and_shown(tmp_path: Path) -> None:
    write(tmp_path, "a", "SELECT 1", inputs=["b"])
    write(tmp_path, "b", "SELECT 1", inputs=["c"])
    write(tmp_path, "c", "SELECT 1", inputs=["b"])
    with pytest.raises(RelationError, match="circle") as caught:
        Catalogue((tmp_path,)).closure("a")
    assert caught.value.found == "b -> c -> b"


def test_an_unknown_name_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        chain(tmp_path).closure("hit_rates")
    assert "hit_rate" in caught.value.expected


def test_a_user_adds_relations_but_never_replaces_one(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "yours").mkdir()
    write(tmp_path / "mine", "my_fact", "SELECT 1")
    assert "my_fact" in catalogue(tmp_path / "mine").relations
    assert "my_fact" not in catalogue().relations
    write(tmp_path / "yours", "my_fact", "SELECT 2")
    with pytest.raises(RelationError, match="my_fact exists already") as caught:
        catalogue(tmp_path / "mine", tmp_path / "yours")
    assert str(tmp_path / "yours" / "my_fact.sql") in caught.value.found


def test_no_relation_takes_the_name_of_the_parameters(tmp_path: Path) -> None:
    write(tmp_path, "protocol_parameters", "SELECT 1")
    with pytest.raises(RelationError, match="the plan's own view"):
        catalogue(tmp_path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RelationError, match="does not exist"):
        catalogue(tmp_path / "nowhere")


def test_a_file_is_read_only_when_its_relation_is_asked_for(tmp_path: Path) -> None:
    chain(tmp_path)
    (tmp_path / "broken.sql").write_text("no front matter")
    graph = Catalogue((tmp_path,))
    assert "broken" in graph.relations
    assert names(graph.closure("hit_rate")) == ["hits", "hit_counts", "hit_rate"]
    with pytest.raises(RelationError):
        graph.of_layer("metric")
