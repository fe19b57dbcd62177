"""The graph of a `.pt2` archive as text: which of its words torch would look up, call or evaluate, and which are safe.

Loading resolves every `target` to a callable, runs shape expressions through an evaluator and compiles names and guards
into Python. So only what a classifier needs is let through: ATen operators, plain names, arithmetic over shapes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from evalframe.contracts.json_values import parse_json

_OPERATOR = re.compile(
    r"torch\.ops\.(?:aten|prims)\.(?!_*from_file|_*save|_*load|_*file)[A-Za-z0-9_]+\.[A-Za-z0-9_]+"
    r"|torch\.ops\.higher_order\.wrap_with_(?:set_grad_enabled|autocast)"
    r"|_operator\.(?:eq|ne|le|ge|lt|gt|neg|pos|mul|add|sub|floordiv|mod|truediv|and_|or_|getitem)"
    r"|math\.trunc|torch\.sym_(?:not|int|float|ite|max|min|sqrt)"
)
"""ATen can also map files into memory (`from_file` makes one); nothing else here reaches outside the process."""

_NAME = re.compile(r"[A-Za-z0-9_.:<>+-]*")
_DUNDER = re.compile(r"(?:^|\.)__\w+__(?:\.|$)")
_TEXT = re.compile(r"[A-Za-z0-9_.:<>,+ -]*")
_SYMBOL = re.compile(r"[a-z]+[0-9]+")
# fmt: off
_FUNCTIONS = frozenset({
    "Integer", "Symbol", "Rational", "Mul", "Add", "Max", "Min", "Mod", "PythonMod", "FloorDiv", "CleanDiv", "CeilDiv",
    "IntTrueDiv", "ToFloat", "TruncToInt", "FloorToInt", "CeilToInt", "ModularIndexing", "Equality", "Unequality", "Eq",
    "Ne", "LessThan", "StrictLessThan", "GreaterThan", "StrictGreaterThan", "And", "Or", "Not",
})
# fmt: on
_SHAPE_METHODS = frozenset({"size", "stride", "storage_offset", "dim", "numel"})
_LONGEST = 10_000


def unsafe_text(graph: Any) -> str | None:
    """The first text of the graph that is not known to be safe, with where it stands; None when all is."""
    for path, key, text in _texts(graph, "model", ""):
        if not _RULES.get(key, _is_name)(text):
            return f"{path}: {text!r}"
    return None


def without_origins(graph: Any) -> Any:
    """The graph without the notes on where each node came from: loading would look names in them up."""
    if isinstance(graph, list):
        return [without_origins(item) for item in graph]
    if isinstance(graph, dict):
        return {name: {} if name == "metadata" else without_origins(item) for name, item in graph.items()}
    return graph


def _texts(value: Any, path: str, key: str) -> Iterator[tuple[str, str, str]]:
    """(place, kind, text) of every text. The kind is the key it stands under; keys themselves are names."""
    if isinstance(value, str):
        yield path, key, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}[{index}]", key)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield f"{path} key", "", name
            if name != "metadata":  # where a node came from; never evaluated, and dropped before loading
                yield from _texts(item, f"{path}.{name}"[:200], name)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and _DUNDER.search(text) is None


def _is_constant(text: str) -> bool:
    return _TEXT.fullmatch(text) is not None


def _is_identifier(text: str) -> bool:
    return text == "" or text.isidentifier()


def _is_operator(text: str) -> bool:
    return _OPERATOR.fullmatch(text) is not None


def _is_tree(text: str) -> bool:
    """A tree of arguments made of the built-in containers; other types would be imported by name."""
    try:
        tree = parse_json(text)
    except ValueError:
        return False
    return isinstance(tree, list) and len(tree) == 2 and tree[0] == 1 and _is_branch(tree[1])


def _is_branch(branch: Any) -> bool:
    if not isinstance(branch, dict) or set(branch) != {"type", "context", "children_spec"}:
        return False
    context = branch["context"]
    plain = context is None or (isinstance(context, str) and re.fullmatch(r'null|\[(?:"\w+"(?:, "\w+")*)?\]', context))
    known = branch["type"] in (None, "builtins.tuple", "builtins.list", "builtins.dict")
    children = branch["children_spec"]
    return bool(plain) and known and isinstance(children, list) and all(map(_is_branch, children))


def _is_expression(text: str) -> bool:
    """Arithmetic over sizes, as `expr_str` and `guards_code` hold it."""
    if len(text) > _LONGEST or "__" in text:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_arithmetic(node) for node in ast.walk(tree))


_ARITHMETIC = (
    ast.Expression, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Subscript, ast.Load, ast.boolop, ast.unaryop,
    ast.cmpop, ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.Div,
)  # fmt: skip


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str):
            return value.isidentifier()
        return isinstance(value, bool | int | float) and abs(value) < 2**63
    if isinstance(node, ast.Name):
        return node.id == "L" or node.id in _FUNCTIONS or _SYMBOL.fullmatch(node.id) is not None
    if isinstance(node, ast.Attribute):
        return node.attr in _SHAPE_METHODS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) or (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS)
    if isinstance(node, ast.keyword):
        return node.arg in ("positive", "integer", "nonnegative") and isinstance(node.value, ast.Constant)
    return isinstance(node, _ARITHMETIC)


_RULES: dict[str, Callable[[str], bool]] = {
    "target": _is_operator,
    "as_operator": _is_operator,
    "class_fqn": lambda text: False,
    "expr_str": _is_expression,
    "guards_code": _is_expression,
    "in_spec": _is_tree,
    "out_spec": _is_tree,
    "as_string": _is_constant,
    "name": _is_identifier,
    "as_name": _is_identifier,
    "forward_arg_names": _is_identifier,
}
