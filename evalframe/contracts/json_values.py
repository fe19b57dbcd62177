"""JSON as strictly as a contract needs it, and its values as values of a physical type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from evalframe.contracts import physical

# How decimals and times are spelled; Python's own parsers also take 1_000 and cut off what is finer than microseconds.
DECIMAL = r"^-?[0-9]{1,23}(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"
TIMESTAMP = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})$"
_DIGITS = Context(prec=38)  # Python's own precision is 28


def parse_json(text: str | bytes) -> Any:
    """One JSON value. ValueError for what is not JSON, for NaN and Infinity, and for a key written twice."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is written twice")
    return made


def value_of(value: Any, kind: str) -> Any:
    """A JSON value as the Python value of physical type `kind`; ValueError where it is of another. Null is null."""
    if value is None:
        return None
    inner = physical.element(kind)
    if inner:
        return [value_of(v, inner) for v in _only(value, list)]
    return _VALUES[kind](value)


def _only(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:  # not isinstance: true is an int to it
        raise ValueError(f"{value!r} is of another type")
    return value


def _text(value: Any) -> str:
    text: str = _only(value, str)
    text.encode("utf-8")  # JSON can spell half a surrogate pair: a ValueError here
    return text


def _integer(value: Any) -> int:
    number: int = _only(value, int)
    if not -(2**63) <= number < 2**63:
        raise ValueError("wider than 64 bits")
    return number


def _number(value: Any) -> float:
    number = _only(value, int, float)
    if isinstance(number, int) and abs(number) > 2**53:
        raise ValueError("no double holds every integer of this size")
    return float(number)


def _decimal(value: Any) -> Decimal:
    """38 digits, 15 of them decimals, from a number or from its text."""
    try:
        number = Decimal(_spelled(str(_only(value, int, float, str)), DECIMAL))
        scaled = number.quantize(Decimal("1e-15"), context=_DIGITS)
    except InvalidOperation as error:
        raise ValueError("not a decimal of 38 digits") from error
    if scaled != number:
        raise ValueError("more than 15 decimals")
    return scaled


def _time(value: Any) -> datetime:
    return datetime.fromisoformat(_spelled(_only(value, str), TIMESTAMP)).astimezone(UTC)


def _spelled(text: str, spelling: str) -> str:
    if not re.fullmatch(spelling, text, re.ASCII):
        raise ValueError(f"{text!r} is spelled otherwise")
    return text


def _map(value: Any) -> list[tuple[str, str | None]]:
    return [(_text(k), None if v is None else _text(v)) for k, v in _only(value, dict).items()]


_VALUES: dict[str, Callable[[Any], Any]] = {
    "utf8": _text,
    "int64": _integer,
    "float64": _number,
    "bool": lambda value: _only(value, bool),
    "decimal128(38,15)": _decimal,
    "timestamp[us, UTC]": _time,
    physical.MAP: _map,
}
