"""The names that a caller gives a run. They go into tables, paths and JSON, so what is no text is refused first."""

from __future__ import annotations

from collections.abc import Mapping

from evalframe.store import layout


def named(run_id: str | None, default: str, tags: Mapping[str, str] | None = None) -> str:
    """`run_id`, or `default` where it is null. Raises UsageError where it, or a tag, has a lone surrogate."""
    name = default if run_id is None else run_id
    layout.utf8(name, "a run id")
    layout.refuse_no_text(tags or {})
    return name
