"""Columns as JSON holds them: what a value becomes is said by its type."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import evalframe
from evalframe.errors import UsageError
from evalframe.verbs import demo_data, drawing
from evalframe.verbs.cells import jsonable, listed

_TAGS = pa.map_(pa.large_string(), pa.large_string())


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([{}, {"a": "b"}, None], _TAGS, [{}, {"a": "b"}, None]),
        ([[{}], []], pa.list_(_TAGS), [[{}], []]),
        ([[("a", float("nan"))]], pa.map_(pa.string(), pa.float64()), [{"a": None}]),
        ([{"m": {}, "d": 0.5}], pa.struct([("m", _TAGS), ("d", pa.float64())]), [{"m": {}, "d": 0.5}]),
        ([Decimal(2**70), None], pa.decimal128(38, 0), [2**70, None]),
        ([Decimal("-0.5")], pa.decimal128(2, 1), [-0.5]),
        ([Decimal("0.1")], pa.decimal128(38, 15), [0.1]),
        ([pa.MonthDayNano([1, -2, 1_500_000_000])], pa.month_day_nano_interval(), ["P1M-2DT1.5S"]),
        ([datetime.date(2026, 1, 1)], pa.date32(), ["2026-01-01"]),
        ([1_577_836_800_123_456_789], pa.timestamp("ns"), ["2020-01-01 00:00:00.123456789"]),
        ([[1_577_836_800_123_456_789]], pa.list_(pa.timestamp("ns")), [["2020-01-01 00:00:00.123456789"]]),
        ([b"\x00\xff"], pa.large_binary(), ["AP8="]),
        (["a", None, "a"], pa.dictionary(pa.int8(), pa.string()), ["a", None, "a"]),
    ],
)
def test_the_type_of_a_column_says_what_its_values_become(values: list[Any], kind: pa.DataType, expected: Any) -> None:
    found = jsonable(pa.chunked_array([pa.array(values, type=kind)]))
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]
    json.dumps(found, allow_nan=False)


def test_csv_keeps_every_digit_of_a_decimal_and_a_negative_one_is_no_formula() -> None:
    exact = pa.array([Decimal("-12345678901234567890.123456789012345")], pa.decimal128(38, 15))
    assert drawing.csv(pa.table({"sum": exact})) == "sum\n-12345678901234567890.123456789012345\n"


@pytest.mark.parametrize("draw", [drawing.table, drawing.markdown, drawing.html, drawing.csv, drawing.rows])
def test_a_time_outside_the_calendar_is_refused_not_shown_as_another(draw: Any) -> None:
    far = pa.array([2**31 - 1], pa.int32()).cast(pa.date32())
    with pytest.raises(UsageError, match="cannot be shown"):
        draw(pa.table({"day": far}))


def test_a_page_keeps_columns_of_one_name() -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert '<td class="n">1</td><td class="n">2</td>' in drawing.html(twice)
    assert [listed(column) for column in twice.itercolumns()] == [[1], [2]]


def test_columns_of_one_name_are_told_apart_and_a_run_without_tags_has_an_empty_map(tmp_path: Path) -> None:
    predictions = tmp_path / "a.npz"
    predictions.write_bytes(demo_data.windows(skill=0.7, seed=1))
    evalframe.wisp.score(predictions, store=tmp_path / "store")
    answer = evalframe.open(tmp_path / "store").sql(
        "SELECT a.run_id, b.run_id, a.tags, b.run_id AS run_id_1, sum(1) AS n FROM runs a, runs b GROUP BY ALL"
    )
    assert drawing.rows(answer.table) == [{"run_id": "a", "run_id_1": "a", "tags": {}, "run_id_1_1": "a", "n": 1}]
