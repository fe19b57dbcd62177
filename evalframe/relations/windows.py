"""Window frames, read from the tokens: a parser resolves named windows and forgets whether a frame was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalframe.identity import sql_tokens

_FRAMES = frozenset({"ROWS", "RANGE", "GROUPS"})
_CLAUSES = frozenset({"PARTITION", "ORDER", *_FRAMES})
_FRAMELESS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LEAD", "LAG"})
"""Functions that look at no frame."""


def window_faults(sql: str) -> Iterator[str]:
    """Windows that another engine reads differently: refined named windows, aggregates without a frame."""
    tokens = [token for token, _ in sql_tokens(sql)]
    named = dict(_named_windows(tokens))
    for name, inside in named.items():
        if _refines(inside):
            yield f"WINDOW {name} AS ({' '.join(inside)})"
    for at, token in enumerate(tokens):
        if token.upper() != "OVER":
            continue
        if tokens[at + 1] == "(":
            inside = tokens[at + 2 : _closing(tokens, at + 1)]
            if _refines(inside):
                yield f"OVER ({' '.join(inside)})"
                continue
        else:
            inside = named.get(tokens[at + 1], [])
        upper = {inner.upper() for inner in inside}
        function = _function_before(tokens, at)
        if "ORDER" in upper and not upper & _FRAMES and function.upper() not in _FRAMELESS:
            yield f"{function}(...) OVER ({' '.join(inside)})"


def _named_windows(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for at, token in enumerate(tokens):
        if token.upper() != "WINDOW":
            continue
        while tokens[at + 2 : at + 4] and tokens[at + 2].upper() == "AS" and tokens[at + 3] == "(":
            end = _closing(tokens, at + 3)
            yield tokens[at + 1], list(tokens[at + 4 : end])
            if tokens[end + 1 : end + 2] != [","]:
                break
            at = end + 1


def _refines(inside: Sequence[str]) -> bool:
    return len(inside) > 1 and inside[0].upper() not in _CLAUSES


def _closing(tokens: Sequence[str], opening: int) -> int:
    depth = 0
    for at in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        if depth == 0:
            return at
    return len(tokens)


def _function_before(tokens: Sequence[str], at: int) -> str:
    """The function whose OVER stands at `at`: back over its arguments, and over FILTER (...) or IGNORE NULLS."""
    while True:
        while tokens[at - 1] != ")":
            at -= 1
        depth = 0
        for back in range(at - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(tokens[back], 0)
            if depth == 0:
                break
        if tokens[back - 1].upper() != "FILTER":
            return tokens[back - 1]
        at = back - 1
