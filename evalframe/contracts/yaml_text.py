"""YAML from outside: plain values only, and one kind of error for whatever is wrong with the text."""

from __future__ import annotations

from typing import Any

import yaml

DEPTH = 100
"""Levels of nesting that are read; a document of ours has about ten."""

UNFOLDED = 1_000_000
"""Values that a document with aliases may stand for."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is ten times as fast


def parsed(text: str) -> Any:
    """The value of a YAML document. Raises yaml.YAMLError for anything that is none.

    That includes numbers and dates that Python has not, nesting that would overflow a stack, and aliases by which a
    value contains itself or a short text stands for more than memory holds.
    """
    try:
        value = yaml.load(text, Loader=_LOADER)
        if "*" in text or max(map(text.count, "[{-?")) > DEPTH:
            _unfolded(value, {}, 0)
    except yaml.YAMLError:
        raise
    except (ValueError, OverflowError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise yaml.YAMLError(f"a value that cannot be meant: {error}") from None
    return value


def _unfolded(value: Any, known: dict[int, int], depth: int) -> int:
    """How many values `value` stands for, each counted as often as it is read."""
    if not isinstance(value, dict | list | set):
        return 1
    if depth > DEPTH:  # a value that contains itself is as deep as one looks
        raise yaml.YAMLError(f"values nested more than {DEPTH} deep")
    if id(value) not in known:
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_unfolded(each, known, depth + 1) for each in inner)
    if known[id(value)] > UNFOLDED:
        raise yaml.YAMLError(f"aliases that unfold to more than {UNFOLDED} values")
    return known[id(value)]
