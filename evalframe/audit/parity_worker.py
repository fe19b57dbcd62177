"""The process that runs a reference's functions, and nothing else of it. Started by path; it imports no module of ours.

One JSON request on stdin, one JSON answer on stdout. The functions see numpy, math, one another and the literals they
name; a few harmless builtins; and each call a copy of its inputs of its own. Once they are to run, the process can
write no file, read none outside its libraries, start nothing and import nothing more, within limits of time and
memory. That stops accidents and crude tampering; it is no wall against code that is written to escape.
"""

from __future__ import annotations

import builtins
import importlib
import json
import math
import os
import platform
import resource
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

BUILTINS = (
    *(
        "abs",
        "all",
        "any",
        "bool",
        "callable",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
    ),
    *("int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "pow", "range"),
    *("repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip"),
    *("ArithmeticError", "AssertionError", "AttributeError", "Exception", "IndexError"),
    *("KeyError", "NotImplementedError", "OverflowError", "RuntimeError", "StopIteration", "TypeError", "ValueError"),
    *("ZeroDivisionError",),
)
_REFUSED_EVENTS = (
    *("os.", "subprocess.", "socket.", "shutil.", "ctypes.", "mmap.", "glob.", "tempfile.", "signal.", "pty."),
    *("compile", "exec", "pickle.", "marshal.", "code.", "cpython.", "http.", "urllib.", "sqlite3.", "gc."),
)
_LISTING = ("os.listdir", "os.scandir")  # an allowed library may look for a part of its own
_PRELOADED = ("numpy.linalg", "numpy.ma", "numpy.random", "numpy.fft", "numpy.polynomial")


class Refused(Exception):
    """What the functions tried and may not do, or what they gave back and cannot be compared."""


def main() -> None:
    """Answer the request on stdin. What went wrong is an answer too."""
    request = json.loads(sys.stdin.buffer.read())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as the process lives)
    try:
        answer = _answer(request)
    except BaseException as error:
        answer = {"failed": {"kind": type(error).__name__, "message": str(error)[:500]}}
    answers.write(json.dumps(answer, allow_nan=False))
    answers.flush()
    os._exit(0)  # no handler that the functions may have left behind


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"] + 1))
    resource.setrlimit(resource.RLIMIT_AS, (request["bytes"], request["bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    modules = _modules(request["imports"])
    packages = {name.partition(".")[0] for name in modules} - {"math"}
    versions = {name: str(getattr(sys.modules[name], "__version__", "")) for name in sorted(packages)}
    space = _namespace(request, modules)
    defined = compile("\n\n".join(request["functions"]), "<reference>", "exec")
    groups = [(group["calls"], [json.dumps(batch) for batch in group["batches"]]) for group in request["groups"]]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _seal(defined, tuple(modules))
    exec(defined, space)  # makes the functions; default values are the only expressions that run here
    functions = {name: space[name] for name in request["names"]}
    results = [
        [[_called(functions, call, batch, place) for call in calls] for place, batch in enumerate(batches)]
        for calls, batches in groups
    ]
    if _reached:
        raise Refused(f"a function {_reached[0]}")
    return {"results": results, "versions": {**versions, "python": platform.python_version()}}


def _modules(names: Sequence[str]) -> dict[str, Any]:
    found = {name: importlib.import_module(name) for name in ("numpy", "math", *names)}
    for name in _PRELOADED:
        importlib.import_module(name)
    return found


def _namespace(request: Mapping[str, Any], modules: Mapping[str, Any]) -> dict[str, Any]:
    packages = {name.partition(".")[0] for name in modules}

    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        # Compiled parts of a library import its other parts through the frame that called them, which is a function's.
        if level or name.partition(".")[0] not in packages:
            _reached.append(f"imports {name}; only {', '.join(sorted(modules))} may be imported")
            raise Refused(_reached[-1])
        found = importlib.import_module(name)
        return found if fromlist else sys.modules[name.partition(".")[0]]

    allowed = {name: getattr(builtins, name) for name in BUILTINS}
    allowed["__import__"] = importing
    allowed["print"] = lambda *_, **__: None
    space = {"__builtins__": allowed, "__name__": "reference", "np": modules["numpy"], "numpy": modules["numpy"]}
    return {**space, "math": math, **request["literals"]}


_reached: list[str] = []
"""What was refused: a function may swallow the refusal and go on, which does not make it one to compare with."""


def _seal(defined: Any, imports: tuple[str, ...]) -> None:
    """From here on the interpreter itself reports, and this refuses, whatever reaches out of the process."""
    roots = tuple(
        {os.path.realpath(path) + os.sep for path in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))}
    )
    roots += tuple(os.path.realpath(path) + os.sep for path in sys.path if path)
    loaded = frozenset(name.partition(".")[0] for name in sys.modules)

    def refuse(event: str, what: object = "") -> NoReturn:
        _reached.append(f"reaches for {event} {what!s:.100}".strip())
        raise Refused(_reached[-1])

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec" and arguments[0] is defined:
            return
        if event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            reading = not (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            reading = reading and not (isinstance(mode, str) and set(mode) & set("wax+"))
            if not (
                reading and isinstance(path, str | bytes) and os.path.realpath(os.fsdecode(path)).startswith(roots)
            ):
                refuse("open", path)
        elif event == "import":
            if arguments[0].partition(".")[0] not in loaded and arguments[0] not in imports:
                refuse("import", arguments[0])
        elif event.startswith(_REFUSED_EVENTS) and event not in _LISTING:
            if len(imports) > 2 and event in ("exec", "compile", "marshal.loads", "code.__new__"):
                return  # how a library that the caller allowed loads a part of its own
            refuse(event, arguments[0] if arguments else "")

    sys.addaudithook(watch)


def _called(functions: Mapping[str, Callable[..., Any]], call: Mapping[str, Any], batch: str, place: int) -> Any:
    """What one function gives back on a copy of the batch of its own."""
    name = call["function"]
    for form in call["forms"]:
        given = [_argument(value, json.loads(batch), form) for value in call["arguments"]]
        before = [_plain(value, name) for value in given]
        try:
            result = functions[name](*given)
        except (TypeError, AttributeError) as error:
            if form != call["forms"][-1]:
                continue  # written for arrays, or for lists
            raise Refused(f"{name} fails on batch {place}: {type(error).__name__}: {error}") from None
        except Refused as error:
            raise Refused(f"{name} {error}") from None
        except MemoryError:
            raise Refused(f"{name} asks for more memory than the limit") from None
        except Exception as error:
            raise Refused(f"{name} fails on batch {place}: {type(error).__name__}: {error}") from None
        if [_plain(value, name) for value in given] != before:
            raise Refused(f"{name} changes the inputs it is given (batch {place})")
        return _plain(result, name)
    raise Refused(f"{name} has no form of arguments")


def _argument(value: Any, batch: Mapping[str, Any], form: str) -> Any:
    import numpy as np

    if not isinstance(value, str):
        return value
    found = batch[value]
    return np.asarray(found) if form == "array" and isinstance(found, list) else found


def _plain(value: Any, name: str, depth: int = 0) -> Any:
    """`value` in JSON's terms; numbers that JSON does not have by name."""
    import numpy as np

    if depth > 20:
        raise Refused(f"{name} gives back something nested too deep")
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist(), name, depth + 1)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"not finite": str(value)}
    if isinstance(value, dict):
        return {str(key): _plain(held, name, depth + 1) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held, name, depth + 1) for held in value]
    raise Refused(f"{name} gives back a {type(value).__name__}, which is no number, text, list or mapping of them")


if __name__ == "__main__":
    main()
