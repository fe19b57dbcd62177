"""Runs a reference in a process of its own and brings back what its functions gave, or why they gave nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.audit.parity_reference import Reference
from evalframe.errors import ReferenceRefused

_WORKER = Path(__file__).with_name("parity_worker.py")
_ANSWER_LIMIT = 256 << 20


@dataclass(frozen=True)
class Limits:
    """What a reference may take: seconds of processor time (three times as long by the clock) and bytes of memory."""

    seconds: int = 20
    bytes: int = 2 << 30


@dataclass(frozen=True)
class Call:
    """One pinned function and its arguments by position: names of a batch's fields, or numbers.

    forms: `list` and `array` in the order in which they are tried; the next one is tried after a TypeError or an
    AttributeError alone.
    """

    function: str
    arguments: tuple[str | float, ...]
    forms: tuple[str, ...] = ("list", "array")

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Group:
    """Calls that are made on each of some batches. A batch is JSON: fields by name."""

    calls: tuple[Call, ...]
    batches: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Answers:
    """results[group][batch][call], in JSON's terms; versions of what was importable, and of Python."""

    results: list[list[list[Any]]]
    versions: dict[str, str]


def run(
    reference: Reference, groups: Sequence[Group], imports: Sequence[str] = (), limits: Limits | None = None
) -> Answers:
    """What the functions give. Raises ReferenceRefused (exit 5) for anything but an answer to every call."""
    limits = limits or Limits()
    request = {
        "functions": list(reference.functions.values()),
        "names": list(reference.functions),
        "literals": reference.literals,
        "imports": list(imports),
        "seconds": limits.seconds,
        "bytes": limits.bytes,
        "groups": [
            {
                "calls": [
                    {"function": call.function, "arguments": list(call.arguments), "forms": list(call.forms)}
                    for call in group.calls
                ],
                "batches": list(group.batches),
            }
            for group in groups
        ],
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-B", str(_WORKER)],
            input=json.dumps(request, allow_nan=False).encode(),
            capture_output=True,
            timeout=3 * limits.seconds,
            env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _refuse("the reference runs over its time", f"{3 * limits.seconds} s by the clock", "no answer") from None
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise _refuse(
            "the reference runs over its time or memory",
            f"{limits.seconds} s of processor time and {limits.bytes} bytes",
            signal.Signals(-done.returncode).name,
        )
    try:
        answer = json.loads(done.stdout) if len(done.stdout) <= _ANSWER_LIMIT else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise _refuse("the reference gives no answer", "one", said[-1] if said else f"exit code {done.returncode}")
    if "failed" in answer:
        failed = answer["failed"]
        kind = "" if failed["kind"] == "Refused" else f"{failed['kind']}: "
        raise _refuse(
            "the reference cannot be run as it is pinned",
            f"functions of numpy, math{''.join(', ' + name for name in imports)} and one another, within their limits",
            kind + failed["message"],
        )
    return Answers(answer["results"], answer["versions"])


def _refuse(what: str, expected: str, found: str) -> ReferenceRefused:
    return ReferenceRefused(
        what, expected=expected, found=found, hint="pin every function that these call, or check the reference's files"
    )
