"""How tables are shown: rounded for people, exact for programs, harmless whatever a cell holds."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from evalframe.verbs import drawing

TABLE = pa.table({"name": ["a", None], "value": [1 / 3, 2.0], "n": [1, 20]})


def test_a_drawn_table_aligns_numbers_right_and_text_left() -> None:
    assert drawing.table(TABLE) == "name     value   n\n----  --------  --\na     0.333333   1\n             2  20"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.7271851, 0.77065, 0.725, None], ["0.7272", "0.7706", "0.7250", ""]),
        ([0.2, 1.0, 2.0], ["0.2", "1", "2"]),
        ([12.34567, 120.5, 0.0], ["12.35", "120.50", "0.00"]),
        ([1.23456e-7, 0.5], ["1.235e-07", "0.5"]),
        ([True, None], ["true", ""]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_numbers_of_a_column_are_shown_to_equally_many_decimals(values: list[object], shown: list[str]) -> None:
    assert drawing.figures(values) == shown


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\nb", "\u202egnp.exe", "\x00"])
def test_no_cell_can_forge_a_terminal_line(hostile: str) -> None:
    for draw in (drawing.table, drawing.markdown):
        drawn = draw(pa.table({hostile: [hostile]}))
        assert len(drawn.splitlines()) == 3
        assert all(c.isprintable() for line in drawn.splitlines() for c in line)


def test_csv_keeps_full_precision_and_quotes_what_needs_it() -> None:
    rows = list(csv.reader(io.StringIO(drawing.csv(pa.table({"v": [0.1 + 0.2], "t": ['a,"b"\n'], "none": [None]})))))
    assert rows == [["v", "t", "none"], ["0.30000000000000004", 'a,"b"\n', ""]]


def test_json_rows_hold_no_number_that_json_cannot() -> None:
    table = pa.table({"v": [float("nan"), float("inf"), 0.5], "l": [[float("nan")], [1.0], None]})
    assert drawing.rows(table) == [{"v": None, "l": [None]}, {"v": None, "l": [1.0]}, {"v": 0.5, "l": None}]


def test_html_escapes_cells_and_names() -> None:
    shown = drawing.html(pa.table({"<b>": ["<script>alert(1)</script>"]}))
    assert "<script>" not in shown
    assert "<b>" not in shown


def test_markdown_cells_cannot_add_columns() -> None:
    assert drawing.markdown(pa.table({"a": ["x|y"]})).splitlines()[2] == "| x\\|y |"
