"""Reads one .sql file: the YAML between `/* ---` and `--- */`, then a SELECT. Unknown and missing keys are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from evalframe.errors import RelationError
from evalframe.relations.relation import LAYERS, METRIC_COLUMNS, METRIC_GRAIN, Layer, Relation

_OPEN, _CLOSE = "/* ---", "--- */"

_ALWAYS = ("name", "layer", "title", "inputs", "grain", "parameters", "definition")
_PROSE = ("not", "source", "reading")
_REQUIRED: Mapping[Layer, tuple[str, ...]] = {
    "fact": _ALWAYS,
    "state": (*_ALWAYS, "merge"),
    "calibration": _ALWAYS,
    "metric": (*_ALWAYS, "unit", "better", "denominator"),
    "audit": _ALWAYS,
    "compare": _ALWAYS,
    "view": _ALWAYS,
}
_OPTIONAL: Mapping[Layer, tuple[str, ...]] = {
    "fact": (*_PROSE, "materialize", "poolable", "split", "whole"),
    "state": (*_PROSE, "materialize", "poolable", "split", "whole"),
    "calibration": (*_PROSE, "materialize", "split"),
    "metric": (*_PROSE, "secondary", "metric"),
    "audit": _PROSE,
    "compare": _PROSE,
    "view": _PROSE,
}


def read_relation(path: Path) -> Relation:
    """The relation in `path`. Raises RelationError naming the file and what was expected of it."""
    head, body = _split(path)
    layer = head.get("layer")
    if layer not in LAYERS:
        raise _refuse(path, "the layer is unknown", " or ".join(LAYERS), f"layer: {layer}")
    _check_keys(path, layer, head)
    fields = {key: _CHECKS[key](path, key, value) for key, value in head.items()}
    if fields["name"] != path.stem:
        raise _refuse(path, "a relation is named after its file", f"name: {path.stem}", f"name: {fields['name']}")
    fields["not_"] = fields.pop("not", None)
    _check_shape(path, fields)
    return Relation(**fields, body=body, path=path)


def _split(path: Path) -> tuple[dict[str, Any], str]:
    import yaml

    from evalframe.contracts import yaml_text

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refuse(path, "a relation cannot be read", "SQL in UTF-8 with front matter", str(error)) from None
    if not text.startswith(_OPEN) or _CLOSE not in text:
        raise _refuse(path, "front matter is missing", f"{_OPEN} on the first line, YAML, {_CLOSE}", repr(text[:40]))
    head, _, body = text[len(_OPEN) :].partition(_CLOSE)
    try:
        parsed = yaml_text.parsed(head)
    except yaml.YAMLError as error:
        raise _refuse(
            path, "front matter is not YAML", "one `key: value` a line (quote a value that holds `: `)", str(error)
        ) from None
    if not isinstance(parsed, dict):
        raise _refuse(path, "front matter is not a mapping", ", ".join(_ALWAYS), repr(parsed))
    return parsed, body.strip()


def _check_keys(path: Path, layer: Layer, head: Mapping[str, Any]) -> None:
    required, optional = _REQUIRED[layer], _OPTIONAL[layer]
    missing = [key for key in required if key not in head]
    if missing:
        raise _refuse(
            path,
            f"front matter lacks {', '.join(missing)}",
            f"a {layer} says {', '.join(required)}",
            ", ".join(map(str, head)),
        )
    unknown = [str(key) for key in head if key not in required and key not in optional]
    if unknown:
        raise _refuse(
            path,
            f"front matter has unknown keys {', '.join(unknown)}",
            f"a {layer} says {', '.join(required)} and may say {', '.join(optional)}",
            ", ".join(unknown),
        )


def _check_shape(path: Path, fields: Mapping[str, Any]) -> None:
    grain: tuple[str, ...] = fields["grain"]
    if fields["layer"] == "metric":
        if grain != tuple(name for name in METRIC_GRAIN if name in grain):
            raise _refuse(
                path,
                "the grain of a metric is not one",
                f"some of {', '.join(METRIC_GRAIN)}, in this order",
                str(grain),
            )
        if clash := set(grain) & set(METRIC_COLUMNS):
            raise _refuse(path, "grain and value columns overlap", "disjoint names", ", ".join(sorted(clash)))
    if clash := set(grain) & set(fields.get("merge") or ()):
        raise _refuse(path, "a column is both key and sum", "grain and merge disjoint", ", ".join(sorted(clash)))


def _text(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refuse(path, f"{key} is not text", f"{key}: some text (quoted if YAML reads it otherwise)", repr(value))
    return value.strip()


def _names(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _refuse(path, f"{key} is not a list of names", f"{key}: [name, ...]", repr(value))
    if len(set(value)) != len(value):
        raise _refuse(path, f"{key} repeats a name", "each name once", repr(value))
    return tuple(value)


def _truth(path: Path, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refuse(path, f"{key} is not true or false", f"{key}: true", repr(value))
    return value


def _one_of(*choices: str) -> Callable[[Path, str, Any], str]:
    def check(path: Path, key: str, value: Any) -> str:
        if value not in choices:
            raise _refuse(path, f"{key} has no such value", " or ".join(choices), repr(value))
        return str(value)

    return check


def _merge(path: Path, key: str, value: Any) -> dict[str, str]:
    rules = ("sum", "min", "max")
    if not isinstance(value, dict) or not all(isinstance(k, str) and v in rules for k, v in value.items()):
        raise _refuse(path, "merge does not say how columns add up", "merge: {column: sum|min|max}", repr(value))
    return dict(value)


def _split_by(path: Path, key: str, value: Any) -> dict[str, str]:
    named = isinstance(value, dict) and all(isinstance(k, str) and isinstance(v, str) for k, v in value.items())
    if not named or not value:
        raise _refuse(path, "split does not say by what", "split: {table: column}", repr(value))
    return dict(value)


_CHECKS: Mapping[str, Callable[[Path, str, Any], Any]] = {
    "name": _text,
    "layer": _one_of(*get_args(Layer)),
    "title": _text,
    "inputs": _names,
    "grain": _names,
    "parameters": _names,
    "definition": _text,
    "unit": _text,
    "better": _one_of("higher", "lower", "none"),
    "denominator": _one_of("data", "model"),
    "merge": _merge,
    "materialize": _truth,
    "poolable": _truth,
    "split": _split_by,
    "whole": _truth,
    "secondary": _truth,
    "metric": _text,
    "not": _text,
    "source": _text,
    "reading": _text,
}


def _refuse(path: Path, what: str, expected: str, found: str) -> RelationError:
    return RelationError(what, expected=expected, found=found, where=str(path), hint=f"edit {path.name}")
