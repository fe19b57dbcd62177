"""What holds for every table: rules against the plainest loops, any row order, any encoding, any file format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import is_normalized

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.contracts import Column, Contract, conform, contract, read_table, table_bytes, validate
from tests.contracts.generated import rows, table_of
from tests.contracts.things import THINGS

FORMATS = [".parquet", ".csv", ".ndjson", ".arrow", ".arrows"]
SOME = [THINGS, contract("choice_questions"), contract("metric_values")]


def told_plainly(c: Contract, table: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Offending rows per (rule, column), one row and one value at a time."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in table:
        for column in c.columns:
            counts.update((rule, column.name) for rule in set(broken(column, row[column.name])))
            if column.present_when is not None:
                other, wanted = column.present_when
                if (row[column.name] is not None) != (row[other] in wanted):
                    counts["presence", f"{column.name}, {other}"] += 1
    for columns in (c.key, *c.uniques):
        own = [tuple(row[n] for n in columns) for row in table]
        asked = own if columns == c.key else [k for k in own if None not in k]
        repeated = sum(n for n in Counter(asked).values() if n > 1)
        if repeated:
            counts["duplicate_key", ", ".join(columns)] = repeated
    return counts


def broken(column: Column, value: Any) -> Iterator[str]:
    if value is None:
        if column.required:
            yield "null"
        return
    if isinstance(value, list) and column.physical.startswith("list"):
        if not (column.min_items or 0) <= len(value) <= (column.max_items or len(value)):
            yield "wrong_length"
        for element in value:
            if element is None and column.element_required:
                yield "null"
            elif element is not None:
                yield from broken_value(column, element)
    elif isinstance(value, list):
        for text in (t for pair in value for t in pair):
            yield from broken_value(column, text) if text is not None else ["null"]
    else:
        yield from broken_value(column, value)


def broken_value(column: Column, value: Any) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value) and column.finite:
        yield "not_finite"
    elif any(
        [column.minimum is not None and value < column.minimum, column.maximum is not None and value > column.maximum]
    ):
        yield "out_of_range"
    if column.allowed is not None and value not in column.allowed:
        yield "not_in_set"
    if isinstance(value, str) and not is_normalized("NFC", value):
        yield "not_nfc"


@given(rows(THINGS, valid=False))
def test_the_report_counts_what_plain_loops_count(given_rows: list[dict[str, Any]]) -> None:
    report = validate(THINGS, table_of(THINGS, given_rows))
    assert {(f.rule, f.column): f.count for f in report.failures} == dict(told_plainly(THINGS, given_rows))


@settings(max_examples=40)
@given(rows(THINGS, valid=False), st.randoms(use_true_random=False))
def test_counts_do_not_depend_on_row_order_or_chunks(given_rows: list[dict[str, Any]], random: Any) -> None:
    counts = {(f.rule, f.column): f.count for f in validate(THINGS, table_of(THINGS, given_rows)).failures}
    random.shuffle(given_rows)
    cut = len(given_rows) // 2
    chunked = pa.concat_tables([table_of(THINGS, given_rows[:cut]), table_of(THINGS, given_rows[cut:])])
    report = validate(THINGS, chunked)
    assert {(f.rule, f.column): f.count for f in report.failures} == counts


@pytest.mark.parametrize("c", SOME, ids=lambda c: c.name)
@settings(max_examples=25)
@given(data=st.data())
def test_a_valid_table_stays_valid_in_any_row_order(c: Contract, data: st.DataObject) -> None:
    given_rows = data.draw(rows(c, valid=True))
    assert validate(c, table_of(c, given_rows)).ok
    assert validate(c, table_of(c, data.draw(st.permutations(given_rows)))).ok


@settings(max_examples=40)
@given(rows(THINGS, valid=False))
def test_the_valid_rows_of_any_table_are_valid(given_rows: list[dict[str, Any]]) -> None:
    report = validate(THINGS, table_of(THINGS, given_rows))
    assert validate(THINGS, report.valid).ok
    assert report.ok == (report.valid.num_rows == len(given_rows))


@settings(max_examples=40)
@given(rows(THINGS, valid=True))
def test_conforming_is_idempotent_and_blind_to_encodings(given_rows: list[dict[str, Any]]) -> None:
    table = conform(THINGS, table_of(THINGS, given_rows))
    assert conform(THINGS, table).equals(table)
    assert conform(THINGS, pl.from_arrow(table)).equals(table)
    encoded = table.set_column(0, "box", table["box"].cast(pa.string()).dictionary_encode())
    assert conform(THINGS, encoded).select(["box"]).equals(table.select(["box"]))


@pytest.mark.parametrize("c", SOME, ids=lambda c: c.name)
@settings(max_examples=15)
@given(data=st.data())
def test_a_table_survives_every_file_format(c: Contract, data: st.DataObject) -> None:
    table = conform(c, table_of(c, data.draw(rows(c, valid=True, max_size=4))))
    with TemporaryDirectory() as folder:
        for suffix in FORMATS:
            path = Path(folder) / f"table{suffix}"
            path.write_bytes(table_bytes(table, suffix))
            again = read_table(c, path)
            assert validate(c, again).ok
            assert conform(c, again).to_pylist() == table.to_pylist()
