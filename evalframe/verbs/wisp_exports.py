"""WISP: two exports of one data set compared, each aspect a finding of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.exports import Aspect, are_equal, compare_windows
from evalframe.audit.files import Files
from evalframe.errors import ExitCode
from evalframe.sources.signals import LabelledWindows
from evalframe.verbs.arguments import loosely
from evalframe.verbs.outputs import to_json, write_text
from evalframe.verbs.results import Rows
from evalframe.verbs.wisp_audit import checked_keys


@dataclass(frozen=True, repr=False)
class Compared(Rows):
    """One row per aspect. equal: whether nothing that decides differs."""

    a: LabelledWindows
    b: LabelledWindows
    aspects: tuple[Aspect, ...]

    @property
    def equal(self) -> bool:
        """Whether the exports are the same input to a decoder that uses the order of windows and no elapsed time."""
        return are_equal(self.aspects)

    @property
    def exit_code(self) -> ExitCode:
        """MISMATCH where they are not."""
        return ExitCode.OK if self.equal else ExitCode.MISMATCH

    def body(self) -> dict[str, Any]:
        """What OUT.json says."""
        return {
            "equal": self.equal,
            "findings": {
                aspect.name: {k: v for k, v in vars(aspect).items() if k != "name"} for aspect in self.aspects
            },
            "decides": [aspect.name for aspect in self.aspects if aspect.decides],
            "files": {
                side: {"path": each.where, "sha256": each.sha256, "n_windows": len(each.signals)}
                for side, each in (("a", self.a), ("b", self.b))
            },
        }

    def to_json(self) -> str:
        """OUT.json as text."""
        return to_json("wisp compare-exports", self.body())

    def headlines(self) -> list[str]:
        """What it comes to."""
        time = next(aspect for aspect in self.aspects if aspect.name == "time")
        told = "signals, participants, labels and order agree" if self.equal else "the exports differ"
        return [told + ("; time values differ, which decides nothing here" if time.equal is False else "")]


@loosely
def compare_exports(
    a: Path | str,
    b: Path | str,
    *,
    output: Path | None = None,
    keys: Mapping[str, str] | None = None,
    force: bool = False,
) -> Compared:
    """Compare two NPZ exports: signals (type, shape, bytes), participants, labels, order within participants, times.

    keys: what the files call a field; either may have it under our own name. Time values are told and decide nothing:
    seconds and ordinals of one order are the documented case. Raises as reading either file does.
    """
    files = Files(checked_keys(keys))
    first, second = (files.windows(Path(path), None) for path in (a, b))
    aspects = compare_windows(first, second)
    rows = [{**vars(aspect), "decides": aspect.decides} for aspect in aspects]
    result = Compared(pa.Table.from_pylist(rows, schema=_SCHEMA), first, second, aspects)
    if output is not None:
        write_text(output, result.to_json(), force=force)
    return result


_SCHEMA = pa.schema(
    {
        "name": pa.large_string(),
        "equal": pa.bool_(),
        "n_compared": pa.int64(),
        "n_different": pa.int64(),
        "reason": pa.large_string(),
        "decides": pa.bool_(),
    }
)
