"""What is under way: long loops say how far they are, and a command line that listens draws it.

Nothing is passed down for it. A loop names what it counts; where nobody listens, as in a library, that costs a look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[str, int, int], None]
"""Told (what is counted, how many are done, how many there are); the last call of a loop has both equal."""

T = TypeVar("T")
S = TypeVar("S", bound=Sized)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Loops inside tell `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(what: str, done: int, whole: int) -> None:
    """Say that `done` of `whole` are behind us; `done == whole` ends the loop."""
    if (listener := _listener.get()) is not None:
        listener(what, done, whole)


def portions(what: str, parts: Iterable[S], whole: int) -> Iterator[S]:
    """Parts of `whole` items, as many as each is long; told when a part is done."""
    done = 0
    tell(what, 0, whole)
    try:
        for part in parts:
            yield part
            if (done := done + len(part)) < whole:
                tell(what, done, whole)
    finally:
        tell(what, whole, whole)


def counted(what: str, items: Iterable[T], whole: int | None = None) -> Iterator[T]:
    """The items, each told when it is done. whole: how many there are, where `items` does not know."""
    if whole is None:
        items = items if isinstance(items, Sized) else list(items)
        whole = len(items)
    tell(what, 0, whole)
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if done < whole:
                tell(what, done, whole)
    finally:
        tell(what, whole, whole)
