"""What DuckDB says when it fails, as our errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from evalframe.errors import EngineError

STEPS = "evalframe explain METRIC --steps"
VERIFY = "evalframe store verify --store DIR"
"""What tells which files are not as they were sealed; verbs put their store in place of DIR."""

_KIND = re.compile(r"[A-Z][A-Za-z ]* Error: ")
"""How the driver begins what it says itself; its reader of Parquet says some things bare."""


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
    except UnicodeDecodeError:  # the driver quotes bytes of a file that should be text
        raise _unreadable(what, "bytes that are no text", where) from None
    except duckdb.Error as error:
        if _damaged(error):
            raise _unreadable(what, str(error), where) from None
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


def _unreadable(what: str, said: str, where: str) -> EngineError:
    found = " ".join(_placed(said.splitlines()))
    return EngineError(what, expected="Parquet files as they were written", found=found, where=where, hint=VERIFY)


def _damaged(error: duckdb.Error) -> bool:
    """Whether it is not the query but a file that cannot be read."""
    said = str(error)
    if type(error) is duckdb.Error and not _KIND.match(said):
        return True
    about_files = isinstance(error, duckdb.IOException | duckdb.InvalidInputException) or type(error) is duckdb.Error
    return about_files and re.search(r"parquet|Failed to read file", said, re.IGNORECASE) is not None


def _placed(lines: Sequence[str]) -> list[str]:
    """What the driver says, without empty lines; carets under a part of the query become that part and its line."""
    said = [line for line in lines if line.strip()]
    if len(said) > 1 and said[-2].startswith("LINE ") and set(said[-1].strip()) == {"^"}:
        number, marks = said[-2].removeprefix("LINE ").partition(":")[0], said[-1]
        part = said[-2][marks.index("^") : len(marks.rstrip())]
        said[-2:] = [f"at {part!r} in line {number}"]
    return [line.strip() for line in said]
