"""What lint needs to know of a parsed query. Relations run nothing, so an engine's parser tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

Construct = Literal[
    "star",
    "not a select",
    "bind parameter",
    "file or engine function",
    "unstable value",
    "integer division",
    "uncast division",
    "decimal literal",
    "lambda",
    "slice",
    "ordered aggregate",
    "order-dependent aggregate",
    "asof join",
    "positional join",
    "nulls unplaced",
    "group by all",
]
"""Things a query may do that a layer may not allow; relations/lint.py says which and why."""


class Use(NamedTuple):
    """One construct and the text that makes it."""

    construct: Construct
    text: str


@dataclass(frozen=True)
class Syntax:
    """A parsed query.

    inputs: tables it reads, common table expressions left out. ctes: their names, at any depth. columns: names of the
    result, None where one has none. uses: constructs found, in the order of the text.
    """

    inputs: frozenset[str]
    ctes: tuple[str, ...]
    columns: tuple[str | None, ...]
    uses: tuple[Use, ...]


class SqlParser(Protocol):
    """Reads SQL without running or binding it. Raises RelationError for text that is not one query."""

    def syntax(self, sql: str) -> Syntax:
        """What the query reads, yields and uses."""

    def inputs_of(self, sql: str) -> frozenset[str]:
        """The tables the query reads."""
