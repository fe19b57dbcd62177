"""Types before an export: what comes out is one of few, and no value changes on the way without a word."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from evalframe.publish.normalising import SAFE, SHOWN_NUL, bi_safe

UTC = datetime.UTC


@pytest.mark.parametrize(
    ("given", "kind", "wanted"),
    [
        (pa.array([1, None], pa.uint64()), pa.int64(), [1, None]),
        (pa.array([1], pa.uint32()), pa.int64(), [1]),
        (pa.array([1], pa.int8()), pa.int16(), [1]),
        (pa.array([1.5, np.nan, np.inf, None]), pa.float64(), [1.5, None, None, None]),
        (pa.array([np.float16(0.5)]), pa.float64(), [0.5]),
        (pa.array([decimal.Decimal("1.5")], pa.decimal128(38, 15)), pa.float64(), [1.5]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string(), ["a", "b", "a"]),
        (pa.array([7, 9]).dictionary_encode(), pa.int64(), [7, 9]),
        (pa.array(["a\x00b", "", None], pa.large_string()), pa.string(), [f"a{SHOWN_NUL}b", "", None]),
        (pa.array(["x"], pa.string_view()), pa.string(), ["x"]),
        (pa.array([b"\x00\xff", None]), pa.string(), ["00ff", None]),
        (pa.array([[1.0, None, np.nan], None]), pa.string(), ["[1.0, null, null]", None]),
        (
            pa.array([[("b", "2"), ("a", "1")]], pa.map_(pa.string(), pa.string())),
            pa.string(),
            ['{"a": "1", "b": "2"}'],
        ),
        (pa.array([{"k": None}]), pa.string(), ['{"k": null}']),
        (pa.array([None], pa.null()), pa.string(), [None]),
        (pa.array([0], pa.duration("ms")), pa.int64(), [0]),
        (pa.array([0], pa.timestamp("ns")), pa.timestamp("us", "UTC"), [datetime.datetime(1970, 1, 1, tzinfo=UTC)]),
        (pa.array([0], pa.date64()), pa.date32(), [datetime.date(1970, 1, 1)]),
        (pa.array([0], pa.time64("us")), pa.string(), ["00:00:00.000000"]),
        (pa.array([True, None]), pa.bool_(), [True, None]),
    ],
    ids=lambda given: str(getattr(given, "type", ""))[:30],
)
def test_a_type_becomes_one_that_every_reader_takes(given: pa.Array, kind: pa.DataType, wanted: list[object]) -> None:
    found = bi_safe(pa.table({"c": given}))["c"]
    assert found.type == kind
    assert found.type in SAFE
    assert found.to_pylist() == wanted


@pytest.mark.parametrize(
    "given", [pa.array([2**63], pa.uint64()), pa.array([1], pa.timestamp("ns"))], ids=["beyond int64", "nanosecond"]
)
def test_what_would_change_is_refused(given: pa.Array) -> None:
    with pytest.raises(pa.ArrowInvalid):
        bi_safe(pa.table({"c": given}))


def test_a_table_without_rows_keeps_its_columns() -> None:
    empty = pa.schema([("m", pa.map_(pa.string(), pa.string())), ("x", pa.float32())]).empty_table()
    assert bi_safe(empty).schema.types == [pa.string(), pa.float64()]
