"""What a caller names: runs and tags, which go into tables, paths and JSON, metrics, parameters, numbers, and lists of
one thing or more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from evalframe.errors import UnknownName, UsageError
from evalframe.store import layout

if TYPE_CHECKING:
    from evalframe.inference.metadata import Layout
    from evalframe.protocols.base import Protocol

Thing = TypeVar("Thing", str, int, float, Path | str)


def listed(given: Thing | Iterable[Thing]) -> tuple[Thing, ...]:
    """What was given as a list; one text, path or number is a list of one, and no text is taken for its letters."""
    return (given,) if isinstance(given, str | Path | int | float) else tuple(given)


def named(run_id: str | None, default: str, tags: Mapping[str, str] | None = None) -> str:
    """`run_id`, or `default` where it is null. Raises UsageError where it, or a tag, has a lone surrogate."""
    name = default if run_id is None else run_id
    layout.utf8(name, "a run id")
    layout.refuse_no_text(tags or {})
    return name


def said_once(
    protocol: Protocol, settings: Mapping[str, str] | None, options: Mapping[str, str | None]
) -> dict[str, str]:
    """The settings with the parameters that have an option of their own; None where that was not given.

    Raises UsageError for one thing said twice differently: neither could win without a silent change of the numbers.
    """
    merged = dict(settings or {})
    for name, value in options.items():
        if value is None:
            continue
        if name in merged and protocol.settings({name: value}) != protocol.settings({name: merged[name]}):
            raise UsageError(
                f"{name} is set twice",
                expected="one value",
                found=f"{value} and {merged[name]}",
                where="--set",
                hint=f"--set {name}={value}",
            )
        merged[name] = value
    return merged


def none_or_more(number: int, option: str, refusal: str, hint: str) -> None:
    """Raise UsageError, which says `refusal`, for a number below 0."""
    if number < 0:
        raise UsageError(refusal, expected="0 or more", found=str(number), where=option, hint=hint)


def axes(layout: str) -> Layout:
    """The axes of signals as they are written everywhere, `NTC` or `NCT`. Raises UsageError for others."""
    if layout.upper() not in ("NTC", "NCT"):
        raise UsageError(
            "there is no such layout", expected="NTC or NCT", found=repr(layout), where="--layout", hint="--layout NTC"
        )
    return cast("Layout", layout.upper())


def no_metric(name: str, protocol: Protocol, known: Iterable[str], where: str = "--metric") -> UnknownName:
    """The error for a metric that is none of those that a protocol, or a run under it, has."""
    return UnknownName(
        f"{protocol.label} has no metric {name!r}",
        expected=", ".join(sorted(known)),
        found=name,
        where=where,
        hint=f"evalframe explain {protocol.label}",
    )
