"""The SQL of marked answers gives what a loop gives, for any marks, tasks and failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from evalframe.sources.marks import Mark, mark_tables
from tests.oracles.answers import Answer, Count, accuracy

RULES = protocol("kev-answers/1")
MARKS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]), st.sampled_from([None, "t", "u"]), st.sampled_from([True, False, None, "x"])
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as one:
        yield one


@pytest.mark.parametrize("failed", ["wrong", "excluded"])
@settings(max_examples=25)
@given(drawn=MARKS)
def test_the_sql_counts_as_a_loop_does(
    engine: DuckDB, failed: Literal["wrong", "excluded"], drawn: list[tuple]
) -> None:
    marks = [
        Mark(item, place + 1, task, None, "m", None if mark == "x" else mark, "failed" if mark == "x" else None)
        for place, (item, task, mark) in enumerate(drawn)
    ]
    _, tables = mark_tables(marks, "r", "drawn")
    engine.bind("answer_marks", tables["answer_marks"])
    wanted = plan(catalogue(), RULES.metrics, parameters=RULES.settings({"failed": failed}))
    rows = engine.evaluate(wanted)["answer_accuracy"].to_pylist()
    expected = accuracy([Answer(m.task, m.correct, m.error is not None) for m in marks], failed)
    assert {
        row["stratum"]: Count(row["value"], row["numerator"], row["denominator"], row["n_items"], row["n_failed"])
        for row in rows
    } == expected
    assert all(row["n_items"] - row["n_excluded"] == row["denominator"] for row in rows)
