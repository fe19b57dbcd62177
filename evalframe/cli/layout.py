"""A table on a screen of so many columns. Nothing is cut so that two values look alike, and no number is broken.

What does not fit gives way in this order: columns that are empty, digests (to a start that tells them apart), columns
that say the same in every row (said once, below), long text (on further lines of its cell), and at last the columns on
the right, each on lines of its own below its row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

GAP = "  "
LEAST_DIGEST, INDENT, SHORT = 10, 4, 16
_DIGEST = re.compile(r"(ef\d+-)?[0-9a-f]{16,}\Z")
_PIECES = re.compile(r"[^ ,/_]*[ ,/_]*")

Paint = Callable[[str, str], str]
"""(text as it is placed, value of the cell) -> text as it is printed."""


class Column(NamedTuple):
    """A heading and its cells as text. number: placed to the right, and never broken."""

    name: str
    cells: tuple[str, ...]
    number: bool = False

    @property
    def natural(self) -> int:
        """The width at which nothing is broken."""
        return max(map(wide, (self.name, *self.cells)))

    @property
    def least(self) -> int:
        """The width at which no word, no number and no short text is broken."""
        short = self.number or self.natural <= SHORT
        parts = self.cells if short else (piece for cell in self.cells for piece in pieces(cell))
        return max(map(wide, (*pieces(self.name), *parts)), default=0)


class Layout(NamedTuple):
    """Columns side by side with their widths, those below each row, and what is the same in every row."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    below: tuple[Column, ...]
    same: tuple[tuple[str, str], ...]


def fitted(columns: Sequence[Column], width: int) -> Layout:
    """How `columns` stand on a screen `width` wide. The first is what names a row, and always stands in it."""
    first, *rest = columns
    kept = [first, *(column for column in shortened(rest) if any(column.cells))]
    same: list[tuple[str, str]] = []
    while _line([c.natural for c in kept]) > width:
        alike = [c for c in kept[1:] if len(c.cells) > 1 and len(set(c.cells)) == 1]
        if not alike:
            break
        gone = max(alike, key=lambda column: column.natural)
        kept.remove(gone)
        same.append((gone.name, gone.cells[0]))
    below: list[Column] = []
    while len(kept) > 1 and _line([first.natural, *(c.least for c in kept[1:])]) > width:
        below.insert(0, kept.pop())
    order = [column.name for column in columns]
    same.sort(key=lambda pair: order.index(pair[0]))
    return Layout(tuple(kept), tuple(_widths(kept, width)), tuple(below), tuple(same))


def lines(layout: Layout, width: int, paint: Paint = lambda text, value: text) -> Iterator[str]:
    """The lines of a table: headings, a rule, and every row with what stands below it."""
    yield from _row([c.name for c in layout.columns], layout, paint=lambda text, value: text, heading=True)
    yield GAP.join("─" * w for w in layout.widths)
    # What stands below a row is told from the next row by a name and a colon.
    for number in range(len(layout.columns[0].cells)):
        yield from _row([c.cells[number] for c in layout.columns], layout, paint=paint)
        said = [(c.name, c.cells[number]) for c in layout.below if c.cells[number]]
        yield from named(said, width, paint)


def named(pairs: Iterable[tuple[str, str]], width: int, paint: Paint = lambda text, value: text) -> Iterator[str]:
    """`name: value` after `name: value`, indented, on as many lines as they need."""
    line, used = "", 0
    for given, value in pairs:
        name = f"{given}:"
        room = width - INDENT - wide(name) - 1
        parts = broken(value, room) if wide(value) > room > 0 else [value]
        text = f"{name} {paint(parts[0], value)}"
        long = wide(name) + 1 + wide(parts[0])
        if line and used + len(GAP) + long > width:
            yield line
            line = ""
        line, used = (f"{line}{GAP}{text}", used + len(GAP) + long) if line else (" " * INDENT + text, INDENT + long)
        for part in parts[1:]:
            yield line
            line, used = " " * (INDENT + wide(name) + 1) + paint(part, value), INDENT + wide(name) + 1 + wide(part)
    if line:
        yield line


def shortened(columns: Sequence[Column]) -> list[Column]:
    """Digests by the fewest first characters that tell all of them in the table apart, at least ten of the hex ones."""
    given = {cell for column in columns for cell in column.cells if _DIGEST.match(cell)}
    length = LEAST_DIGEST
    while len({_start(cell, length) for cell in given}) < len(given):
        length += 1
    short = {cell: f"{_start(cell, length)}…" for cell in given if len(_start(cell, length)) + 1 < len(cell)}
    return [c._replace(cells=tuple(short.get(cell, cell) for cell in c.cells)) for c in columns]


def _start(digest: str, length: int) -> str:
    return digest[: digest.find("-") + 1 + length]


def broken(text: str, width: int) -> list[str]:
    """`text` on lines of at most `width`: after a space, comma, slash or underscore; anywhere in a longer word."""
    found, line = [], ""
    for piece in pieces(text):
        if line and wide(line) + wide(piece.rstrip()) > width:
            found.append(line.rstrip())
            line = ""
        while wide(piece.rstrip()) > width:
            cut = next(n for n in range(len(piece), 0, -1) if wide(piece[:n]) <= max(width, 2))
            found.append(piece[:cut])
            piece = piece[cut:]
        line += piece
    return [*found, line.rstrip()] if line.strip() or not found else found


def pieces(text: str) -> list[str]:
    """What a line may be broken between."""
    return [piece for piece in _PIECES.findall(text) if piece]


def wide(text: str) -> int:
    """Columns that `text` takes: two for a full-width character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )  # fmt: skip


def _line(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """Natural widths, the widest column that may be broken narrowed until a line fits."""
    widths = [c.natural for c in columns]
    floor = [min(c.least if i else c.natural, width) for i, c in enumerate(columns)]
    while _line(widths) > width:
        free = [i for i, w in enumerate(widths) if w > floor[i]]
        if not free:
            break
        # A heading on two lines costs one line of the screen, a cell on two lines one for each row.
        heading = [i for i in free if max(map(wide, columns[i].cells), default=0) < widths[i]]
        widths[max(heading or free, key=widths.__getitem__)] -= 1
    return widths


def _row(cells: Sequence[str], layout: Layout, *, paint: Paint, heading: bool = False) -> Iterator[str]:
    parts = [broken(c, w) if wide(c) > w else [c] for c, w in zip(cells, layout.widths, strict=True)]
    height = max(map(len, parts))
    for line in range(height):
        placed = []
        for value, part, column, width in zip(cells, parts, layout.columns, layout.widths, strict=True):
            at = line - (height - len(part)) if heading else line
            text = part[at] if 0 <= at < len(part) else ""
            pad = " " * max(0, width - wide(text))
            placed.append(pad + paint(text, value) if column.number else paint(text, value) + pad)
        yield GAP.join(placed).rstrip()
