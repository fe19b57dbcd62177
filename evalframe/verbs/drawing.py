"""How a table looks: aligned text, Markdown, LaTeX, CSV, JSON rows, HTML. The only place where a number is rounded."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import pyarrow as pa

from evalframe.errors import printable
from evalframe.verbs.cells import duration, jsonable, listed


def cell(value: object) -> str:
    """One value for people: six significant digits, UTC to the second, empty for null, nothing that moves a cursor."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, pa.MonthDayNano):
        return duration(value)
    if isinstance(value, list):
        return ", ".join("=".join(map(cell, v)) if isinstance(v, tuple) else cell(v) for v in value)
    return printable(str(value))


def figures(values: Sequence[Any]) -> list[str]:
    """The numbers of one column for a screen: equally many decimals where that shows them all, or four digits."""
    texts = [cell(value) for value in values]
    sizes = [abs(value) for value in values if isinstance(value, float) and value != 0]
    if not sizes or all(len(text) <= 5 for text in texts):
        return texts
    if not 1e-3 <= min(sizes) <= max(sizes) < 1e4:
        return [f"{value:.4g}" if isinstance(value, float) else text for value, text in zip(values, texts, strict=True)]
    decimals = 5 - len(str(int(max(sizes))))
    return [f"{v:.{decimals}f}" if isinstance(v, float) else text for v, text in zip(values, texts, strict=True)]


def without_empty(data: pa.Table) -> pa.Table:
    """The table without the columns that say nothing in any row; the first is kept."""
    first, *rest = data.column_names
    return data.select([first, *(name for name in rest if any(map(cell, listed(data[name]))))])


def wrapped(line: str, width: int) -> list[str]:
    """One line on as many of `width` as it needs: what goes on stands below its last column, or below its beginning."""
    if len(line) <= width:
        return [line]
    body = line.lstrip()
    start, gap = len(line) - len(body), body.rstrip().rfind("  ")
    hang = start + gap + 2 if 0 <= gap <= width // 2 else start or 2
    return wrap(line, width, subsequent_indent=" " * min(hang, width // 2), break_on_hyphens=False) or [line]


def table(data: pa.Table) -> str:
    """Columns aligned with spaces, every cell in full."""
    names = data.column_names
    body = [list(map(cell, listed(column))) for column in data.itercolumns()]
    numeric = [is_number(field.type) for field in data.schema]
    heads = [printable(name) for name in names]
    widths = [max([len(head), *map(len, column)]) for head, column in zip(heads, body, strict=True)]

    def line(cells: list[str]) -> str:
        placed = (t.rjust(w) if n else t.ljust(w) for t, w, n in zip(cells, widths, numeric, strict=True))
        return "  ".join(placed).rstrip()

    lines = [line(list(row)) for row in zip(*body, strict=True)]
    return "\n".join([line(heads), line(["-" * w for w in widths]), *lines])


def markdown(data: pa.Table) -> str:
    """A Markdown table; what would end a cell, or make a tag, a link or code of it, is escaped."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(re.sub(r"[\\|<\[`&]", r"\\\g<0>", c) for c in cells) + " |"

    rule = ["---:" if is_number(field.type) else "---" for field in data.schema]
    heads = [printable(name) for name in data.column_names]
    lines = [line(cells) for cells in _texts(data)]
    return "\n".join([line(heads), "| " + " | ".join(rule) + " |", *lines])


def csv(data: pa.Table) -> str:
    """RFC 4180 text at full precision: null is empty, lists and maps are JSON text, and no text is a formula."""
    import csv as writer

    from evalframe.publish.formulas import safe

    stream = io.StringIO()
    out = writer.writer(stream, lineterminator="\n")
    out.writerow([safe(name) for name in data.column_names])
    for row in zip(*map(_csv_values, data.itercolumns()), strict=True):
        cells = ("" if v is None else _csv_cell(v) for v in row)
        out.writerow([safe(cell) if isinstance(cell, str) else cell for cell in cells])
    return stream.getvalue()


def html(data: pa.Table) -> str:
    """An HTML table, every cell escaped; cells of numbers have the class `n`."""
    from html import escape

    kinds = [' class="n"' if is_number(field.type) else "" for field in data.schema]
    named = zip(kinds, data.column_names, strict=True)
    head = "".join(f"<th{kind}>{escape(printable(n))}</th>" for kind, n in named)
    lines = (
        "".join(f"<td{kind}>{escape(cell(v))}</td>" for kind, v in zip(kinds, row, strict=True))
        for row in zip(*map(listed, data.itercolumns()), strict=True)
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
    )


def html_page(data: pa.Table, headlines: Sequence[str] = (), legend: Sequence[str] = ()) -> str:
    """An HTML table between its headlines and its legend."""
    from html import escape

    above, below = (
        "".join(f"<p{kind}>{escape(printable(line))}</p>" for line in lines)
        for kind, lines in (("", headlines), (' class="legend"', legend))
    )
    return f"{above}{html(data)}{below}"


def markdown_page(data: pa.Table, headlines: Sequence[str] = (), legend: Sequence[str] = ()) -> str:
    """A Markdown table between its headlines and its legend, a paragraph each."""
    return "\n\n".join([*map(_md_text, headlines), markdown(data), *map(_md_text, legend)])


def latex(data: pa.Table, headlines: Sequence[str] = (), legend: Sequence[str] = ()) -> str:
    """A LaTeX tabular for any class, no package needed. Headlines are comments, the legend stands below the table."""
    alignment = "".join("r" if is_number(field.type) else "l" for field in data.schema)
    heads = " & ".join(_tex(name) for name in data.column_names)
    body = [" & ".join(map(_tex, cells)) + r" \\" for cells in _texts(data)]
    below = [rf"\\[2pt]{{\footnotesize {_tex(line)}}}" for line in legend]
    return "\n".join(
        [
            *(f"% {printable(line)}" for line in headlines),
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\hline",
            rf"{heads} \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            *below,
        ]
    )


def _texts(data: pa.Table) -> list[list[str]]:
    """The rows as text, the numbers of a column to equally many decimals."""
    columns = [figures(listed(column)) for column in data.itercolumns()]
    return [list(cells) for cells in zip(*columns, strict=True)]


def rows(data: pa.Table) -> list[dict[str, Any]]:
    """The rows as JSON values, which `cells.jsonable` says more of."""
    columns = [jsonable(column) for column in data.itercolumns()]
    return [dict(zip(data.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


_TEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",  # the named command is not in every font encoding
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "¶": r"\P{}",
    "↓": r"$\downarrow$",
    "…": r"\dots{}",
}


def _tex(text: str) -> str:
    # A bracket at the start of a line would be read as the option of the line break before it.
    spelled = "".join(_TEX.get(c, c) for c in printable(text))
    return f"{{{spelled}}}" if spelled.startswith(("[", "*")) else spelled


def _md_text(text: str) -> str:
    """A paragraph in which nothing is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|+~" else c for c in printable(text))


def _csv_values(column: pa.ChunkedArray) -> list[Any]:
    # A decimal is spelled with all its digits here, which a JSON number would not keep.
    return listed(column) if pa.types.is_decimal(column.type) else jsonable(column)


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, list | dict):
        return value
    import json

    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers, which are placed to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
