"""What the gates say in sentences that can stand in a release note: what was run, on how many, and what was not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evalframe.audit.exports import DECIDING
from evalframe.audit.findings import GATES, Finding

Coverage = Mapping[str, Any]
"""A row of gate_coverage."""


def sentences(
    coverage: Mapping[str, Coverage], findings: Sequence[Finding], selections: Sequence[str], tolerance: str
) -> list[str]:
    """One paragraph per gate, and the one that keeps them apart. They claim what was run and nothing else."""
    said = []
    for gate in GATES:
        row = coverage[gate]
        own = [finding for finding in findings if finding.gate == gate]
        title = gate.replace("_", " ").capitalize()
        if not row["exercised"]:
            said.append(f"{title}: not run on any of {_models(row['n_models'])}.")
            continue
        told = _TOLD[gate](row, own, selections, tolerance)
        rest = row["not_run"]
        left = f" The other {rest} were not run." if rest > 1 else " The other one was not run." if rest else ""
        said.append(f"{title}: {told}{left}")
    said.append("Each gate speaks for itself: passing one establishes none of the others.")
    return said


def _loading(row: Coverage, own: Sequence[Finding], _: Sequence[str], __: str) -> str:
    passed = [finding.subject for finding in own if finding.status == "passed"]
    on = [f"{passed.count(what)} on {words}" for what, words in _FED.items() if what in passed]
    how = f" ({', '.join(on)})" if on else ""
    return (
        f"{row['passed']} of {row['n_models']} checkpoints were loaded and ran one batch{how}; {_failures(row)}."
        " Nothing is said of their predictions."
    )


_FED = {"data": "their data", "zeros": "zeros, having no data"}


def _predictions(row: Coverage, own: Sequence[Finding], selections: Sequence[str], _: str) -> str:
    parts = [
        f"full inference was run for {row['exercised']} of {_models(row['n_models'])} ({'; '.join(selections)});"
        f" {row['passed']} passed, {_failures(row)}."
    ]
    for side in ("data", "export"):
        ran = [finding for finding in own if finding.subject == side and finding.status != "not_run"]
        if not ran:
            parts.append(f"On {side} none was run.")
            continue
        equal = [finding for finding in ran if finding.status == "passed"]
        windows = sum(finding.n_compared or 0 for finding in equal)
        parts.append(
            f"On {side} {len(equal)} of {len(ran)} reproduced their saved predictions exactly ({windows} windows)."
        )
    return " ".join(parts)


def _exports(row: Coverage, own: Sequence[Finding], _: Sequence[str], __: str) -> str:
    by_aspect = {
        aspect: sum(1 for finding in own if finding.subject == aspect and finding.status == "passed")
        for aspect in DECIDING
    }
    equal = ", ".join(f"{aspect} {n}" for aspect, n in by_aspect.items())
    times = [finding for finding in own if finding.subject == "time"]
    differ = sum(1 for finding in times if finding.status == "failed")
    told = (
        f"data and export of {row['exercised']} of {_models(row['n_models'])} were compared; {row['passed']} passed,"
        f" {_failures(row)}. Equal: {equal}."
    )
    if differ:
        told += f" Time values differ for {differ}; their order is compared as the permutation, their units are not."
    return told


def _metrics(row: Coverage, _: Sequence[Finding], __: Sequence[str], tolerance: str) -> str:
    return (
        f"the saved predictions of {row['exercised']} of {_models(row['n_models'])} were rescored against the frozen"
        f" record within {float(tolerance):g}; {row['passed']} passed, {_failures(row)}. No model was run for it."
    )


_TOLD: Mapping[str, Callable[[Coverage, Sequence[Finding], Sequence[str], str], str]] = {
    "checkpoint_loading": _loading,
    "prediction_equivalence": _predictions,
    "export_equivalence": _exports,
    "metric_equivalence": _metrics,
}


def markdown(said: Iterable[str], table: str, problems: Sequence[str], notes: Sequence[str]) -> str:
    """The report as Markdown: the table of gates, the sentences, what failed, what was left out and why."""
    parts = ["# Release gates", table, *said]
    if problems:
        parts += ["## Failed", "\n".join(f"- {problem}" for problem in problems)]
    if notes:
        parts += ["## Left out", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def _models(n: int) -> str:
    return "1 model" if n == 1 else f"{n} models"


def _failures(row: Coverage) -> str:
    return f"{row['failed']} failed"
