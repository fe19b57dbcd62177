"""One contract, every schema language: they must say the same."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import duckdb
import polars as pl
import pytest

from evalframe.contracts import Contract, conform, contract, contracts, describe, example, validate
from evalframe.errors import UnknownName
from tests.contracts.things import THINGS

ALL = [*contracts().values(), THINGS]


def test_an_unknown_table_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownName) as refusal:
        contract("class_prediction")
    assert "class_predictions" in refusal.value.expected
    assert "class_prediction" not in contracts()
    with pytest.raises(KeyError):
        contracts()["class_prediction"]


def test_a_contract_is_read_once_and_frozen() -> None:
    assert contract("runs") is contract("runs")
    with pytest.raises(FrozenInstanceError):
        contract("runs").name = "other"  # type: ignore[misc]
    assert hash(contract("runs"))


def test_importing_contracts_loads_no_engine() -> None:
    code = (
        "import sys, evalframe.contracts; print(sorted({'polars', 'scipy', 'duckdb', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("c", ALL, ids=lambda c: c.name)
def test_the_ddl_makes_the_same_table(c: Contract) -> None:
    with duckdb.connect() as db:
        db.execute(c.ddl())
        db.register("given", example(c))
        db.execute(f'INSERT INTO "{c.name}" BY NAME SELECT * FROM given')
        assert conform(c, db.sql(f'SELECT * FROM "{c.name}"').to_arrow_table()).equals(example(c))
        described = db.execute("SELECT comment FROM duckdb_columns() WHERE table_name = ?", [c.name]).fetchall()
        assert [text for (text,) in described] == [column.description for column in c.columns]
        [(table,)] = db.execute("SELECT comment FROM duckdb_tables()").fetchall()
        assert table == c.description


def test_the_ddl_refuses_nulls_where_the_contract_does() -> None:
    with duckdb.connect() as db:
        db.execute(contract("class_predictions").ddl())
        with pytest.raises(duckdb.ConstraintException):
            db.execute("INSERT INTO class_predictions VALUES (NULL, 0, 0)")


def test_text_in_ddl_is_quoted() -> None:
    odd = replace(THINGS, name='a"b', description="it's", columns=(replace(THINGS.columns[0], name='c"d'),))
    with duckdb.connect() as db:
        db.execute(odd.ddl())
        assert db.execute("SELECT comment FROM duckdb_tables()").fetchall() == [("it's",)]


@pytest.mark.parametrize("c", ALL, ids=lambda c: c.name)
def test_arrow_polars_and_contract_name_the_same_columns(c: Contract) -> None:
    assert tuple(c.arrow_schema().names) == c.names == tuple(c.polars_schema())
    assert pl.DataFrame(schema=c.polars_schema()).schema == c.polars_schema()
    assert pl.DataFrame(c.empty()).schema == c.polars_schema()
    assert [f.nullable for f in c.arrow_schema()] == [not column.required for column in c.columns]


def test_text_is_large_string_everywhere() -> None:
    for c in ALL:
        for field in c.arrow_schema():
            assert "string" not in str(field.type).replace("large_string", "")


# ---- semantics: what enters a fingerprint --------------------------------------------------------------------------


def test_prose_is_no_part_of_the_meaning() -> None:
    reworded = replace(
        THINGS,
        description="Other words.",
        limitations="Other words.",
        grain="other words",
        version="9.9.9",
        columns=tuple(replace(c, description="Other words.", examples=("other",)) for c in THINGS.columns),
    )
    assert reworded.semantics() == THINGS.semantics()
    assert json.loads(json.dumps(THINGS.semantics())) == THINGS.semantics()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"physical": "int64"},
        {"required": False},
        {"minimum": 1},
        {"maximum": 1},
        {"allowed": ("a",)},
        {"finite": False},
        {"element_required": False},
        {"min_items": 1},
        {"max_items": 1},
        {"present_when": ("kind", ("round",))},
    ],
    ids=str,
)
def test_every_rule_of_a_column_is_part_of_the_meaning(change: dict[str, object]) -> None:
    changed = replace(THINGS, columns=(replace(THINGS.columns[0], **change), *THINGS.columns[1:]))
    assert changed.semantics() != THINGS.semantics()


@pytest.mark.parametrize("change", [{"key": ("box",)}, {"uniques": ()}, {"references": ()}, {"name": "other"}], ids=str)
def test_keys_and_references_are_part_of_the_meaning(change: dict[str, object]) -> None:
    assert replace(THINGS, **change).semantics() != THINGS.semantics()


# ---- examples and descriptions -------------------------------------------------------------------------------------


def test_the_examples_of_all_tables_are_valid_and_refer_to_one_another() -> None:
    examples = {c.name: example(c) for c in contracts().values()}
    for c in contracts().values():
        report = validate(c, examples[c.name], examples)
        report.raise_for_failures()
        assert (report.n_rows, report.unchecked) == (3, ())


def test_an_example_shows_which_columns_may_be_null() -> None:
    last = example(contract("class_labels")).to_pylist()[-1]
    assert {name for name, value in last.items() if value is None} == {"sample_id", "time"}


def test_a_columns_own_examples_are_used() -> None:
    assert example(THINGS)["tags"].to_pylist() == [[("colour", "red")], [], None]


def test_a_description_says_everything_in_json() -> None:
    said = json.loads(json.dumps(describe(THINGS), allow_nan=False))
    assert said["key"] == ["box", "n"]
    assert said["rules"] == [
        "no two rows share box, n",
        "no two rows share box, label, nulls apart",
        "box, lid is found in boxes (box, lid)",
    ]
    rules = {c["name"]: c["rules"] for c in said["columns"]}
    assert rules["n"] == ["never null", "at least 0"]
    assert rules["kind"] == ["never null", "one of round, square"]
    assert rules["width"] == ["0 to 1", "a value exactly where kind is square"]
    assert rules["signal"] == ["NaN and infinities may stand"]
    assert rules["p"] == ["0 to 1", "2 to 3 elements"]
    assert rules["sold"] == []
    assert said["example"][0]["tags"] == {"colour": "red"}
    assert said["example"][0]["made"] == "2026-01-01T00:30:00+00:00"
    assert len(said["example"]) == 3


@pytest.mark.parametrize("name", contracts())
def test_every_table_can_be_described(name: str) -> None:
    said = json.loads(json.dumps(describe(contract(name)), allow_nan=False))
    assert [c["name"] for c in said["columns"]] == list(contract(name).names)
    assert all(set(row) == set(contract(name).names) for row in said["example"])
