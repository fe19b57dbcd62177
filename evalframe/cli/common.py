"""Option types that several commands share, and the one way a result is printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evalframe.cli.terminal import Terminal
from evalframe.errors import UsageError, harmless_json, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.verbs.results import Rows


class Format(StrEnum):
    """How a table is printed. `table` is drawn for people; the others are data."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"
    LATEX = "latex"
    HTML = "html"


StoreOption = Annotated[str, Parameter(help="Folder of the store, or its URI (s3://bucket/results).")]
OptionalStore = Annotated[str | None, Parameter(help="Folder or URI of a store to seal the run and its results in.")]
RunIdOption = Annotated[str | None, Parameter(help="Name of the run; default: the name of the input file.")]
TagOption = Annotated[
    list[str] | None, Parameter(help="KEY=VALUE labels of the run: method, model, dataset, fold, seed.")
]
SetOption = Annotated[list[str] | None, Parameter(name="--set", help="NAME=VALUE protocol parameters.")]
KeyOption = Annotated[list[str] | None, Parameter(help="NAME=KEY where the file names a field differently.")]
JsonOption = Annotated[bool, Parameter(help="One JSON object on stdout, also on failure.")]
ForceOption = Annotated[bool, Parameter(help="Overwrite an output file that holds a different result.")]
ReplicatesOption = Annotated[int, Parameter(help="Draws of the bootstrap and of the permutation test.")]
RelationsOption = Annotated[Path | None, Parameter(name="--relations", help="Folder of your own relations.")]


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dictionary; a word without `=` or a name given twice is refused."""
    found: dict[str, str] = {}
    for word in given or ():
        name, sign, value = word.partition("=")
        if not sign or not name or name in found:
            raise UsageError(
                f"{option} takes NAME=VALUE, each name once",
                expected="NAME=VALUE",
                found=repr(word),
                where=option,
                hint=f"{option} {name or 'NAME'}=VALUE",
            )
        found[name] = value
    return found


def one_format(**given: Any) -> None:
    """Refuse `--json` beside another `--format` before anything is done; `given` are the options as they were typed.

    The `--format` of `import` is another word, that of the files it reads.
    """
    format = given.get("format")
    if given.get("json") and isinstance(format, StrEnum) and format.value != Format.JSON.value:
        raise UsageError(
            "--json and --format ask for different things",
            expected="one of the two",
            found=f"--json --format {format.value}",
            where="--format",
            hint=f"leave out --json, or --format {format.value}",
        )


def say(text: str) -> None:
    """A note of one line for people: stderr, so that stdout stays data."""
    print(printable(text), file=sys.stderr)


def say_lines(text: str) -> None:
    """A drawing for people beside data: stderr, and a blank line after it."""
    print("\n".join(map(printable, text.splitlines())), end="\n\n", file=sys.stderr)


def put(text: str) -> None:
    """Text on stdout, ended by one newline; what the terminal's encoding cannot show is escaped, never an error."""
    sys.stdout.write(Terminal.of().spelled(text if text.endswith("\n") else text + "\n"))


def _seen(text: str) -> str:
    """Data as it is; where a terminal would obey what stands in it, without control characters."""
    if not sys.stdout.isatty():
        return text
    return "\n".join(printable(line, limit=sys.maxsize) for line in text.split("\n"))


def put_parts(parts: Sequence[str | pa.Table]) -> None:
    """Text and tables for people; text is broken at words where a terminal ends."""
    from evalframe.cli import screen

    put(screen.parts(parts, Terminal.of()))


def put_rows(found: Rows, code: int | None = None) -> None:
    """A result for people. code: the exit code, where it is a verdict on what was looked at."""
    from evalframe.cli import screen

    put(screen.result(found, Terminal.of(), code))


def show(table: pa.Table, format: Format = Format.TABLE, headlines: Sequence[str] = ()) -> None:
    """Print a table. Headlines are talk: they stand above a drawn table and are left out of data formats."""
    from evalframe.cli import screen
    from evalframe.verbs import drawing

    if format is Format.TABLE:
        put(screen.rows(table, Terminal.of(), headlines))
    elif format is Format.JSON:
        put(harmless_json(json.dumps(drawing.rows(table), ensure_ascii=False, allow_nan=False, indent=1)))
    elif format is Format.CSV:
        put(_seen(drawing.csv(table)))
    else:
        drawn = {Format.MD: drawing.markdown, Format.LATEX: drawing.latex, Format.HTML: drawing.html}
        put(drawn[format](table))


def show_rows(found: Rows, format: Format = Format.TABLE, code: int | None = None) -> None:
    """Print a result: all columns as data, those for people in a terminal, with marks and their legend in a paper.

    code: the exit code, where it is a verdict.
    """
    from evalframe.verbs import drawing

    papers = {Format.MD: drawing.markdown_page, Format.LATEX: drawing.latex, Format.HTML: drawing.html_page}
    if format in papers:
        put(papers[format](drawing.without_empty(found.paper()), found.headlines(), found.legend()))
    elif format is Format.TABLE:
        put_rows(found, code)
    else:
        show(found.table, format)


def show_json(body: Mapping[str, Any], command: str, protocol: dict[str, str] | None = None) -> None:
    """Print the one JSON object of `--json`."""
    from evalframe.verbs.outputs import to_json

    put(to_json(command, body, protocol))
