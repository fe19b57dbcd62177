"""What Python callers may write for a verb: text where it takes a path, numbers where a command line spells them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar, cast

Verb = TypeVar("Verb", bound=Callable[..., Any])


def spelled(value: Any) -> Any:
    """A number or truth value as the text that a command line would hold (2.0, 1e-12, true); all else as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    return str(value) if isinstance(value, Decimal) else value


def loosely(verb: Verb) -> Verb:
    """`verb` that reads text where it is annotated to take a `Path`, and numbers where it takes text, lists of text or
    a mapping to text. Annotations are read as they are written, so the module must not evaluate them."""
    names = verb.__code__.co_varnames[: verb.__code__.co_argcount]
    reads = {name: read for name, kind in verb.__annotations__.items() if (read := _reader(kind)) is not None}

    @wraps(verb)
    def called(*given: Any, **named: Any) -> Any:
        placed = [reads.get(name, _as_it_is)(value) for name, value in zip(names, given, strict=False)]
        placed += given[len(names) :]  # more than it takes, which it refuses itself
        return verb(*placed, **{name: reads.get(name, _as_it_is)(value) for name, value in named.items()})

    return cast(Verb, called)


def _reader(kind: str) -> Callable[[Any], Any] | None:
    kinds = frozenset(kind.split(" | ")) - {"None"}
    if kinds == {"Path"}:
        return lambda value: Path(value) if isinstance(value, str) else value
    if kinds == {"str"}:
        return spelled
    if kinds == {"Sequence[str]", "str"}:
        return _each_spelled
    if kinds == {"Mapping[str, str]"}:
        return lambda value: {n: spelled(v) for n, v in value.items()} if isinstance(value, Mapping) else value
    return None


def _each_spelled(value: Any) -> Any:
    one = isinstance(value, str) or not isinstance(value, Iterable)
    return spelled(value) if one else [*map(spelled, value)]


def _as_it_is(value: Any) -> Any:
    return value
