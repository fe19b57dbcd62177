"""Parity: do a pinned reference and the shipped relations give the same numbers on the same inputs?

A reference is hashed, then parsed, then run in a process of its own (parity_reference, parity_process). Nothing it says
is believed beyond the comparison: the report names what was compared and what was not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalframe.audit.parity_inputs import Batch
from evalframe.audit.parity_ours import values
from evalframe.audit.parity_process import Answers, Call, Group, Limits, run
from evalframe.audit.parity_reference import Reference
from evalframe.errors import ReferenceRefused
from evalframe.protocols.base import Protocol
from evalframe.relations import catalogue, metric_fingerprint

TOLERANCE = 1e-12
"""Largest absolute difference that is agreement."""

Outcome = Literal["agrees", "differs", "not_returned"]


@dataclass(frozen=True)
class Declared:
    """A difference that is known: batches in which `argument` holds the value `equals` may differ, others may not."""

    reason: str
    argument: str
    equals: float

    def covers(self, batch: Batch) -> bool:
        """Whether the batch may differ."""
        return self.equals in batch[self.argument]


@dataclass(frozen=True)
class Comparison:
    """One of our metrics (a relation) beside one number that a call gives.

    paths: where the number may stand in what is given back, the first that exists counts; () is the whole.
    required: its absence is a mismatch, where it is otherwise told.
    """

    metric: str
    call: Call
    paths: tuple[tuple[str, ...], ...] = ((),)
    tolerance: float = TOLERANCE
    declared: Declared | None = None
    required: bool = False


@dataclass(frozen=True)
class Exercise:
    """Batches of one kind of input with the comparisons made on each of them."""

    name: str
    kind: str
    batches: Sequence[Batch]
    comparisons: tuple[Comparison, ...]
    inputs: str

    @property
    def calls(self) -> tuple[Call, ...]:
        """What is called, each once."""
        return tuple(dict.fromkeys(comparison.call for comparison in self.comparisons))


@dataclass(frozen=True)
class Finding:
    """What came of one comparison. Differences are absolute; those of declared batches are counted apart."""

    exercise: str
    metric: str
    function: str
    n_compared: int
    n_undefined: int
    n_mismatched: int
    largest_difference: float | None
    worst_batch: int | None
    tolerance: float
    outcome: Outcome
    declared: dict[str, Any] | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against equality."""
        return self.outcome != "differs"


@dataclass(frozen=True)
class Parity:
    """The outcome of a whole check. unread: what the reference gave back and nothing here looked at."""

    reference: Reference
    protocol: Protocol
    parameters: Mapping[str, str]
    exercises: tuple[Exercise, ...]
    findings: tuple[Finding, ...]
    unread: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether every number that was compared agrees."""
        return all(finding.passed for finding in self.findings)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The relations that were compared, each once."""
        return tuple(dict.fromkeys(c.metric for exercise in self.exercises for c in exercise.comparisons))

    def identities(self) -> dict[str, Any]:
        """relation_digests of everything our side computed with, and a fingerprint for each metric.

        Where a metric reads a vocabulary, its fingerprint is that of an empty one: batches have none of a run's.
        """
        relations = catalogue()
        return {
            "relation_digests": {each.name: each.digest for each in relations.closure(*self.metrics)},
            "metric_fingerprints": {
                relations[metric].published: metric_fingerprint(
                    relations,
                    metric,
                    protocol=self.protocol.name,
                    version=self.protocol.version,
                    parameters=self.parameters,
                )
                for metric in self.metrics
            },
        }


def check(
    reference: Reference,
    exercises: Sequence[Exercise],
    protocol: Protocol,
    parameters: Mapping[str, str],
    imports: Sequence[str] = (),
    limits: Limits | None = None,
) -> Parity:
    """Run both sides. Raises ReferenceRefused where the reference gives no numbers to compare."""
    groups = [Group(exercise.calls, exercise.batches) for exercise in exercises]
    answers = run(reference, groups, imports, limits)
    findings: list[Finding] = []
    unread: list[str] = []
    for exercise, given in zip(exercises, answers.results, strict=True):
        metrics = tuple(dict.fromkeys(comparison.metric for comparison in exercise.comparisons))
        ours = values(exercise.kind, exercise.batches, metrics, parameters)
        by_call = {call: [results[at] for results in given] for at, call in enumerate(exercise.calls)}
        found = [_compared(exercise, each, by_call[each.call], ours[each.metric]) for each in exercise.comparisons]
        _refuse_silence(exercise, found)
        findings += found
        unread += _unread(exercise, by_call)
    return Parity(reference, protocol, parameters, tuple(exercises), tuple(findings), tuple(unread), answers.versions)


def _compared(
    exercise: Exercise, comparison: Comparison, theirs: Sequence[Any], ours: Sequence[float | None]
) -> Finding:
    path = next((path for path in comparison.paths if any(_at(given, path)[0] for given in theirs)), None)
    differences: list[tuple[float, int]] = []
    declared: list[float] = []
    n_compared = n_undefined = n_mismatched = 0
    for place, (given, own) in enumerate(zip(theirs, ours, strict=True)):
        if path is None:
            break
        other = _at(given, path)[1]
        apart = comparison.declared is not None and comparison.declared.covers(exercise.batches[place])
        if other is None and own is None:
            n_undefined += 1
        elif other is None or own is None or not isinstance(other, int | float):
            n_mismatched += not apart
        elif apart:
            declared.append(abs(other - own))
        else:
            n_compared += 1
            difference = abs(other - own)
            differences.append((difference, place))
            n_mismatched += not difference <= comparison.tolerance
    largest, worst = max(differences, default=(None, None), key=lambda each: (each[0], -each[1]))
    relation = catalogue()[comparison.metric]
    missing = path is None
    return Finding(
        exercise=exercise.name,
        metric=relation.published,
        function=str(comparison.call),
        n_compared=n_compared,
        n_undefined=n_undefined,
        n_mismatched=n_mismatched + (missing and comparison.required),
        largest_difference=largest,
        worst_batch=worst,
        tolerance=comparison.tolerance,
        outcome=_outcome(n_mismatched, missing=missing, required=comparison.required),
        declared=_declared(comparison, declared),
    )


def _outcome(n_mismatched: int, *, missing: bool, required: bool) -> Outcome:
    if missing:
        return "differs" if required else "not_returned"
    return "differs" if n_mismatched else "agrees"


def _declared(comparison: Comparison, differences: Sequence[float]) -> dict[str, Any] | None:
    if comparison.declared is None:
        return None
    return {
        "reason": comparison.declared.reason,
        "batches": len(differences),
        "differing": sum(difference > comparison.tolerance for difference in differences),
        "largest_difference": max(differences, default=None),
    }


def _at(given: Any, path: Sequence[str]) -> tuple[bool, Any]:
    """(whether there is something at `path`, what it is); a number that is not finite is text, which equals nothing."""
    for key in path:
        if not isinstance(given, dict) or key not in given:
            return False, None
        given = given[key]
    if isinstance(given, dict) and "not finite" in given:
        return True, given["not finite"]
    return True, float(given) if isinstance(given, int | float) and math.isfinite(given) else given


def _unread(exercise: Exercise, by_call: Mapping[Call, Sequence[Any]]) -> list[str]:
    """`function: path` of every leaf that was given back and is not compared."""
    read = {(each.call, path) for each in exercise.comparisons for path in each.paths}
    leaves = {(call, path): None for call, results in by_call.items() for given in results for path in _leaves(given)}
    return [f"{call.function}: {'.'.join(path)}" for call, path in leaves if path and (call, path) not in read]


def _leaves(given: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(given, dict) or "not finite" in given:
        return [path]
    return [leaf for key, held in given.items() for leaf in _leaves(held, (*path, key))]


def _refuse_silence(exercise: Exercise, findings: Sequence[Finding]) -> None:
    """A call that gives none of its numbers was not checked at all."""
    for call in exercise.calls:
        if all(finding.outcome == "not_returned" for finding in findings if finding.function == str(call)):
            paths = [path for each in exercise.comparisons if each.call == call for path in each.paths]
            raise ReferenceRefused(
                f"{call.function} gives back nothing that is compared",
                expected=", ".join(".".join(path) or "a number" for path in paths),
                found="none of them",
                where=exercise.name,
                hint="name the keys it does give back in a spec of your own: evalframe audit parity --spec SPEC",
            )


__all__ = ["Answers", "Comparison", "Declared", "Exercise", "Finding", "Limits", "Parity", "check"]
