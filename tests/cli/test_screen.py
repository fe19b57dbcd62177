"""Results in a terminal, fitted to it and in colours that a mark or a word repeats; in a pipe, plain text."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalframe
from evalframe.cli import layout, screen
from evalframe.cli.layout import Column
from evalframe.cli.terminal import BAD, GOOD, Terminal, role_of
from evalframe.verbs.results import Rows

SGR = re.compile(r"\x1b\[[\d;]*m")
WORDS = st.text("abc_-./ =", min_size=0, max_size=40).map(str.strip)
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: f"{value:.6g}")


class Stream(io.StringIO):
    def __init__(self, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal, self._encoding = terminal, encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


# ---- colours and characters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terminal", "environ", "colours"),
    [
        (True, {"TERM": "xterm-256color"}, 256),
        (True, {"TERM": "xterm"}, 16),
        (True, {"TERM": "xterm", "COLORTERM": "truecolor"}, 256),
        (True, {"TERM": "dumb"}, 0),
        (True, {"TERM": "xterm-256color", "NO_COLOR": "1"}, 0),
        (True, {"TERM": "xterm-256color", "NO_COLOR": ""}, 256),
        (True, {"TERM": "xterm-256color", "NO_COLOR": "1", "FORCE_COLOR": "1"}, 0),
        (False, {"TERM": "xterm-256color"}, 0),
        (False, {"TERM": "xterm-256color", "FORCE_COLOR": "1"}, 256),
        (False, {"FORCE_COLOR": "0"}, 0),
        (True, {"TERM": "dumb", "FORCE_COLOR": "1"}, 16),
    ],
)
def test_who_gets_colours(terminal: bool, environ: dict[str, str], colours: int) -> None:
    found = Terminal.of(Stream(terminal), environ)
    assert found.colours == colours
    assert (found.width is None) == (not terminal)


def test_colours_are_blue_and_orange_and_never_alone() -> None:
    for colours in (16, 256):
        terminal = Terminal(80, colours)
        assert terminal.paint("x", GOOD) != terminal.paint("x", BAD) != "x"
        codes = {terminal.paint("x", role).split("m")[0] for role in (GOOD, BAD)}
        # Neither red (31, 91) nor green (32, 92), which many cannot tell apart.
        assert codes <= {"\x1b[94", "\x1b[33", "\x1b[38;5;75", "\x1b[38;5;214"}
    assert (role_of("▲ better"), role_of("▼ worse"), role_of("refused"), role_of("cnn")) == (GOOD, BAD, BAD, None)
    assert Terminal(80, 0).paint("▲ better", GOOD) == "▲ better"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_encoding_that_lacks_a_mark_gets_another_and_never_an_error(encoding: str) -> None:
    spelled = Terminal(80, 0, encoding).spelled("✓ ▲ · ─ 漢")
    spelled.encode(encoding)
    assert spelled == ("✓ ▲ · ─ 漢" if encoding == "utf-8" else "+ ^ - - \\u6f22")


# ---- fitting --------------------------------------------------------------------------------------------------------


@given(
    st.integers(1, 4).flatmap(
        lambda rows: st.tuples(
            st.lists(WORDS.filter(bool), min_size=rows, max_size=rows),
            st.lists(st.lists(WORDS, min_size=rows, max_size=rows), max_size=4),
            st.lists(st.lists(NUMBERS, min_size=rows, max_size=rows), max_size=8),
        )
    ),
    st.integers(48, 160),
)
def test_no_number_is_broken_no_text_lost_and_no_line_too_long(
    made: tuple[list[str], list[list[str]], list[list[str]]], width: int
) -> None:
    names, texts, numbers = made
    columns = [
        Column("name", tuple(names)),
        *(Column(f"text_{i}", tuple(cells)) for i, cells in enumerate(texts)),
        *(Column(f"number_{i}", tuple(cells), number=True) for i, cells in enumerate(numbers)),
    ]
    fitted = layout.fitted(columns, width)
    drawn = [*layout.lines(fitted, width), *layout.named(fitted.same, width)]
    assert max(map(len, drawn)) <= width
    whole = " ".join(drawn)
    for cells in numbers:
        assert all(re.search(rf"(?<![\d.]){re.escape(cell)}(?![\d.])", whole) for cell in cells)
    letters = "".join(sorted(re.sub(r"[\s]", "", "".join([*names, *(c for cells in texts for c in set(cells))]))))
    for letter in set(letters):
        assert whole.count(letter) >= letters.count(letter) - sum(n.count(letter) for n in set(names)) * len(names)


def test_what_is_the_same_in_every_row_is_said_once_and_empty_columns_not_at_all() -> None:
    columns = [
        Column("run", ("a", "b")),
        Column("origin", ("rescored_saved_predictions",) * 2),
        Column("reason", ("", "")),
        Column("value", ("0.7272", "0.7707"), number=True),
    ]
    narrow = layout.fitted(columns, 30)
    assert [column.name for column in narrow.columns] == ["run", "value"]
    assert narrow.same == (("origin", "rescored_saved_predictions"),)
    assert [column.name for column in layout.fitted(columns, 60).columns] == ["run", "origin", "value"]


def test_digests_are_shortened_only_as_far_as_they_differ() -> None:
    near = ("ef1-" + "0" * 20 + "a" * 44, "ef1-" + "0" * 20 + "b" * 44)
    (column,) = layout.shortened([Column("fingerprint", near)])
    assert column.cells == ("ef1-" + "0" * 20 + "a…", "ef1-" + "0" * 20 + "b…")
    ids = ("participant_number_00000001", "participant_number_00000002")
    assert layout.shortened([Column("run", ids)])[0].cells == ids


def test_columns_without_room_stand_below_their_row() -> None:
    columns = [Column("run", ("a" * 20, "b")), *(Column(f"n{i}", ("1.2345", ""), number=True) for i in range(9))]
    drawn = list(layout.lines(layout.fitted(columns, 40), 40))
    assert drawn[3] == "    n2: 1.2345  n3: 1.2345  n4: 1.2345"
    assert drawn[-1] == "b"


def test_wide_characters_take_two_columns() -> None:
    drawn = list(layout.lines(layout.fitted([Column("run", ("漢字", "ab")), Column("n", ("1", "2"))], 80), 80))
    assert drawn[2:] == ["漢字  1", "ab    2"]


# ---- results --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", ["[bold red]x[/]", "[/]", "[link=http://x]y[/link]", "\x1b[2J", "a\rb", "\u202ex"])
def test_no_cell_is_markup_or_moves_the_cursor(hostile: str) -> None:
    found = Rows(pa.table({"run_id": [hostile, "b"], "value": [0.5, 0.25]}))
    for terminal in (Terminal(80, 256), Terminal(None, 0), Terminal(None, 16)):
        drawn = SGR.sub("", screen.result(found, terminal))
        assert all(c.isprintable() for line in drawn.split("\n") for c in line)
        if hostile.isprintable():
            assert hostile in drawn


@pytest.mark.parametrize("width", [80, 140])
def test_a_comparison_says_its_verdict_first(width: int, store: Path) -> None:
    found = evalframe.open(store).compare("a", "b", replicates=500)
    lines = screen.result(found, Terminal(width, 0), 0).splitlines()
    assert lines[0] == "✓ comparable"
    assert lines[1].startswith("b against a: ")
    assert max(map(len, lines)) <= width
    (accuracy,) = [line for line in lines if line.startswith("accuracy")]
    assert re.search(r"accuracy +(all +)?(▼ worse|· not separable) +-0\.1167 +-0\.\d{4} to [+-]?0\.\d{4}", accuracy)
    assert screen.result(found, Terminal(width, 256), 3).startswith("\x1b[38;5;214m≠ comparable\x1b[0m\n")


def test_a_pipe_is_given_the_text_that_repr_gives(store: Path) -> None:
    opened = evalframe.open(store)
    for found in (opened.runs(), opened.leaderboard(), opened.compare("a", "b", replicates=50)):
        assert screen.result(found, Terminal(), 0) == repr(found)


def test_prose_is_broken_at_words_below_where_its_column_began() -> None:
    text = "  state    class_scores: " + "one row for every class of the vocabulary " * 3
    lines = screen.prose(text, Terminal(60)).splitlines()
    assert all(line.startswith(" " * 11) and len(line) <= 60 for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert screen.prose(text, Terminal()) == text
