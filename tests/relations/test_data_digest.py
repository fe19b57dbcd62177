"""The digest of an evaluation set: order and batches do not matter, everything else does."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.identity import ITEM_COLUMNS, data_digest

Row = tuple[str | None, str | None, str | None, str | None]


def items(rows: Sequence[Row], kind: pa.DataType | None = None) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[], [], [], []]
    return pa.table(
        {
            name: pa.array(list(column), kind or pa.large_string())
            for name, column in zip(ITEM_COLUMNS, columns, strict=True)
        }
    )


def by_hand(rows: Sequence[Row]) -> str:
    """The digest written out from its description, a value at a time."""
    ordered = sorted(rows, key=lambda row: [(value is None, (value or "").encode()) for value in row])
    text = b"evalframe data_digest 1\n"
    for start in range(0, len(ordered), 65_536):
        block = ordered[start : start + 65_536]
        text += struct.pack("<q", len(block))
        for column in zip(*block, strict=True):
            text += b"".join(struct.pack("<i", -1 if value is None else len(value.encode())) for value in column)
            text += b"".join((value or "").encode() for value in column)
    return hashlib.sha256(text).hexdigest()


TEXT = st.none() | st.text(max_size=4)
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), max_size=12)


@given(ROWS)
def test_it_is_what_its_description_says(rows: list[Row]) -> None:
    assert data_digest(items(rows)) == by_hand(rows)


@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_batches_do_not_matter(rows: list[Row], random: object, size: int) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert data_digest(items(shuffled).to_batches(max_chunksize=size)) == data_digest(items(rows))


@given(ROWS, ROWS)
def test_two_sets_share_a_digest_only_when_they_are_equal(one: list[Row], other: list[Row]) -> None:
    def bag(rows: list[Row]) -> list[list[tuple[bool, str]]]:
        return sorted([(value is None, value or "") for value in row] for row in rows)

    assert (data_digest(items(one)) == data_digest(items(other))) == (bag(one) == bag(other))


DIFFER: list[tuple[list[Row], list[Row]]] = [
    ([(None, "a", "c", "all")], [("", "a", "c", "all")]),
    ([("ab", "c", "", "all")], [("a", "bc", "", "all")]),
    ([("a", "b", "c", "d"), ("a", "b", "c", "d")], [("a", "b", "c", "d")]),
    ([("a", None, "", "all")], [("a", "", None, "all")]),
    ([("1", "x", "c", "all")], [("01", "x", "c", "all")]),
]


@pytest.mark.parametrize(("one", "other"), DIFFER)
def test_neighbouring_values_never_run_together(one: list[Row], other: list[Row]) -> None:
    assert data_digest(items(one)) != data_digest(items(other))


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_how_arrow_holds_the_text_does_not_matter(kind: pa.DataType) -> None:
    rows: list[Row] = [("b", "x", None, "all"), ("a", "y", "c", "all")]
    encoded = pa.table(
        {
            name: items(rows)[name].combine_chunks().cast(kind)
            if not pa.types.is_dictionary(kind)
            else items(rows)[name].combine_chunks().dictionary_encode()
            for name in ITEM_COLUMNS
        }
    )
    assert data_digest(encoded) == by_hand(rows)


def test_slices_and_bytes_under_nulls_do_not_matter() -> None:
    rows: list[Row] = [("z", "z", "z", "z"), ("b", None, "c", "all"), ("a", "y", None, "all")]
    assert data_digest(items(rows).slice(1)) == by_hand(rows[1:])
    validity, offsets, data = pa.py_buffer(b"\x01"), pa.py_buffer(struct.pack("<qqq", 0, 1, 3)), pa.py_buffer(b"axx")
    dirty = pa.Array.from_buffers(pa.large_string(), 2, [validity, offsets, data])
    table = pa.table({"item_id": dirty, **{name: pa.array(["k", "k"], pa.large_string()) for name in ITEM_COLUMNS[1:]}})
    assert data_digest(table) == by_hand([("a", "k", "k", "k"), (None, "k", "k", "k")])


def test_more_rows_than_a_block_holds() -> None:
    rows: list[Row] = [(f"{i % 40_000}", "x" * (i % 3), None, "all") for i in range(70_000)]
    assert data_digest(items(rows)) == by_hand(rows)


def test_other_columns_are_left_out_and_numbers_are_refused() -> None:
    table = items([("a", "b", "c", "all")])
    assert data_digest(table.append_column("run_id", pa.array(["r"]))) == data_digest(table)
    with pytest.raises(ValueError, match="label of an evaluation set is text, not int64"):
        data_digest(table.set_column(1, "label", pa.array([1])))
