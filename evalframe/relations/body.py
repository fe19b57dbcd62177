"""The shape of a body: its common table expressions by name, so that each can be shown and tested alone."""

from __future__ import annotations

from evalframe.identity import sql_tokens
from evalframe.relations.plan import quoted


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
