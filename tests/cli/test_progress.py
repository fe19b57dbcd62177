"""Progress is for people at a terminal: it leaves nothing behind, and nothing in a pipe."""

from __future__ import annotations

import io

import pytest

from evalframe.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_drawn_on_once_a_per_cent_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress() as progress:
        for done in range(1, 1001):
            progress("windows", done, 1000)
    drawn = screen.getvalue()
    assert drawn.count("windows: ") == 101
    assert "windows: 1000 of 1000" in drawn
    assert drawn.endswith(" \r")


def test_a_pipe_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    with Progress() as progress:
        progress("windows", 1, 2)
    assert pipe.getvalue() == ""
