"""Each rule on rows that break it: the exact count, the very rows, and no other failure."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from evalframe.contracts import contract, contracts, example, validate
from evalframe.contracts.rules import RULES
from evalframe.errors import ContractError
from tests.contracts.things import THINGS, replaced, things

BOXES = pa.table({"box": ["001"], "lid": pa.array([7], pa.int16())})
PAIRS = pa.list_(pa.struct({"k": pa.string(), "v": pa.string()}))
NOT_NFC = "e\u0301"  # the two-character spelling of é


def of_chunks(*tables: pa.Table) -> pa.Table:
    return pa.concat_tables(tables)


def with_column(name: str, values: Any) -> Callable[[], pa.Table]:
    return lambda: replaced(things({}, {}, {}), name, values)


# rule, column as reported, the table, expected count, expected row numbers
CASES: list[tuple[str, str, Callable[[], pa.Table], int, list[int]]] = [
    ("null", "box", lambda: things({}, {"box": None}), 1, [1]),
    ("null", "flags", lambda: things({"flags": None}, {}), 1, [0]),
    ("null", "p", lambda: things({"p": [0.5, None]}, {"p": [None, None, None]}, {}), 2, [0, 1]),
    ("not_finite", "width", lambda: things({"width": math.nan}, {}, {"width": math.inf}), 2, [0, 2]),
    ("not_finite", "p", lambda: things({}, {"p": [math.nan, -math.inf]}), 1, [1]),
    ("out_of_range", "n", lambda: things({"n": -1}, {}), 1, [0]),
    (
        "out_of_range",
        "width",
        lambda: things({"width": 1.0000000000000002}, {"width": -5e-324}, {"width": 1.0}),
        2,
        [0, 1],
    ),
    ("out_of_range", "p", lambda: things({"p": [0.5, 1.5]}, {"p": [0.0, 1.0]}, {"p": [-1, 2, 3]}), 2, [0, 2]),
    ("out_of_range", "price", lambda: things({"price": -1}, {"price": 0}), 1, [0]),
    ("out_of_range", "rank", lambda: things({"rank": 0}, {"rank": 1}, {"rank": 3}, {"rank": 4}), 2, [0, 3]),
    ("not_in_set", "kind", lambda: things({}, {"kind": "Square", "width": None}), 1, [1]),
    ("not_in_set", "flags", lambda: things({"flags": ["new", "odd", "odd"]}, {"flags": []}), 1, [0]),
    ("wrong_length", "p", lambda: things({"p": [1.0]}, {"p": [0.0] * 4}, {"p": []}, {"p": None}), 3, [0, 1, 2]),
    ("not_nfc", "box", lambda: things({"box": NOT_NFC, "lid": None}, {"box": "é", "lid": None}), 1, [0]),
    (
        "not_nfc",
        "tags",
        lambda: things({"tags": [("k", NOT_NFC)]}, {"tags": [(NOT_NFC, "é")]}, {"tags": []}),
        2,
        [0, 1],
    ),
    (
        "presence",
        "width, kind",
        lambda: things({"width": None}, {"kind": "round"}, {"kind": "round", "width": None}),
        2,
        [0, 1],
    ),
    ("duplicate_key", "box, n", lambda: things({"n": 1}, {"n": 1}, {"n": 2}), 2, [0, 1]),
    (
        "duplicate_key",
        "box, label",
        lambda: things({"label": "a"}, {"label": None}, {"label": "a"}, {"label": None}),
        2,
        [0, 2],
    ),
    ("orphan", "box, lid", lambda: things({"lid": 8}, {"lid": None}, {"box": "1"}, {}), 2, [0, 2]),
    ("wrong_type", "box", with_column("box", [1, None, 3]), 2, [0, 2]),
    ("wrong_type", "n", with_column("n", ["0", "1", "2"]), 3, [0, 1, 2]),
    ("wrong_type", "n", with_column("n", [0.0, 1.0, 2.0]), 3, [0, 1, 2]),
    ("wrong_type", "lid", with_column("lid", pa.array([7, 32768, -32769], pa.int32())), 2, [1, 2]),
    ("wrong_type", "n", with_column("n", pa.array([0, 2**63, 2], pa.uint64())), 1, [1]),
    ("wrong_type", "signal", with_column("signal", [2**53, 2**53 + 1, -(2**53)]), 1, [1]),
    ("wrong_type", "sold", with_column("sold", [1, 0, 1]), 3, [0, 1, 2]),
    ("wrong_type", "made", with_column("made", [datetime(2026, 1, 1)] * 3), 3, [0, 1, 2]),
    ("wrong_type", "made", with_column("made", pa.array([1000, 1001, None], pa.timestamp("ns", "UTC"))), 1, [1]),
    ("wrong_type", "price", with_column("price", pa.array([10**23, 1, -(10**23)], pa.decimal128(38, 0))), 2, [0, 2]),
    ("wrong_type", "price", with_column("price", [Decimal("1e-16"), Decimal(0), None]), 1, [0]),
    ("wrong_type", "tags", with_column("tags", pa.array([[None], [{"k": None, "v": ""}], None], PAIRS)), 2, [0, 1]),
    ("wrong_type", "flags", with_column("flags", [[1], [2], []]), 3, [0, 1, 2]),
    ("wrong_type", "p", with_column("p", pa.array([[1, 0], [2**53 + 1, 1], None])), 1, [1]),
    ("wrong_type", "tags", with_column("tags", [["a"], None, []]), 2, [0, 2]),
    ("missing_column", "rank", lambda: things({}).drop_columns(["rank"]), 1, []),
    ("undeclared_column", "rang", lambda: things({}).append_column("rang", [[1]]), 1, []),
    ("repeated_column", "rank", lambda: things({}).append_column("rank", [[1]]), 1, []),
]


@pytest.mark.parametrize(("rule", "column", "table", "count", "rows"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_broken_rule_is_told_with_its_exact_count_and_rows(
    rule: str, column: str, table: Callable[[], pa.Table], count: int, rows: list[int]
) -> None:
    report = validate(THINGS, table(), {"boxes": BOXES} if rule == "orphan" else {})
    assert [(f.rule, f.column, f.count, f.rows["row_number"].to_pylist()) for f in report.failures] == [
        (rule, column, count, rows)
    ]
    assert not report.ok
    with pytest.raises(ContractError, match=rule):
        report.raise_for_failures()


def test_every_rule_has_a_failing_example_here() -> None:
    assert {case[0] for case in CASES} == set(RULES)


def test_good_rows_break_nothing() -> None:
    report = validate(THINGS, things({}, {}, {"kind": "round", "width": None}), {"boxes": BOXES})
    assert (report.ok, report.failures, report.unchecked) == (True, (), ())
    report.raise_for_failures()


@pytest.mark.parametrize("name", contracts())
def test_an_empty_table_breaks_nothing(name: str) -> None:
    assert validate(contract(name), contract(name).empty()).ok


def test_all_rules_are_told_in_one_pass_and_the_sound_rows_are_kept() -> None:
    table = things({"n": 0}, {"n": 0}, {"kind": "flat"}, {}, {"rank": None, "p": [2.0]})
    report = validate(THINGS, table)
    assert {f.rule: f.count for f in report.failures} == {
        "duplicate_key": 2,
        "not_in_set": 1,
        "presence": 1,
        "out_of_range": 1,
        "wrong_length": 1,
    }
    assert report.n_rows == 5
    assert report.valid["n"].to_pylist() == [3]
    assert report.valid.schema == THINGS.arrow_schema()


def test_a_value_that_does_not_fit_its_type_is_told_once() -> None:
    """It is unknown, not null: rules about nulls and keys say nothing of it."""
    table = replaced(things({}, {}, {}), "n", pa.array([2**63, 2**63, 0], pa.uint64()))
    report = validate(THINGS, table)
    assert [(f.rule, f.count) for f in report.failures] == [("wrong_type", 2)]
    assert report.valid.num_rows == 1


def test_a_column_of_another_type_leaves_no_row_valid() -> None:
    assert validate(THINGS, replaced(things({}), "n", ["0"])).valid.num_rows == 0
    # Also where there is no value to show: an empty shard of integers is no shard of text.
    report = validate(THINGS, replaced(THINGS.empty(), "box", pa.array([], pa.int64())))
    assert [(f.rule, f.column) for f in report.failures] == [("wrong_type", "box")]


def test_counts_hold_over_chunks_and_only_the_first_rows_are_carried() -> None:
    bad = [{"rank": 9}] * 4
    chunks = [things(*bad), things({}, {}), things(*bad)]
    n = pa.chunked_array([[0, 1, 2, 3], [4, 5], [6, 7, 8, 9]])
    table = replaced(of_chunks(*chunks), "n", n)
    table = replaced(table, "label", pa.chunked_array([[str(i) for i in range(10)]]))
    [failure] = validate(THINGS, table, shown=6).failures
    assert (failure.rule, failure.count) == ("out_of_range", 8)
    assert failure.rows["row_number"].to_pylist() == [0, 1, 2, 3, 6, 7]
    assert failure.rows["rank"].to_pylist() == [9] * 6
    assert failure.rows.column_names == ["row_number", *THINGS.names]


def test_rules_that_could_not_be_asked_are_named() -> None:
    report = validate(THINGS, replaced(things({}), "box", [1]))
    assert report.unchecked == (
        "duplicate_key in box, n: box is missing or of another type",
        "duplicate_key in box, label: box is missing or of another type",
        "orphan in box, lid: table boxes was not given",
    )
    lacking = validate(THINGS, things({}).drop_columns(["kind"]), {"boxes": BOXES})
    assert lacking.unchecked == ("presence of width: kind is missing or of another type",)


@pytest.mark.parametrize("lid", [["7"], [7.0]], ids=["text", "float"])
def test_an_integer_never_refers_to_text_or_to_a_float(lid: list[Any]) -> None:
    with pytest.raises(ContractError) as refusal:
        validate(THINGS, things({}), {"boxes": pa.table({"box": ["001"], "lid": lid})})
    assert "boxes" in refusal.value.what


def test_a_reference_into_a_table_without_the_column_is_refused() -> None:
    with pytest.raises(ContractError):
        validate(THINGS, things({}), {"boxes": pa.table({"box": ["001"]})})


# ---- faults that other tools let pass ------------------------------------------------------------------------------


def predictions(run_id: Any, item_index: Any, class_index: Any) -> pa.Table:
    return pa.table({"run_id": run_id, "item_index": item_index, "class_index": class_index})


def test_duplicate_ids_are_an_error_that_names_the_id_and_both_rows() -> None:
    table = predictions(["r", "r", "r"], [3, 0, 3], pa.array([0, 1, 1], pa.int16()))
    with pytest.raises(ContractError) as refusal:
        validate(contract("class_predictions"), table).raise_for_failures(where="predictions.csv")
    assert "rows 0, 2: run_id='r', item_index=3" in refusal.value.found
    assert refusal.value.where == "predictions.csv"
    assert str(refusal.value).count("\n") == 3


def test_rows_of_one_key_stand_together_however_far_apart_they_were() -> None:
    table = predictions(["r"] * 6, [5, 1, 2, 1, 5, 1], pa.array([0] * 6, pa.int16()))
    [failure] = validate(contract("class_predictions"), table).failures
    assert failure.count == 5
    assert failure.rows["row_number"].to_pylist() == [0, 4, 1, 3, 5]


def test_integer_labels_never_meet_text_labels() -> None:
    vocabulary = pa.table({"run_id": ["r"], "class_index": pa.array([1], pa.int16()), "class": [1]})
    report = validate(contract("class_vocabulary"), vocabulary)
    assert [(f.rule, f.column) for f in report.failures] == [("wrong_type", "class")]
    told_apart = pa.table(
        {"run_id": ["r"] * 3, "class_index": pa.array([0, 1, 2], pa.int16()), "class": ["1", "01", "1.4"]}
    )
    assert validate(contract("class_vocabulary"), told_apart).ok


@pytest.mark.parametrize("table", ["class_vocabulary"])
def test_a_repeated_class_is_refused(table: str) -> None:
    repeated = pa.table({"run_id": ["r", "r"], "class_index": pa.array([0, 1], pa.int16()), "class": ["walk", "walk"]})
    [failure] = validate(contract(table), repeated).failures
    assert (failure.rule, failure.column, failure.count) == ("duplicate_key", "run_id, class", 2)


RUN_IDS = ["00042", "42", "1.10", "1.1", "12e4567", "true", "", "NULL", "a/b", "a=b", "a%b", "a b", "é", "日本"]


def test_run_ids_are_text_and_all_different() -> None:
    n = len(RUN_IDS)
    report = validate(contract("class_predictions"), predictions(RUN_IDS, [0] * n, pa.array([0] * n, pa.int16())))
    assert report.ok
    assert report.valid["run_id"].to_pylist() == RUN_IDS


def test_the_filter_is_part_of_the_key() -> None:
    """Two rows an item, one per score, are four rows of two items and no duplicates."""
    key = contract("filter_ranks").key
    assert {"query_task", "score", "trajectory_index"} <= set(key)


def test_a_nan_probability_is_refused() -> None:
    c = contract("choice_probabilities")
    table = replaced(example(c), "p", [[0.5, 0.5], [0.5, math.nan], None])
    assert [(f.rule, f.column, f.count) for f in validate(c, table).failures] == [("not_finite", "p", 1)]


def test_undefined_is_null_and_never_zero() -> None:
    c = contract("metric_values")
    table = example(c)
    assert table["status"].to_pylist() == ["ok", "undefined", "refused"]
    zeroed = replaced(table, "value", [1.0, 0.0, None])
    assert [(f.rule, f.column, f.count) for f in validate(c, zeroed).failures] == [("presence", "value, status", 1)]
    reasonless = replaced(table, "reason", [None, None, "no_items"])
    assert [(f.rule, f.count) for f in validate(c, reasonless).failures if "reason" in f.column] == [("presence", 1)]


def test_text_that_is_no_utf8_is_told_and_can_be_printed() -> None:
    broken = pa.Array.from_buffers(
        pa.large_string(), 2, [None, pa.array([0, 1, 3], pa.int64()).buffers()[1], pa.py_buffer(b"\xffab")]
    )
    report = validate(contract("class_predictions"), predictions(broken, [0, 0], pa.array([0, 0], pa.int16())))
    assert [(f.rule, f.count) for f in report.failures] == [("not_nfc", 1)]
    assert "\\xff" in str(report.failures[0])


def test_time_is_compared_as_instants() -> None:
    made = pa.array([datetime(2026, 1, 1, 0, 30, tzinfo=UTC)], pa.timestamp("us", "America/New_York"))
    report = validate(THINGS, replaced(things({}), "made", made))
    assert report.ok
    assert report.valid["made"].to_pylist() == [datetime(2026, 1, 1, 0, 30, tzinfo=UTC)]
