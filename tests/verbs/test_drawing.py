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


def test_long_text_is_cut_to_the_terminal_but_numbers_never_are() -> None:
    wide = pa.table({"id": ["x" * 100], "value": [0.123456789]})
    drawn = drawing.table(wide, width=40)
    assert max(map(len, drawn.splitlines())) <= 40
    assert "0.123457" in drawn
    assert "…" in drawn


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
