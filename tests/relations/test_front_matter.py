"""Front matter says everything or the file is refused, with the file and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import RelationError
from evalframe.relations.front_matter import read_relation
from tests.relations.writing import write


def test_everything_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "rate",
        "SELECT 1 AS run_id -- one",
        layer="metric",
        grain=["run_id", "stratum"],
        inputs=["counts"],
        parameters=["floor"],
        source="A paper, section 2",
        reading="Ours.",
        secondary=True,
        **{"not": "Not another rate."},
    )
    relation = read_relation(path)
    assert (relation.name, relation.layer, relation.grain) == ("rate", "metric", ("run_id", "stratum"))
    assert (relation.inputs, relation.parameters) == (("counts",), ("floor",))
    assert (relation.unit, relation.better, relation.denominator) == ("proportion", "higher", "data")
    assert (relation.not_, relation.source, relation.reading) == ("Not another rate.", "A paper, section 2", "Ours.")
    assert relation.secondary
    assert relation.body == "SELECT 1 AS run_id -- one"
    assert relation.path == path


def test_the_digest_is_of_the_body_alone(tmp_path: Path) -> None:
    one = read_relation(write(tmp_path, "a", "SELECT 1 AS run_id"))
    prose = read_relation(write(tmp_path, "a", "SELECT  1 -- one\nAS run_id", title="Other", definition="Other words."))
    other = read_relation(write(tmp_path, "a", "SELECT 2 AS run_id"))
    assert one.digest == prose.digest != other.digest


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"title": ...}, "lacks title", "a fact says name, layer, title"),
    ({"unit": "proportion"}, "unknown keys unit", "may say not, source, reading, materialize"),
    ({"tittle": "x"}, "unknown keys tittle", "a fact says"),
    ({"layer": "metrics"}, "layer is unknown", "fact or state"),
    ({"layer": ...}, "layer is unknown", "fact or state"),
    ({"layer": "state", "merge": ...}, "lacks merge", "a state says"),
    ({"layer": "metric", "unit": ...}, "lacks unit", "a metric says"),
    ({"title": 3}, "title is not text", "some text"),
    ({"title": " "}, "title is not text", "some text"),
    ({"inputs": "runs"}, "inputs is not a list", "[name, ...]"),
    ({"inputs": ["runs", "runs"]}, "repeats a name", "each name once"),
    ({"parameters": [True]}, "not a list of names", "[name, ...]"),
    ({"materialize": "yes"}, "not true or false", "true"),
    ({"split": ["runs"]}, "split does not say by what", "{table: column}"),
    ({"split": {}}, "split does not say by what", "{table: column}"),
    ({"layer": "metric", "better": "up"}, "better has no such value", "higher or lower or none"),
    ({"layer": "metric", "denominator": "both"}, "denominator has no such value", "data or model"),
    ({"layer": "state", "merge": {"n": "mean"}}, "how columns add up", "sum|min|max"),
    ({"layer": "state", "merge": {"run_id": "sum"}}, "both key and sum", "disjoint"),
    ({"layer": "metric", "grain": ["stratum", "run_id"]}, "grain of a metric", "in this order"),
    ({"layer": "metric", "grain": ["run_id", "participant"]}, "grain of a metric", "in this order"),
]


@pytest.mark.parametrize(("head", "what", "expected"), REFUSED)
def test_a_file_that_says_too_little_or_too_much_is_refused(
    tmp_path: Path, head: dict[str, Any], what: str, expected: str
) -> None:
    path = write(tmp_path, "a", "SELECT 1 AS run_id", **head)
    with pytest.raises(RelationError) as caught:
        read_relation(path)
    assert what in caught.value.what
    assert expected in caught.value.expected
    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "-- first\n/* ---\nname: a\n--- */\nSELECT 1",
        "/* ---\nname: a\n",
        "/* ---\nname: a: b\n--- */",
        "/* ---\n- a\n--- */",
    ],
)
def test_text_without_front_matter_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.sql"
    path.write_text(text)
    with pytest.raises(RelationError, match="front matter") as caught:
        read_relation(path)
    assert caught.value.where == str(path)


def test_a_relation_is_named_after_its_file(tmp_path: Path) -> None:
    moved = write(tmp_path, "a", "SELECT 1 AS run_id").rename(tmp_path / "b.sql")
    with pytest.raises(RelationError, match="named after its file") as caught:
        read_relation(moved)
    assert (caught.value.expected, caught.value.found) == ("name: b", "name: a")
