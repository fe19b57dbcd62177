"""How a result looks to people: in a terminal fitted to it and in colour, in a pipe the same text that `repr` gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalframe.cli import layout
from evalframe.cli.terminal import BAD, GOOD, SOFT, STRONG, Terminal, role_of
from evalframe.errors import EvalframeError, ExitCode, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.verbs.results import Rows

_NUMBER = re.compile(r"([<+-]?[\d.]+(e[+-]?\d+)?( to [+-]?[\d.]+(e[+-]?\d+)?)?|[\d-]{10} [\d:]{8}Z?)?")
"""A number, an interval or a time: never broken, and placed to the right."""
ENDLESS = 1_000_000
"""Columns of a pipe, where no line has to end."""


def result(found: Rows, terminal: Terminal, code: int | None = None) -> str:
    """A result as text. code: the exit code it leads to, where that is a verdict: the first line then has a mark."""
    if terminal.width is None and not terminal.colours:
        heads = found.headlines()
        return repr(found) if len(found.table) or not heads else "\n".join(map(printable, heads))
    drawn = terminal.width is not None
    lines = list(_heads(found.headlines(), terminal, code))
    if len(found.table):
        closing = [terminal.paint(line, SOFT) for said in found.closing() for line in _wrapped(said, terminal)]
        lines += [""] * (drawn and bool(lines))
        lines += _table(found.screen() if drawn else found.shown(), terminal)
        lines += ["", *closing] if drawn and closing else []
    elif not lines:
        lines = ["no rows"]
    return "\n".join(lines)


def rows(table: pa.Table, terminal: Terminal, headlines: Sequence[str] = ()) -> str:
    """A table that has no result around it."""
    from evalframe.verbs import drawing

    if terminal.width is None and not terminal.colours:
        return "\n".join([*map(printable, headlines), drawing.table(table)])
    return "\n".join([*_heads(headlines, terminal, None), *_table(table, terminal)])


def parts(given: Sequence[str | pa.Table], terminal: Terminal) -> str:
    """Text and tables, one below the other; text for programs stays as it is."""
    from evalframe.verbs.explanations import Verbatim

    return "\n".join(
        rows(part, terminal)
        if not isinstance(part, str)
        else part
        if isinstance(part, Verbatim)
        else prose(part, terminal)
        for part in given
    )


def prose(text: str, terminal: Terminal) -> str:
    """Lines of text broken at words."""
    return "\n".join(part for line in text.split("\n") for part in _wrapped(line, terminal))


def error(given: EvalframeError, terminal: Terminal) -> str:
    """What went wrong in the colour of what is bad, and what to do about it in bold; longer lines are broken."""
    what, *facts, hint = str(given).splitlines()
    roles = {what: BAD, hint: STRONG}
    return "\n".join(
        terminal.paint(part, roles.get(line)) for line in (what, *facts, hint) for part in _wrapped(line, terminal)
    )


def verdict(text: str, terminal: Terminal, code: int = ExitCode.OK) -> str:
    """One line that says how it stands, with its mark and colour; in a pipe, the line."""
    if terminal.width is None and not terminal.colours:
        return text
    return "\n".join(_heads([text], terminal, code))


def _heads(headlines: Sequence[str], terminal: Terminal, code: int | None) -> Iterator[str]:
    for number, line in enumerate(headlines):
        mark, role = "", STRONG if number == 0 else _role_in(line)
        if number == 0 and code is not None:
            mark = {ExitCode.OK: "✓ ", ExitCode.NOT_COMPARABLE: "≠ "}.get(ExitCode(code), "✗ ")
            role = GOOD if code == ExitCode.OK else BAD
        for part in _wrapped(f"{mark}{printable(line)}", terminal):
            yield terminal.paint(part, role)


def _role_in(line: str) -> str | None:
    """A line that warns is in the colour of what is bad; the word in it is what warns."""
    return BAD if any(word in line for word in ("FAILED", "TAINTED")) else None


def _table(table: pa.Table, terminal: Terminal) -> Iterator[str]:
    width = terminal.width or ENDLESS
    fitted = layout.fitted(_columns(table), width)

    def paint(text: str, value: str) -> str:
        return terminal.paint(text, role_of(value))

    yield from layout.lines(fitted, width, paint)
    if fitted.same:
        yield terminal.paint("in every row:", SOFT)
        yield from layout.named(fitted.same, width, paint)


def _columns(table: pa.Table) -> list[layout.Column]:
    from evalframe.verbs import cells as values
    from evalframe.verbs import drawing

    made = []
    for place, field in enumerate(table.schema):
        cells = tuple(drawing.figures(values.listed(table[place])))
        number = drawing.is_number(field.type) or all(map(_NUMBER.fullmatch, cells))
        made.append(layout.Column(printable(field.name), cells, number))
    return made


def _wrapped(line: str, terminal: Terminal) -> list[str]:
    from evalframe.verbs import drawing

    return drawing.wrapped(line, terminal.width or ENDLESS)
