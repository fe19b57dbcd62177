"""Progress is for people: a line in a terminal that leaves nothing behind, now and then a plain one in a log."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from evalframe.cli import progress as module
from evalframe.cli.progress import Progress, span
from evalframe.underway import counted, heard_by, tell


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its one element."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return now


def _loop(clock: list[float], seconds: float, what: str = "windows", whole: int = 100) -> None:
    for _ in counted(what, range(whole)):
        clock[0] += seconds


def test_a_terminal_sees_count_rate_and_time_left_and_then_nothing(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress():
        _loop(clock, 0.05)
    drawn = [line.rstrip() for line in screen.getvalue().split("\r")]
    assert "windows 50 of 100  20/s  2 s left" in drawn
    assert "windows 5 of 100" not in screen.getvalue()
    assert 10 < len(drawn) < 60
    assert drawn[-1] == ""
    assert set(screen.getvalue().rsplit("\r", 2)[1]) == {" "}


def test_a_loop_in_a_loop_stands_on_the_same_line(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress():
        for _ in counted("models", range(4)):
            _loop(clock, 3.0, "windows", 10)
    assert "models 1 of 4, windows 5 of 10  3.0 s each  2 min 15 s left" in screen.getvalue()


def test_what_is_over_quickly_is_not_drawn(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress():
        _loop(clock, 0.004)
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO, "xterm"), (Terminal, "dumb")])
def test_a_log_gets_a_plain_line_every_half_minute(
    stream: type[io.StringIO], term: str, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    log = stream()
    monkeypatch.setattr("sys.stderr", log)
    monkeypatch.setenv("TERM", term)
    with Progress():
        _loop(clock, 0.2)
        assert log.getvalue() == ""
        _loop(clock, 1.0, "models")
    lines = log.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1] == "models 40 of 100  1.0 s each  1 min 0 s left"
    assert "\r" not in log.getvalue()


def test_a_loop_that_is_left_early_is_over() -> None:
    told: list[tuple[str, int, int]] = []

    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("lost")

    with heard_by(lambda *what: told.append(what)):
        with pytest.raises(ValueError, match="lost"):
            list(counted("files", broken(), whole=3))
        tell("other", 1, 2)
    assert told == [("files", 0, 3), ("files", 1, 3), ("files", 3, 3), ("other", 1, 2)]
    assert list(counted("nobody hears", (n for n in range(3)))) == [0, 1, 2]


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_spans(seconds: float, said: str) -> None:
    assert span(seconds) == said
