"""A JSON list or JSON lines -> objects, one at a time: never more than one row and one chunk in memory.

Stricter than the json module: NaN and Infinity are refused, and so is a key that is written twice, since one of its
values would be dropped unseen. A byte order mark is passed over.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from evalframe.errors import ChoiceRowRefused, FileUnreadable, RowTooLong
from evalframe.sources.fields import unpacking, unreadable
from evalframe.sources.strict_json import STRICT, NotANumber, RepeatedKey

ROW_LIMIT = 16 << 20
"""Bytes that one row may take (characters, in a list). A longer one is refused before more of it is read."""

_CHUNK = 1 << 20
_MARK = b"\xef\xbb\xbf"


def read_objects(path: Path, row_limit: int = ROW_LIMIT) -> Iterator[dict[str, Any]]:
    """Every object of the file in order: the elements of one JSON list, or one object a line; blank lines are skipped.

    Raises FileUnreadable (not there, not JSON, not UTF-8, cut off), RowTooLong, or ChoiceRowRefused (NaN, a key written
    twice, a row that is no object); each names the row, from 0.
    """
    try:
        with path.open("rb") as file:
            if _first_sign(file) == b"[":
                with path.open(encoding="utf-8-sig") as text:
                    yield from _elements(text, path, row_limit)
            else:
                file.seek(0)
                yield from _lines(file, path, row_limit)
    except OSError as error:
        raise unreadable(path, error) from None


def _first_sign(file: IO[bytes]) -> bytes:
    """The first byte that is no white space, after a byte order mark; empty where there is none."""
    block = file.read(_CHUNK).removeprefix(_MARK)
    while block and not block.strip():
        block = file.read(_CHUNK)
    return block.strip()[:1]


def _lines(file: IO[bytes], path: Path, row_limit: int) -> Iterator[dict[str, Any]]:
    row = 0
    while line := file.readline(row_limit + 1):
        if len(line) > row_limit:
            _refuse_length(path, row, row_limit)
        line = line.removeprefix(_MARK) if row == 0 else line
        if not line.strip():
            continue
        with _told(path, row):
            found = STRICT.decode(line.decode("utf-8"))
        yield _object_only(found, path, row)
        row += 1


class _Window:
    """The part of a list that is being read: text from `at` on, refilled a chunk at a time."""

    def __init__(self, file: IO[str], path: Path) -> None:
        self._file = file
        self._path = path
        self.text, self.at, self.at_end = "", 0, False

    def fill(self, row: int) -> None:
        """Append at least one chunk; as much as there is already, so that a long row is tried only a few times."""
        with _told(self._path, row):
            more = self._file.read(max(_CHUNK, len(self.text) - self.at))
        self.text, self.at, self.at_end = self.text[self.at :] + more, 0, not more

    def next_sign(self, row: int) -> str:
        """Pass over white space; the sign that follows, which stays, or the empty text at the end of the file."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text) or self.at_end:
                return self.text[self.at : self.at + 1]
            self.fill(row)


def _elements(file: IO[str], path: Path, row_limit: int) -> Iterator[dict[str, Any]]:
    window = _Window(file, path)
    row = 0
    expected = "["
    while True:
        sign = window.next_sign(row)
        if sign == "]" and (row == 0 or expected == ","):
            window.at += 1
            if window.next_sign(row):
                _refuse_text(path, row, "text after the end of the list")
            return
        if sign != expected:
            _refuse_text(path, row, f"{sign or 'the end of the file'!r} instead of {expected!r}")
        window.at += 1
        if window.next_sign(row) == "]" and expected == "[":
            continue
        yield _element(window, path, row, row_limit)
        row += 1
        expected = ","


def _element(window: _Window, path: Path, row: int, row_limit: int) -> dict[str, Any]:
    sign = window.next_sign(row)
    if sign in ("", ",", "]"):
        _refuse_text(path, row, f"{sign or 'the end of the file'!r} instead of a row")
    if sign != "{":
        _object_only(None, path, row)
    while True:
        try:
            with _told(path, row):
                found, end = STRICT.raw_decode(window.text, window.at)
        except FileUnreadable as refusal:
            cause = refusal.__cause__
            if window.at_end or not (isinstance(cause, json.JSONDecodeError) and _may_go_on(cause)):
                raise
            if len(window.text) - window.at > row_limit:
                _refuse_length(path, row, row_limit)
            window.fill(row)
        else:
            window.at = end
            return _object_only(found, path, row)


def _may_go_on(error: json.JSONDecodeError) -> bool:
    """Whether the fault may only be that the text read so far ends here; no token but a text is longer than this."""
    return error.msg.startswith("Unterminated string") or error.pos > len(error.doc) - 400


@contextmanager
def _told(path: Path, row: int) -> Iterator[None]:
    """What the json module and the codec say, as typed errors that name the row."""
    try:
        yield
    except NotANumber as error:
        raise _refused(path, row, "JSON numbers", str(error)) from error
    except RepeatedKey as error:
        raise _refused(path, row, "every key once", f"{str(error)!r} twice") from error
    except RecursionError as error:
        raise _broken(path, row, "nested too deep") from error
    except ValueError as error:  # json.JSONDecodeError and UnicodeDecodeError among them; integers of 5,000 digits
        raise _broken(path, row, str(error)) from error


def _object_only(value: Any, path: Path, row: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refused(path, row, "an object {...}", "another value")
    return value


def _refuse_text(path: Path, row: int, found: str) -> NoReturn:
    raise _broken(path, row, found)


def _refuse_length(path: Path, row: int, row_limit: int) -> NoReturn:
    raise RowTooLong(
        f"a row of {path.name} is too long",
        expected=f"at most {row_limit} bytes a row",
        found=f"more in row {row} (from 0)",
        where=str(path),
        hint=f"head -c 1000 {shlex.quote(str(path))}  # JSON lines need a line break after each row",
    )


def _broken(path: Path, row: int, found: str) -> FileUnreadable:
    lines = "--json-lines " if path.suffix == ".jsonl" else ""
    return FileUnreadable(
        f"{path.name} cannot be read",
        expected="a JSON list of objects, or one JSON object a line, in UTF-8",
        found=f"{found}, in row {row} (from 0)",
        where=str(path),
        hint=unpacking(path) or f"python -m json.tool {lines}{shlex.quote(str(path))} > /dev/null",
    )


def _refused(path: Path, row: int, expected: str, found: str) -> ChoiceRowRefused:
    return ChoiceRowRefused(
        "a row is not what it must be",
        expected=expected,
        found=f"{found} in row {row} (from 0)",
        where=str(path),
        hint="evalframe explain choice_questions",
    )
