"""One JSON document as a whole, of bounded size, taken apart value by value; every refusal names the place.

Nothing but JSON is parsed and nothing is executed. Text comes out in normal form C.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from evalframe.errors import FileUnreadable, RecordRefused
from evalframe.sources.fields import unreadable
from evalframe.sources.limits import from_environment
from evalframe.sources.strict_json import LENIENT, RepeatedKey
from evalframe.sources.values import shown

_PREFIX = "EVALFRAME_JSON_"
_WIDEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file of another tool may ask for. Each can be raised by an environment variable, EVALFRAME_JSON_<NAME>.

    document_bytes: one JSON document. member_bytes: one JSON document in an archive, unpacked. members: documents in an
    archive.
    """

    document_bytes: int = 512 << 20
    member_bytes: int = 64 << 20
    members: int = 1_000_000

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Limits:
        """The defaults, with EVALFRAME_JSON_DOCUMENT_BYTES and the like over them. UsageError where one is no count."""
        return from_environment(cls(), _PREFIX, environment)


def read_document(path: Path, limits: Limits | None = None) -> tuple[Any, str]:
    """(the value of the file, 64 hex of its SHA-256). Raises FileUnreadable: not there, too long, not JSON, cut off."""
    allowed = (limits or Limits.from_environment()).document_bytes
    try:
        with path.open("rb") as file:
            data = file.read(allowed + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(data) > allowed:
        raise too_long(str(path), path.name, "document_bytes", allowed, path.stat().st_size)
    return parsed(data, str(path), path.name), hashlib.sha256(data).hexdigest()


def parsed(data: bytes, where: str, name: str) -> Any:
    """The JSON value that `data` spells; NaN and Infinity come out as floats. Raises FileUnreadable."""
    try:
        return LENIENT.decode(data.decode("utf-8-sig"))
    except RecursionError:
        found = "values nested too deep"
    except RepeatedKey as error:
        found = f"the key {str(error)!r} twice in one object"
    except ValueError as error:  # json.JSONDecodeError and UnicodeDecodeError among them; integers of 5,000 digits
        found = str(error)
    raise FileUnreadable(
        f"{name} cannot be read",
        expected="one JSON document in UTF-8",
        found=found,
        where=where,
        hint=f"python -m json.tool {shlex.quote(where)} > /dev/null",
    )


def too_long(where: str, name: str, limit: str, allowed: int, found: int) -> FileUnreadable:
    """The refusal of what is over `limit`, a field of Limits."""
    return FileUnreadable(
        f"{name} is too large",
        expected=f"{limit.replace('_', ' ')} of at most {allowed}",
        found=str(found),
        where=where,
        hint=f"export {_PREFIX}{limit.upper()}={found}  # only for a file of your own",
    )


def plain(value: Any) -> Any:
    """`value` as JSON that every reader takes: what is no finite number, or no text, is null."""
    if isinstance(value, dict):
        return {_told(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return _told(value) if isinstance(value, str) else value


def spelled(value: Any) -> str:
    """`value` as JSON text, keys sorted; integers of any size stay what they are."""
    return json.dumps(plain(value), sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _told(text: str) -> str:
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


@dataclass(frozen=True, slots=True)
class Part:
    """One value of a document with the place it stands in. `where`: the file; `hint`: what to do about a refusal."""

    value: Any
    place: str
    where: str
    hint: str

    def at(self, name: str) -> Part:
        """The value under `name` of this object; a missing one is null."""
        return Part(self.fields().get(name), f"{self.place}.{name}" if self.place else name, self.where, self.hint)

    def fields(self) -> Mapping[str, Any]:
        """This value, which must be an object; null is an empty one."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            self.refuse("an object {...}")
        return self.value

    def names(self) -> tuple[str, ...]:
        """The keys of this object, each of which is a name and so must be Unicode text."""
        for name in self.fields():
            Part(name, f"the keys of {self.place or 'the document'}", self.where, self.hint).text()
        return tuple(self.fields())

    def parts(self) -> Iterator[Part]:
        """The elements of this value, which must be a list; null is an empty one."""
        if self.value is None:
            return
        if not isinstance(self.value, list):
            self.refuse("a list [...]")
        for index, inner in enumerate(self.value):
            yield Part(inner, f"{self.place}[{index}]", self.where, self.hint)

    def text(self) -> str | None:
        """Text in normal form; null and empty text are nothing."""
        if self.value is None or self.value == "":
            return None
        if not isinstance(self.value, str):
            self.refuse("text")
        try:
            self.value.encode("utf-8")
        except UnicodeEncodeError:
            self.refuse("Unicode text")
        return unicodedata.normalize("NFC", self.value)

    def name(self) -> str:
        """Text that must be there."""
        return self.text() or self.refuse("text")

    def identifier(self) -> str:
        """A name, or an integer as its digits."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        return self.name()

    def number(self) -> float | None:
        """A finite number; null is nothing."""
        if self.value is None:
            return None
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not _is_finite(self.value):
            self.refuse("a finite number")
        return float(self.value)

    def count(self) -> int | None:
        """A whole number from 0; null is nothing."""
        if self.value is None:
            return None
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not 0 <= self.value <= _WIDEST:
            self.refuse("a whole number from 0")
        return self.value

    def truth(self) -> bool | None:
        """true or false; null is nothing."""
        if self.value is not None and not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def refuse(self, expected: str, found: str | None = None, what: str = "") -> NoReturn:
        """Raise RecordRefused: `expected` is what should stand here."""
        found = found or ("nothing" if self.value is None else shown(self.value))
        raise RecordRefused(
            what or f"{self.place or 'the document'} cannot be used",
            expected=expected,
            found=f"{found} in {self.place}" if what and self.place else found,
            where=self.where,
            hint=self.hint,
        )


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no double holds
        return False
