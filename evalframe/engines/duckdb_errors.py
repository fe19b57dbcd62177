"""What DuckDB says when it fails, as our errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from evalframe.errors import EngineError

STEPS = "evalframe explain METRIC --steps"


@contextmanager
def through_arrow() -> Iterator[None]:
    """What the driver raises while a stream is read comes through Arrow, as an OSError; here it is what it was."""
    try:
        yield
    except OSError as error:
        said = str(error)
        if "nterrupted" in said:
            raise KeyboardInterrupt from None
        raise (duckdb.OutOfMemoryException if "Out of Memory" in said else duckdb.Error)(said) from None


@contextmanager
def engine_errors(
    what: str, expected: str = "SQL that DuckDB can bind and run", where: str = "", hint: str = STEPS
) -> Iterator[None]:
    """Driver errors as ours: four lines, no traceback of the driver. Ctrl-C stays what it is."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error):  # how the driver reports a signal
            raise KeyboardInterrupt from None
        raise
    except duckdb.Error as error:
        out_of_memory = isinstance(error, duckdb.OutOfMemoryException)
        lines = _placed(str(error).splitlines())
        raise EngineError(
            what,
            expected="to fit into the memory limit and the spill folder" if out_of_memory else expected,
            # What follows the first line of a full memory is advice for users of DuckDB, on settings we make.
            found=" ".join(lines[:1] if out_of_memory else lines) or type(error).__name__,
            where=where,
            hint="--memory-limit 8GB" if out_of_memory else hint,
        ) from None


def _placed(lines: Sequence[str]) -> list[str]:
    """What the driver says, without empty lines; carets under a part of the query become that part and its line."""
    said = [line for line in lines if line.strip()]
    if len(said) > 1 and said[-2].startswith("LINE ") and set(said[-1].strip()) == {"^"}:
        number, marks = said[-2].removeprefix("LINE ").partition(":")[0], said[-1]
        part = said[-2][marks.index("^") : len(marks.rstrip())]
        said[-2:] = [f"at {part!r} in line {number}"]
    return [line.strip() for line in said]
