"""Limits on what a file may ask for, raised by environment variables: for the one file of your own that needs it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from evalframe.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

L = TypeVar("L", bound="DataclassInstance")


def from_environment(defaults: L, prefix: str, environment: Mapping[str, str] | None = None) -> L:
    """`defaults` with the counts given as <PREFIX><FIELD> over them. UsageError where one is no count."""
    given = os.environ if environment is None else environment
    chosen: dict[str, int] = {}
    for field in fields(defaults):
        variable = prefix + field.name.upper()
        text = given.get(variable)
        if text is None:
            continue
        if not (text.isascii() and text.isdigit()):
            raise UsageError(
                f"{variable} is not a count", expected="a whole number", found=repr(text), hint=f"unset {variable}"
            )
        chosen[field.name] = int(text)
    return replace(defaults, **chosen)
