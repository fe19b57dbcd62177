"""Which tool a file is from: told by its content, never by a guess."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evalframe.errors import FileFormatUnknown, UsageError
from evalframe.sources import every_eval_ever, inspect_log, lm_eval, lm_eval_results
from evalframe.sources.choice_json import read_objects
from evalframe.sources.documents import read_document

EVERY_EVAL_EVER, LM_EVAL, INSPECT = every_eval_ever.FORMAT, lm_eval.FORMAT, inspect_log.FORMAT
FORMATS = (EVERY_EVAL_EVER, LM_EVAL, INSPECT)

LINES = ".jsonl"
_SAMPLE = ("doc_id", "filtered_resps")
_KNOWN = {
    EVERY_EVAL_EVER: every_eval_ever.KNOWN,
    LM_EVAL: lm_eval_results.KNOWN,
    INSPECT: inspect_log.KNOWN,
}


@dataclass(frozen=True)
class Found:
    """One file with its tool. document and sha256: of a JSON document that had to be read to tell, else null."""

    path: Path
    format: str
    document: Any = None
    sha256: str = ""

    @property
    def is_lines(self) -> bool:
        """Whether it has one JSON object a line."""
        return self.path.suffix == LINES


def found(files: Sequence[Path], format: str | None) -> list[Found]:
    """Each file with its format, which is the same for all. Raises UsageError or InputError."""
    if not files:
        raise UsageError(
            "no file to import",
            expected="one file or more",
            found="none",
            hint="evalframe import samples_TASK.jsonl results.json --store DIR",
        )
    if format is not None and format not in FORMATS:
        raise UsageError(
            f"there is no format {format!r}",
            expected=", ".join(FORMATS),
            found=format,
            where="--format",
            hint=f"--format {LM_EVAL}",
        )
    told = [_found(Path(path), format) for path in files]
    if len({one.format for one in told}) > 1:
        raise UsageError(
            "the files are from several tools",
            expected="files of one tool",
            found=", ".join(f"{one.path.name}: {one.format}" for one in told[:5]),
            hint=f"evalframe import {shlex.quote(str(told[0].path))} --store DIR",
        )
    return told


def _found(path: Path, format: str | None) -> Found:
    if path.suffix == inspect_log.SUFFIX:
        return Found(path, format or INSPECT)
    if path.suffix == LINES:
        return Found(path, format or _of_lines(path))
    document, digest = read_document(path)
    return Found(path, format or _of_document(path, document), document, digest)


def _of_lines(path: Path) -> str:
    first = next(iter(islice(read_objects(path), 1)), {})
    if all(key in first for key in _SAMPLE):
        return LM_EVAL
    raise _unknown(path, ", ".join(list(first)[:8]) or "no line")


def _of_document(path: Path, document: Any) -> str:
    keys = document if isinstance(document, dict) else {}
    fitting = [name for name, known in _KNOWN.items() if all(key in keys for key in known)]
    if len(fitting) == 1:
        return fitting[0]
    raise _unknown(path, " and ".join(fitting) or ", ".join(list(keys)[:8]) or "no JSON object")


def _unknown(path: Path, found: str) -> FileFormatUnknown:
    return FileFormatUnknown(
        f"{path.name} does not say which tool it is from",
        expected="; ".join(f"{name}: {' and '.join(known)}" for name, known in _KNOWN.items())
        + f"; {LM_EVAL} samples: {' and '.join(_SAMPLE)}",
        found=found,
        where=str(path),
        hint=f"--format {' or --format '.join(FORMATS)}",
    )
