"""`kev verify-metrics` and `audit parity`: our metrics beside a pinned reference's, and what that shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.parity import Exercise, Limits, Parity, check
from evalframe.audit.parity_kev import PINS, PROTOCOL, exercises
from evalframe.audit.parity_reference import Pin, load, read_pins
from evalframe.audit.parity_spec import read_spec
from evalframe.errors import ExitCode, UsageError
from evalframe.protocols import protocol
from evalframe.verbs.arguments import loosely
from evalframe.verbs.outputs import to_json, write_text
from evalframe.verbs.results import Rows

_SHOWN = ("exercise", "metric", "function", "n_compared", "n_mismatched", "largest_difference", "outcome")
_SCHEMA = pa.schema(
    [
        *((name, pa.large_string()) for name in ("exercise", "metric", "function")),
        *((name, pa.int64()) for name in ("n_compared", "n_undefined", "n_mismatched")),
        ("largest_difference", pa.float64()),
        ("worst_batch", pa.int64()),
        ("tolerance", pa.float64()),
        ("outcome", pa.large_string()),
    ]
)


@dataclass(frozen=True, repr=False)
class Verified(Rows):
    """One row per comparison. `exit_code` is 5 where any number differs."""

    parity: Parity
    command: str

    @property
    def exit_code(self) -> ExitCode:
        """0, or 5 where a number differs or is missing."""
        return ExitCode.OK if self.parity.passed else ExitCode.MISMATCH

    def shown(self) -> pa.Table:
        """Without the columns that only a program asks for."""
        return self.table.select(list(_SHOWN))

    def headlines(self) -> list[str]:
        """The verdict and its reach."""
        outcomes = [finding.outcome for finding in self.parity.findings]
        counts = {outcome: outcomes.count(outcome) for outcome in ("agrees", "differs", "not_returned")}
        said = f"{counts['agrees']} comparisons agree, {counts['differs']} differ"
        if counts["not_returned"]:
            said += f", {counts['not_returned']} were not given back"
        return [f"{said}  ({self.parity.protocol.label}, numpy {self.parity.versions['numpy']})"]

    def body(self) -> dict[str, Any]:
        """What OUT.json says."""
        parity = self.parity
        return {
            "passed": parity.passed,
            "reference": [pin.to_json() for pin in parity.reference.pins],
            "reference_literals": parity.reference.literals,
            "versions": dict(parity.versions),
            "numpy_version": parity.versions["numpy"],
            "parameters": dict(parity.parameters),
            **parity.identities(),
            "samples": {each.name: _samples(each) for each in parity.exercises},
            "comparisons": [asdict(finding) for finding in parity.findings],
            "max_differences": _largest(parity),
            "pairs": {f.metric: f.outcome for f in parity.findings if f.exercise == "pairs"},
            "scope": scope(parity),
        }

    def to_json(self) -> str:
        """The text of OUT.json."""
        named = parity_protocol(self.parity)
        return to_json(self.command, self.body(), named)


@loosely
def verify_metrics(
    kev_root: Path | str,
    *,
    pins: Path | str | None = None,
    output: Path | str | None = None,
    limits: Limits | None = None,
    force: bool = False,
) -> Verified:
    """Compare the KEV metrics with the reference in `kev_root`: 100 x 50 seeded rows and ten pairs, `kev-choice/1`.

    The files must be those of the published pins, or of `pins` (JSON): DigestMismatch otherwise, before anything runs.
    Raises ReferenceRefused (both exit 5) where the reference does not run as pinned. A difference is no error: see
    `exit_code`.
    """
    chosen: Sequence[Pin] = PINS if pins is None else read_pins(Path(pins))
    reference = load(Path(kev_root), chosen)
    made = _callable(exercises(complete=pins is None), set(reference.functions))
    named = protocol(PROTOCOL)
    return _done(check(reference, made, named, named.settings(), limits=limits), "kev verify-metrics", output, force)


@loosely
def audit_parity(spec: Path | str, *, output: Path | str | None = None, force: bool = False) -> Verified:
    """Compare metrics with any reference that the YAML file `spec` pins and maps; errors as `verify_metrics`."""
    read = read_spec(Path(spec))
    reference = load(read.root, read.pins, read.imports)
    parity = check(reference, read.exercises, read.protocol, read.parameters, read.imports, read.limits)
    return _done(parity, "audit parity", output, force)


def scope(parity: Parity) -> dict[str, list[str]]:
    """What the check shows, and what it does not, from what ran."""
    shown, silent = [], []
    for finding in parity.findings:
        if finding.outcome == "not_returned":
            silent.append(f"{finding.metric}: {finding.function} does not give it back")
        else:
            shown.append(
                f"{finding.metric}: {finding.n_compared} values of {finding.function} compared, "
                f"{finding.n_undefined} undefined on both sides, {finding.n_mismatched} mismatches"
            )
        if finding.declared is not None:
            known = finding.declared
            met = f"{known['differing']} of {known['batches']} batches differ, by up to {known['largest_difference']}"
            shown.append(f"{finding.metric}: declared difference ({known['reason']}): {met}")
    compared = set(parity.metrics)
    uncompared = [name for name in parity.protocol.metrics if name not in compared]
    if uncompared:
        silent.append(f"metrics of {parity.protocol.label} that were not compared: {', '.join(uncompared)}")
    if parity.unread:
        silent.append(f"returned by the reference and not looked at: {', '.join(sorted(set(parity.unread)))}")
    silent += [
        f"other protocols and versions than {parity.protocol.label} with the parameters listed",
        f"other inputs than: {'; '.join(each.inputs for each in parity.exercises)}",
        "rows without a label, failed rows and refused input, which these inputs do not have",
        "reading of files, how a model made its predictions, whether they are any good, and how fast",
    ]
    return {"shown": shown, "not_shown": silent}


def parity_protocol(parity: Parity) -> dict[str, str | None]:
    """The protocol object of the JSON; the fingerprint is over the metrics that were compared alone."""
    from evalframe.relations import protocol_fingerprint

    prints = parity.identities()["metric_fingerprints"]
    label = parity.protocol
    return {"name": label.name, "version": label.version, "fingerprint": protocol_fingerprint(prints.values())}


def _callable(made: Sequence[Exercise], functions: set[str]) -> tuple[Exercise, ...]:
    """The comparisons whose function is pinned."""
    kept = [
        replace(each, comparisons=tuple(c for c in each.comparisons if c.call.function in functions)) for each in made
    ]
    if not any(each.comparisons for each in kept):
        raise UsageError(
            "none of the pinned functions is one that is compared",
            expected=", ".join(dict.fromkeys(c.call.function for each in made for c in each.comparisons)),
            found=", ".join(sorted(functions)),
            where="--pins",
            hint="evalframe audit parity --spec SPEC compares functions of any name",
        )
    return tuple(each for each in kept if each.comparisons)


def _done(parity: Parity, command: str, output: Path | str | None, force: bool) -> Verified:
    rows = [
        {name: value for name, value in asdict(finding).items() if name in _SCHEMA.names} for finding in parity.findings
    ]
    verified = Verified(pa.Table.from_pylist(rows, schema=_SCHEMA), parity, command)
    if output is not None:
        write_text(Path(output), verified.to_json(), force=force)
    return verified


def _samples(exercise: Exercise) -> dict[str, Any]:
    rows = sum(len(next(iter(batch.values()))) for batch in exercise.batches)
    return {"batches": len(exercise.batches), "rows": rows, "inputs": exercise.inputs}


def _largest(parity: Parity) -> dict[str, float | None]:
    """Per metric the largest difference over all calls that give it."""
    largest: dict[str, float | None] = {}
    for finding in parity.findings:
        known, new = largest.get(finding.metric), finding.largest_difference
        largest[finding.metric] = new if known is None else known if new is None else max(known, new)
    return largest
