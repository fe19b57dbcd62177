"""One HTML page that needs nothing else: text, tables, charts, and the library that draws them.

Only the page's own script may run, by its digest; nothing is fetched. Every text from outside is escaped, also inside
the data of a chart, where `<` has no place in JSON's own grammar and is written as an escape.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from evalframe.errors import ExtraMissing, printable
from evalframe.publish.charts import Spec

VEGA_LITE = "6.1"
_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Html:
    """Markup that is safe already: made here or by `drawing`, never given."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A chart with its caption and what must be known to read it."""

    caption: str
    spec: Spec
    note: str = ""


@dataclass
class Section:
    """A heading and what stands below it."""

    title: str
    anchor: str
    blocks: list[Html | Figure | list[Figure]] = field(default_factory=list)

    def say(self, text: str, kind: str = "") -> None:
        """A paragraph of plain text."""
        self.blocks.append(Html(paragraph(text, kind)))

    def table(self, html: str, legend: Sequence[str] = ()) -> None:
        """A table as `drawing.html` makes it, in a frame of its own that scrolls."""
        said = "".join(paragraph(line, "legend") for line in legend)
        self.blocks.append(Html(f'<div class="wide" tabindex="0">{html}</div>{said}'))

    def folded(self, summary: str, html: str) -> None:
        """What is there for those who look for it."""
        inside = f'<div class="wide" tabindex="0">{html}</div>'
        self.blocks.append(Html(f"<details><summary>{text(summary)}</summary>{inside}</details>"))


def text(given: str) -> str:
    """Plain text as markup: on one line, with nothing that moves a cursor, turns direction or opens a tag."""
    return escape(printable(given))


def paragraph(given: str, kind: str = "") -> str:
    """A paragraph of plain text; `kind` is a class of the style sheet."""
    return f'<p class="{kind}">{text(given)}</p>' if kind else f"<p>{text(given)}</p>"


def tiles(counts: Mapping[str, object]) -> Html:
    """Numbers at a glance: label -> number."""
    inside = "".join(
        f'<div class="tile"><b>{text(str(n))}</b><span>{text(label)}</span></div>' for label, n in counts.items()
    )
    return Html(f'<div class="tiles">{inside}</div>')


def page(title: str, lead: str, sections: Sequence[Section], top: Sequence[Html] = ()) -> str:
    """The whole page. Raises ExtraMissing where the library that draws charts is not installed."""
    specs: dict[str, Spec] = {}
    body = "".join(_section(section, specs) for section in sections)
    links = "".join(f'<a href="#{section.anchor}">{text(section.title)}</a>' for section in sections)
    script = drawing_script()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{text(title)}</title>\n<style>\n{_asset('page.css')}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{text(title)}</h1>\n{paragraph(lead, 'lead')}\n{''.join(block.text for block in top)}"
        f"<nav>{links}</nav>\n{body}\n</main>\n"
        f'<script type="application/json" id="specs">{json_in_html(specs)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def json_in_html(value: Any) -> str:
    """JSON that no parser of HTML can leave: keys sorted, never NaN, every `<` as an escape."""
    made = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return made.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def drawing_script() -> str:
    """The charting library and the few lines that call it, as one script. 0.9 MB."""
    try:
        import vl_convert
    except ImportError as error:
        raise ExtraMissing(
            "a report needs the library that draws charts",
            expected="the extra `report`",
            found=f"no module {error.name}",
            where="--output",
            hint="pip install 'evalframe[report]'",
        ) from None
    bundle = str(vl_convert.javascript_bundle(snippet=_asset("page.js"), vl_version=VEGA_LITE))
    return re.sub(r"</(?=script)", r"<\\/", bundle, flags=re.IGNORECASE)


def _section(section: Section, specs: dict[str, Spec]) -> str:
    inside = []
    for block in section.blocks:
        if isinstance(block, Html):
            inside.append(block.text)
        elif isinstance(block, Figure):
            inside.append(_figure(block, section.anchor, specs))
        else:
            figures = "".join(_figure(figure, section.anchor, specs) for figure in block)
            inside.append(f'<div class="charts">{figures}</div>')
    return f'<section id="{section.anchor}"><h2>{text(section.title)}</h2>{"".join(inside)}</section>\n'


def _figure(figure: Figure, anchor: str, specs: dict[str, Spec]) -> str:
    name = f"chart-{anchor}-{len(specs) + 1}"
    specs[name] = figure.spec
    note = paragraph(figure.note, "note") if figure.note else ""
    return (
        f'<figure><figcaption>{text(figure.caption)}</figcaption><div class="chart" id="{name}"></div>{note}</figure>'
    )


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
