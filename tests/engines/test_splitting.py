"""How rows fall into groups: every value into exactly one, about equally many rows in each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.engines.duckdb import DuckDB
from evalframe.engines.splitting import Group, cells_query, groups, range_query, splits
from evalframe.relations import catalogue, plan
from tests.engines.systems import LABELS, system

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40), st.integers(0, 9)), max_size=40)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as made:
        yield made


@given(numbers=NUMBERS, wanted=st.integers(1, 9))
def test_every_row_is_in_exactly_one_group(engine: DuckDB, numbers: list[int | None], wanted: int) -> None:
    rows = ", ".join(f"({'NULL' if n is None else n}::BIGINT)" for n in (*numbers, None))
    engine.view("things", f"SELECT * FROM (VALUES {rows}) AS rows(k)")
    ends = engine.query(range_query({"things": "k"})).to_pylist()[0]
    made = (Group(),)
    if ends["low"] is not None:
        cells = engine.query(cells_query({"things": "k"}, ends["low"], ends["high"])).to_pylist()
        assert sum(cell["n"] for cell in cells) == sum(n is not None for n in numbers)
        made = groups([(cell["start"], cell["n"]) for cell in cells], wanted)
    conditions = " UNION ALL ".join(f"SELECT k FROM things WHERE {group.condition('k')}" for group in made)
    found = engine.query(conditions)["k"].to_pylist()
    assert 1 <= len(made) <= wanted
    assert sorted(found, key=repr) == sorted([*numbers, None], key=repr)


def test_groups_are_of_about_equal_size_and_never_more_than_wanted() -> None:
    assert groups([(i, 10) for i in range(10)], 5) == tuple(
        Group(low, high) for low, high in ((None, 2), (2, 4), (4, 6), (6, 8), (8, None))
    )
    assert groups([("a", 100), ("b", 1), ("c", 1)], 3) == (
        Group(None, "b"),
        Group("b", "c"),
        Group("c", None),
    )
    assert groups([("o'clock", 1)], 4) == (Group(),)
    assert Group("o'clock", None).condition("k") == "\"k\" >= 'o''clock'"


def test_one_pass_answers_all_that_is_divided_alike() -> None:
    (floor,) = splits(system("easycom-floor-pre-boundary/1").plan())
    assert floor.before == ("floor_cells", "floor_recordings", "floor_roles")
    assert floor.keys == {"floor_activity": "session_index", "floor_forecasts": "session_index"}
    first, second = splits(system("robometer-ood/1").plan())
    assert {*first.keys.values(), *second.keys.values()} == {"trajectory_index", "query_task"}


@pytest.mark.parametrize("label", LABELS)
def test_no_metric_of_a_protocol_is_left_without_a_divided_state(label: str) -> None:
    assert splits(system(label).plan())


def test_rows_that_were_stored_are_divided_too() -> None:
    stored = plan(
        catalogue(), ["class_confusion_by_cluster"], parameters={"failed": "wrong"}, given=frozenset({"class_outcomes"})
    )
    assert [split.keys for split in splits(stored)] == [{"class_outcomes": "item_index"}]
