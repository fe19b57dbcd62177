"""The command line: arguments, exit codes and drawing. Everything else is a verb."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    import os
    import sys

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        from evalframe.cli.run import run

        code = run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before a command began
        code = 130
    sys.exit(code)
