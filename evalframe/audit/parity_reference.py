"""A reference implementation: files known by their digests, and the functions that are taken from their text.

Nothing is imported or run here. A file is read once, hashed, and parsed from the very bytes that were hashed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from evalframe.errors import DigestMismatch, FileUnreadable, ReferenceRefused, UsageError

ALWAYS_IMPORTABLE = ("numpy", "math")


@dataclass(frozen=True)
class Pin:
    """One file of a reference, by its SHA-256 (64 hex), and the functions that are taken from it."""

    file: str
    sha256: str
    functions: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The entry of pins.json."""
        return {"file": self.file, "sha256": self.sha256, "functions": list(self.functions)}


@dataclass(frozen=True)
class Reference:
    """What of the pinned files runs: function definitions as source text, and the literals that they name."""

    pins: tuple[Pin, ...]
    functions: dict[str, str]
    literals: dict[str, Any]


def read_pins(path: Path) -> tuple[Pin, ...]:
    """The pins in a JSON list of {"file", "sha256", "functions"}. Raises InputError or UsageError for anything else."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileUnreadable(
            f"{path.name} cannot be read",
            expected='a JSON list of {"file", "sha256", "functions"}',
            found=str(error),
            where=str(path),
            hint=f"python -m json.tool {shlex.quote(str(path))}",
        ) from None
    return pins_of(entries, str(path))


def pins_of(entries: Any, where: str) -> tuple[Pin, ...]:
    """Pins from parsed JSON or YAML."""
    if not isinstance(entries, list) or not entries:
        _refuse_pins(where, "a list with a file in it", type(entries).__name__)
    pins = []
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {"file", "sha256", "functions"}:
            _refuse_pins(where, "file, sha256, functions", str(entry))
        file, digest, functions = entry["file"], entry["sha256"], entry["functions"]
        if not isinstance(file, str) or PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
            _refuse_pins(where, "a path inside the reference's folder", repr(file))
        if not isinstance(digest, str) or not re.fullmatch(r"[0-9a-f]{64}", digest.lower()):
            _refuse_pins(where, "64 hex digits of a SHA-256", repr(digest))
        if not isinstance(functions, list) or not functions or not all(isinstance(name, str) for name in functions):
            _refuse_pins(where, "a list of function names", repr(functions))
        pins.append(Pin(file, digest.lower(), tuple(functions)))
    names = [name for pin in pins for name in pin.functions]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        _refuse_pins(where, "every function from one file", ", ".join(twice))
    return tuple(pins)


def load(root: Path, pins: Sequence[Pin], imports: Sequence[str] = ()) -> Reference:
    """The pinned functions of the files below `root`.

    Every digest is compared before any file is parsed: DigestMismatch names all that differ. Raises FileUnreadable for
    a file that is not there, ReferenceRefused (exit 5) where a function is missing, defined twice, decorated, or
    plainly reaches for more than `imports`.
    """
    texts = {pin.file: _bytes(root / pin.file) for pin in pins}
    digests = {file: hashlib.sha256(text).hexdigest() for file, text in texts.items()}
    if changed := [pin for pin in pins if digests[pin.file] != pin.sha256]:
        raise DigestMismatch(
            f"the reference is not the pinned one: {', '.join(pin.file for pin in changed)}",
            expected=", ".join(pin.sha256 for pin in changed),
            found=", ".join(digests[pin.file] for pin in changed),
            where=str(root),
            hint="check out the pinned commit, or pin these files with --pins",
        )
    functions: dict[str, str] = {}
    literals: dict[str, Any] = {}
    for pin in pins:
        tree = _parsed(texts[pin.file], root / pin.file)
        taken = [_function(tree, name, root / pin.file, (*ALWAYS_IMPORTABLE, *imports)) for name in pin.functions]
        read = {node.id for function in taken for node in ast.walk(function) if isinstance(node, ast.Name)}
        literals |= _literals(tree, read)
        functions |= {function.name: ast.unparse(function) for function in taken}
    return Reference(tuple(pins), functions, {name: held for name, held in literals.items() if name not in functions})


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileUnreadable(
            f"a file of the reference is missing: {path.name}",
            expected="every pinned file",
            found=error.strerror or str(error),
            where=str(path),
            hint="name the folder that holds the reference",
        ) from None


def _parsed(text: bytes, path: Path) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        _refuse(path, "a file of the reference is no Python", "a module", str(error))


def _function(tree: ast.Module, name: str, path: Path, imports: Sequence[str]) -> ast.FunctionDef:
    """The one definition of `name` at the top level, without annotations, which would be evaluated."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if len(found) != 1:
        _refuse(path, f"{name} is not taken from {path.name}", "one definition at top level", f"{len(found)} of them")
    function = found[0]
    if function.decorator_list:
        _refuse(path, f"{name} is decorated", "a plain function", ast.unparse(function.decorator_list[0]))
    for node in ast.walk(function):
        _refuse_reaching(node, name, path, imports)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return function


def _refuse_reaching(node: ast.AST, name: str, path: Path, imports: Sequence[str]) -> None:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = ["." * node.level + (node.module or "")]
    if stray := [module for module in modules if module not in imports]:
        _refuse(path, f"{name} imports {stray[0]}", ", ".join(imports), stray[0])
    if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr.endswith("__"):
        _refuse(path, f"{name} reaches into the interpreter", "no double-underscore attribute", node.attr)


def _literals(tree: ast.Module, names: set[str]) -> dict[str, Any]:
    """Module-level names among `names` that are bound once, to a number or text: read from the text, never run."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append(getattr(node, "value", None))
    found: dict[str, Any] = {}
    for name, values in bound.items():
        if name not in names or len(values) != 1 or values[0] is None:
            continue
        try:
            value = ast.literal_eval(values[0])
        except (ValueError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(value, bool | int | float | str):
            found[name] = value
    return found


def _refuse(path: Path, what: str, expected: str, found: str) -> NoReturn:
    raise ReferenceRefused(
        what, expected=expected, found=found, where=str(path), hint=f"edit `functions` of {path.name}"
    )


def _refuse_pins(where: str, expected: str, found: str) -> NoReturn:
    raise UsageError(
        "the pins are not what they must be",
        expected=expected,
        found=found,
        where=where,
        hint='[{"file": "metrics.py", "sha256": "<64 hex>", "functions": ["ece"]}]',
    )
