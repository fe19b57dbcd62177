"""A parity spec in YAML: which files and functions are the reference, what they are given, which metric each gives.

    reference:
      - {file: scorer.py, sha256: <64 hex>, functions: [macro_f1]}
    imports: [sklearn.metrics]          # beside numpy and math; default none
    protocol: wisp-har/1
    parameters: {failed: wrong}         # of the protocol, default its own
    inputs: {kind: windows, seed: 1, batches: 20, rows: 50, classes: 5}
    compare:
      - {metric: macro_f1, call: [macro_f1, y_true, y_pred]}
      - {metric: accuracy, call: [report, y_true, y_pred], result: [overall, accuracy], tolerance: 1e-9}

kind and the fields that calls may name: `windows` y_true, y_pred, labels; `choices` rows, probabilities, labels,
confidences, correct; `failures` y_true, y_score. choices takes `options` (a fixed number of them), `boundaries` (true,
false or half: probabilities of 0, 1 and decimal edges), or `file` (JSON rows, one batch) in place of the seeded ones.
`declared: {reason, argument, equals}` lets the batches differ in which that field holds that value, and no others.
Paths are relative to the spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from evalframe.audit.parity import TOLERANCE, Comparison, Declared, Exercise
from evalframe.audit.parity_inputs import Batch, choice_batches, choice_fields, failure_batches, window_batches
from evalframe.audit.parity_ours import KINDS
from evalframe.audit.parity_process import Call, Limits
from evalframe.audit.parity_reference import Pin, pins_of
from evalframe.errors import FileUnreadable, UsageError
from evalframe.protocols import Protocol, protocol
from evalframe.sources.choice_json import read_objects

_KEYS = ("reference", "imports", "protocol", "parameters", "inputs", "compare", "limits")
_INPUTS = ("kind", "seed", "batches", "rows", "classes", "options", "boundaries", "file")
_COMPARE = ("metric", "call", "result", "tolerance", "forms", "declared")


@dataclass(frozen=True)
class Spec:
    """A spec as it is read. root: the folder that the reference's files are relative to."""

    root: Path
    pins: tuple[Pin, ...]
    imports: tuple[str, ...]
    protocol: Protocol
    parameters: Mapping[str, str]
    exercises: tuple[Exercise, ...]
    limits: Limits


def read_spec(path: Path) -> Spec:
    """The spec in `path`. Raises FileUnreadable, or UsageError naming the key that cannot be meant."""
    import yaml

    from evalframe.contracts import yaml_text

    try:
        content = yaml_text.parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise FileUnreadable(
            f"{path.name} cannot be read",
            expected="a parity spec in YAML",
            found=" ".join(str(error).split()),
            where=str(path),
            hint="evalframe audit parity --help",
        ) from None
    try:
        return _spec(content, path)
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as error:  # text for a list and the like
        _refuse(path, "its values", "the keys and types of the documentation", " ".join(str(error).split()))


def _spec(content: Any, path: Path) -> Spec:
    _known(content, _KEYS, ("reference", "protocol", "inputs", "compare"), path, "spec")
    named = protocol(str(content["protocol"]))
    batches, told = _batches(content["inputs"], path)
    comparisons = tuple(
        _comparison(entry, named, batches[0], path) for entry in _list(content["compare"], path, "compare")
    )
    for each in comparisons:
        if each.declared is not None and all(each.declared.covers(batch) for batch in batches):
            _refuse(
                path,
                "declared",
                "a batch that may not differ",
                f"{each.declared.argument} is {each.declared.equals} in all",
            )
    pins = pins_of(content["reference"], str(path))
    pinned = {name for pin in pins for name in pin.functions}
    if stray := sorted({each.call.function for each in comparisons} - pinned):
        _refuse(path, "call", ", ".join(sorted(pinned)), stray[0])
    kind = content["inputs"]["kind"]
    limits = content.get("limits") or {}
    _known(limits, ("seconds", "bytes"), (), path, "limits")
    return Spec(
        root=path.parent,
        pins=pins,
        imports=tuple(str(name) for name in content.get("imports") or ()),
        protocol=named,
        parameters=named.settings({str(k): str(v) for k, v in (content.get("parameters") or {}).items()}),
        exercises=(Exercise(str(kind), kind, batches, comparisons, told),),
        limits=Limits(**{name: int(value) for name, value in limits.items()}),
    )


def _batches(inputs: Any, path: Path) -> tuple[list[Batch], str]:
    _known(inputs, _INPUTS, ("kind",), path, "inputs")
    kind = inputs["kind"]
    if kind not in KINDS:
        _refuse(path, "inputs.kind", " or ".join(KINDS), repr(kind))
    if "file" in inputs:
        if kind != "choices":
            _refuse(path, "inputs.file", "kind: choices", f"kind: {kind}")
        source = path.parent / str(inputs["file"])
        return [choice_fields(read_objects(source))], f"the labelled rows of {source.name}"
    seed, batches, rows = (_count(inputs.get(name, default), path, name) for name, default in _DEFAULTS.items())
    if batches * rows > 10 * MOST:
        _refuse(path, "inputs.batches", f"at most {10 * MOST} rows together", f"{batches} x {rows}")
    told = f"default_rng({seed}): {batches} batches of {rows} rows"
    if kind == "windows":
        classes = _count(inputs.get("classes", 5), path, "classes")
        return window_batches(seed, batches, rows, classes), f"{told}, {classes} classes"
    if kind == "failures":
        return failure_batches(seed, batches, rows), told
    options = inputs.get("options")
    if options is not None:
        _count(options, path, "options")
    edges = inputs.get("boundaries", True)
    if edges not in (True, False, "half"):
        _refuse(path, "inputs.boundaries", "true, false or half", repr(edges))
    return choice_batches(seed, batches, rows, options, edges)[0], f"{told}, {options or '2 to 10'} options"


MOST = 100_000
"""Batches, rows of a batch, or classes that are generated."""

_DEFAULTS = {"seed": 0, "batches": 20, "rows": 50}


def _comparison(entry: Any, named: Protocol, batch: Batch, path: Path) -> Comparison:
    _known(entry, _COMPARE, ("metric", "call"), path, "compare")
    if entry["metric"] not in named.metrics:
        _refuse(path, "metric", f"a metric of {named.label}: {', '.join(named.metrics)}", repr(entry["metric"]))
    call = _list(entry["call"], path, "call")
    if stray := [each for each in call[1:] if isinstance(each, str) and each not in batch]:
        _refuse(path, "call", f"numbers, or fields: {', '.join(batch)}", repr(stray[0]))
    forms = tuple(entry.get("forms", ("list", "array")))
    if not forms or set(forms) - {"list", "array"}:
        _refuse(path, "forms", "list, array", str(forms))
    result = entry.get("result", [])
    return Comparison(
        metric=entry["metric"],
        call=Call(str(call[0]), tuple(call[1:]), forms),
        paths=(tuple(str(key) for key in (result if isinstance(result, list) else [result])),),
        tolerance=float(entry.get("tolerance", TOLERANCE)),
        declared=_declared(entry.get("declared"), batch, path),
        required=True,
    )


def _declared(entry: Any, batch: Batch, path: Path) -> Declared | None:
    if entry is None:
        return None
    _known(entry, ("reason", "argument", "equals"), ("reason", "argument", "equals"), path, "declared")
    if entry["argument"] not in batch:
        _refuse(path, "declared.argument", ", ".join(batch), repr(entry["argument"]))
    return Declared(str(entry["reason"]), entry["argument"], float(entry["equals"]))


def _known(content: Any, known: tuple[str, ...], required: tuple[str, ...], path: Path, key: str) -> None:
    if not isinstance(content, dict):
        _refuse(path, key, f"a mapping of {', '.join(known)}", type(content).__name__)
    if stray := [str(name) for name in content if name not in known]:
        _refuse(path, key, ", ".join(known), stray[0])
    if missing := [name for name in required if name not in content]:
        _refuse(path, key, ", ".join(required), f"no {missing[0]}")


def _list(value: Any, path: Path, key: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        _refuse(path, key, "a list", repr(value))
    return value


def _count(value: Any, path: Path, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        _refuse(path, f"inputs.{key}", "a whole number", repr(value))
    if key != "seed" and not 0 < value <= MOST:
        _refuse(path, f"inputs.{key}", f"1 to {MOST}", repr(value))
    return value


def _refuse(path: Path, key: str, expected: str, found: str) -> NoReturn:
    raise UsageError(
        f"the parity spec cannot be meant: {key}",
        expected=expected,
        found=found,
        where=str(path),
        hint=f"edit {path.name}",
    )
