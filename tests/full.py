"""Everything that is too large for each change: full sizes, all fault points, the whole benchmark table.

    python -m tests.full            list the checks
    python -m tests.full NAME ...   run those
    python -m tests.full all        run all, one after the other

A check is a function `full_*() -> None` in a module of tests/; it prints its figures and raises when a result is wrong.
"""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

_TESTS = Path(__file__).resolve().parent
_CHECK = re.compile(r"^def (full_\w+)\(\) -> None:", re.MULTILINE)


def checks() -> dict[str, Callable[[], None]]:
    """Every check by its name without `full_`. Only the modules that hold one are imported."""
    found: dict[str, Callable[[], None]] = {}
    for path in sorted(_TESTS.rglob("*.py")):
        for function in _CHECK.findall(path.read_text(encoding="utf-8")) if path != Path(__file__).resolve() else ():
            module = ".".join(("tests", *path.relative_to(_TESTS).with_suffix("").parts))
            name = function.removeprefix("full_")
            if name in found:
                raise SystemExit(f"two checks are called {name}")
            found[name] = getattr(importlib.import_module(module), function)
    return found


def main(names: list[str]) -> None:
    known = checks()
    if not names:
        for name, check in known.items():
            print(f"{name:32}{(check.__doc__ or '').strip().splitlines()[0]}")
        return
    for name in known if names == ["all"] else names:
        if name not in known:
            raise SystemExit(f"no check is called {name}; there are {', '.join(known)}")
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        known[name]()
        print(f"== {name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
