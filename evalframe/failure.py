"""What an error is: a code, an exit code and four lines that say what to do. The errors themselves are in `errors`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """What the process says when it ends."""

    OK = 0
    GATE_FAILED = 1  # a gate or a regression check failed
    USAGE = 2  # usage, or input that cannot be read
    NOT_COMPARABLE = 3  # the comparison, or a metric it was asked for, is not one
    CONTRACT = 4  # contract or protocol violation: bad data, leaked calibration
    MISMATCH = 5  # audit, digest or parity mismatch
    INTERRUPTED = 130


class EvalframeError(Exception):
    """Base of all typed errors. `what`, `expected`, `found` and `hint` are one line each; `where` names the place."""

    code: ClassVar[str] = "EF000"
    exit_code: ClassVar[ExitCode] = ExitCode.USAGE

    def __init__(self, what: str, *, expected: str, found: str, hint: str, where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.expected = expected
        self.found = found
        self.hint = hint
        self.where = where

    def __reduce__(self) -> tuple[Any, ...]:
        # As it was raised in another process: what it was made of is given by name there.
        return _again, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        lines = (
            f"{self.code} {self.what}{place}",
            f"  expected: {self.expected}",
            f"  found:    {self.found}",
            f"  hint:     {self.hint}",
        )
        return "\n".join(printable(line) for line in lines)

    def to_json(self) -> dict[str, str]:
        """The object that `--json` prints under `error`."""
        return {
            "code": self.code,
            "what": self.what,
            "expected": self.expected,
            "found": self.found,
            "where": self.where,
            "hint": self.hint,
        }


def _again(kind: type[EvalframeError], args: tuple[Any, ...], parts: Mapping[str, Any]) -> EvalframeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(parts)
    return error


def printable(text: str, limit: int = 2000) -> str:
    """`text` on one line, with control and direction characters escaped: ids in messages come from outside."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def harmless_json(text: str) -> str:
    """JSON text in which no character but the line end moves a cursor or changes a direction; it means the same."""
    if text.replace("\n", "").isprintable():
        return text
    import json

    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
