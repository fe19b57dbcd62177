"""JSON as it is defined: no NaN, no Infinity, and no key that is written twice, since one value would be lost unseen.

`LENIENT` lets NaN and Infinity through, as the json module writes them, for files that hold much besides what is read;
whoever reads a number from one looks whether it is finite.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn


class NotANumber(ValueError):
    """NaN or an infinity, which JSON does not have."""


class RepeatedKey(ValueError):
    """A key that is written twice in one object."""


def _refuse_constant(name: str) -> NoReturn:
    raise NotANumber(name)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKey(next(name for name in names if names.count(name) > 1))
    return made


STRICT = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_distinct)
LENIENT = json.JSONDecoder(object_pairs_hook=_distinct)
