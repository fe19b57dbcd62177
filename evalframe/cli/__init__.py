"""The command line: arguments, exit codes and drawing. Everything else is a verb."""

from __future__ import annotations

from collections.abc import Sequence


def program() -> None:
    """The process `evalframe`: run the command that it was given and end with its exit code.

    What the process holds goes back to the system as a whole. To let go of it object by object, as the interpreter does
    at its end, takes about as long as loading DuckDB.
    """
    import atexit
    import os
    import sys
    from contextlib import suppress

    try:
        main()
    except SystemExit as left:
        if isinstance(left.code, int):
            with suppress(OSError, ValueError):  # of a stream that takes nothing the interpreter tells
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(left.code)
        raise


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    import os
    import sys

    _suit_a_short_life()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        from evalframe.cli.run import run

        code = run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before a command began
        code = 130
    sys.exit(code)


def _suit_a_short_life() -> None:
    """What is set up for processes that live long costs a command a fifth of its time; choices of the caller stay."""
    import gc
    import os

    # What is loaded stays until the end: searching it for garbage after every 700 objects finds none.
    gc.set_threshold(100_000)
    # Our matrix products are small: a second thread of NumPy's waits longer for its turn than they take. And with one,
    # sums of reals are the same bits on any number of cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
