"""The shape of a body: its common table expressions by name, and where it reads parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evalframe.identity import sql_tokens
from evalframe.relations.catalogue import PARAMETERS
from evalframe.relations.plan import literal, quoted

PARAMETER_READ = re.compile(
    rf"\(\s*SELECT\s+(?:\w+\s*\.\s*)?value\s+FROM\s+{PARAMETERS}\s+(?:(?:AS\s+)?\w+\s+)?"
    r"WHERE\s+(?:\w+\s*\.\s*)?name\s*=\s*'(?P<name>[^']*)'\s*\)",
    re.IGNORECASE,
)
"""A scalar subquery for one parameter."""


def with_values(body: str, parameters: Mapping[str, str]) -> str:
    """`body` with the parameters that it reads as literals, so that an engine can leave out what a value rules out."""
    return PARAMETER_READ.sub(
        lambda read: literal(parameters[read["name"]]) if read["name"] in parameters else read[0], body
    )


def cte_names(body: str) -> tuple[str, ...]:
    """Names of the top-level common table expressions, in order; () where the body has none."""
    return tuple(name for name, _ in _ctes(body)[0])


def cte_query(body: str, cte: str) -> str:
    """A query for the rows of one common table expression of `body`. Raises KeyError for a name that is not one."""
    ctes, main = _ctes(body)
    if cte not in dict(ctes):
        raise KeyError(cte)
    return f"{body[:main]}SELECT * FROM {quoted(cte)}"


def _ctes(body: str) -> tuple[list[tuple[str, int]], int]:
    """(name, offset) of each top-level CTE and the offset where the main query begins."""
    tokens = list(sql_tokens(body))
    if not tokens or tokens[0][0].upper() != "WITH":
        return [], 0
    found: list[tuple[str, int]] = []
    depth, expect_name = 0, True
    for token, at in tokens[1:]:
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
        elif depth == 0:
            if token == ",":
                expect_name = True
            elif expect_name and token.upper() != "RECURSIVE":
                found.append((_unquoted(token), at))
                expect_name = False
            elif token.upper() in ("SELECT", "FROM", "VALUES"):
                return found, at
    return found, len(body)


def _unquoted(token: str) -> str:
    return token[1:-1].replace('""', '"') if token.startswith('"') else token
