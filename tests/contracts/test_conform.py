"""Conforming changes encodings, never meanings."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from evalframe.contracts import conform, contract, contracts, example, validate
from evalframe.errors import ContractError
from tests.contracts.things import THINGS, replaced, things

PREDICTIONS = contract("class_predictions")
PLAIN = example(PREDICTIONS)


@pytest.mark.parametrize("name", contracts())
def test_conformed_once_is_conformed(name: str) -> None:
    table = example(contract(name))
    assert conform(contract(name), table).equals(table)
    assert conform(contract(name), table).schema == contract(name).arrow_schema()


@pytest.mark.parametrize("name", contracts())
def test_a_table_survives_polars(name: str) -> None:
    table = example(contract(name))
    assert conform(contract(name), pl.from_arrow(table)).equals(table)
    assert conform(contract(name), pl.DataFrame(schema=contract(name).polars_schema())).num_rows == 0


def test_every_kind_of_table_is_taken() -> None:
    batches = PLAIN.to_batches()
    for data in (PLAIN, batches[0], PLAIN.to_reader(), pl.from_arrow(PLAIN), PLAIN.slice(0)):
        assert conform(PREDICTIONS, data).equals(PLAIN)


def test_columns_are_put_in_order() -> None:
    assert conform(PREDICTIONS, PLAIN.select(["class_index", "run_id", "item_index"])).equals(PLAIN)


@pytest.mark.parametrize(
    "encoded",
    [
        pa.array(["a", "b", "a"], pa.string()),
        pa.array(["a", "b", "a"], pa.string_view()),
        pa.array(["a", "b", "a"], pa.string()).dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["a", "b"], pa.string_view())),
        pa.chunked_array([pa.array(["a"], pa.large_string()), pa.array(["b", "a"], pa.large_string())]),
    ],
    ids=["string", "view", "dictionary", "dictionary of views", "chunks"],
)
def test_text_is_text_in_every_encoding(encoded: Any) -> None:
    assert conform(PREDICTIONS, replaced(PLAIN, "run_id", encoded))["run_id"].to_pylist() == ["a", "b", "a"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()], ids=str)
def test_integers_change_width_where_every_value_fits(kind: pa.DataType) -> None:
    assert conform(PREDICTIONS, replaced(PLAIN, "class_index", pa.array([0, 127, None], kind)))[
        "class_index"
    ].to_pylist() == [
        0,
        127,
        None,
    ]


def test_float32_is_widened_once_by_its_own_value() -> None:
    narrow = pa.array([0.7], pa.float32())
    assert conform(THINGS, replaced(things({}), "signal", narrow))["signal"].to_pylist() == [0.699999988079071]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("lid", pa.array([40000], pa.int64())),
        ("n", pa.array([2**63], pa.uint64())),
        ("n", ["0"]),
        ("n", [0.0]),
        ("box", [1]),
        ("box", pa.array([b"001"], pa.binary())),
        ("label", [True]),
        ("sold", [1]),
        ("signal", [2**53 + 1]),
        ("signal", ["0.5"]),
        ("made", pa.array([0], pa.timestamp("us"))),
        ("made", pa.array([1], pa.timestamp("ns", "UTC"))),
        ("price", [1.5]),
        ("p", [["0.5", "0.5"]]),
        ("price", pa.array([10**37], pa.decimal128(38, 0))),  # Arrow alone wraps this to another number
        ("tags", [[{"key": 1, "value": "a"}]]),
        ("box", pa.array([None], pa.large_string())),
    ],
    ids=str,
)
def test_what_would_change_a_value_is_refused(column: str, values: Any) -> None:
    with pytest.raises(ContractError, match=column) as refusal:
        conform(THINGS, replaced(things({}), column, values))
    assert "things" in refusal.value.what


@pytest.mark.parametrize("names", [["run_id", "item_index"], ["run_id", "item_index", "class_index", "more"]], ids=str)
def test_missing_and_undeclared_columns_are_refused(names: list[str]) -> None:
    with pytest.raises(ContractError):
        conform(PREDICTIONS, pa.table({name: ["x"] for name in names}))


def test_a_repeated_column_is_refused() -> None:
    with pytest.raises(ContractError, match="repeats"):
        conform(PREDICTIONS, PLAIN.append_column("run_id", PLAIN["run_id"]))


def test_an_all_null_shard_carries_the_type() -> None:
    shard = replaced(PLAIN, "class_index", pa.nulls(3))
    assert conform(PREDICTIONS, shard)["class_index"].type == pa.int16()
    assert validate(PREDICTIONS, shard).ok


@pytest.mark.parametrize("lists", [pa.large_list(pa.float32()), pa.list_(pa.float64(), 2)], ids=str)
def test_lists_keep_nulls_and_slices(lists: pa.DataType) -> None:
    values = pa.array([[0.0, 1.0], [0.5, 0.5], None, [1.0, 0.0]], lists).slice(1)
    table = replaced(things({}, {}, {}), "p", values)
    assert conform(THINGS, table)["p"].to_pylist() == [[0.5, 0.5], None, [1.0, 0.0]]


def test_maps_of_polars_keep_nulls_and_slices() -> None:
    pairs = pa.large_list(pa.struct({"key": pa.string(), "value": pa.string()}))
    values = pa.array([[{"key": "x", "value": "y"}], None, [], [{"key": "a", "value": None}]], pairs).slice(1)
    table = replaced(things({}, {}, {}), "tags", values)
    assert conform(THINGS, table)["tags"].to_pylist() == [None, [], [("a", None)]]


def test_text_beyond_two_gibibytes_is_not_cut() -> None:
    """Every chunk points at the same MiB, so the column holds more than an int32 offset can say and costs no memory."""
    chunk, n = pa.array(["x" * (1 << 20)], pa.string()), 2100
    table = pa.table(
        {
            "run_id": pa.chunked_array([chunk] * n),
            "item_index": list(range(n)),
            "class_index": pa.array([0] * n, pa.int16()),
        }
    )
    conformed = conform(PREDICTIONS, table)
    assert conformed["run_id"].type == pa.large_string()
    assert sum(len(c[0].as_buffer()) for c in conformed["run_id"].chunks) > 2**31
    assert validate(PREDICTIONS, conformed).ok
