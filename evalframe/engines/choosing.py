"""Which engine computes, within which limits: what the caller chose, else the environment, else DuckDB as it is.

Nothing is passed down for it: every engine that a verb opens is opened under the choice that is in force.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalframe.errors import UsageError

if TYPE_CHECKING:
    from evalframe.engines.duckdb import DuckDB

ENGINES = ("duckdb", "ray")
VARIABLE = "EVALFRAME_ENGINE"


@dataclass(frozen=True)
class Choice:
    """engine: one of ENGINES; None: what EVALFRAME_ENGINE says, else duckdb. ray_address: a running cluster's.

    memory_limit (`4GB`) and threads: of every engine that is opened; None: a share of the machine, and all its cores.
    """

    engine: str | None = None
    ray_address: str | None = None
    memory_limit: str | None = None
    threads: int | None = None

    def name(self) -> str:
        """The engine by name. Raises UsageError for one that does not exist or has no cluster to be asked for."""
        where = "--engine" if self.engine is not None else VARIABLE
        name = self.engine or os.environ.get(VARIABLE) or ENGINES[0]
        if name not in ENGINES:
            raise UsageError(
                f"there is no engine {name!r}",
                expected=" or ".join(ENGINES),
                found=name,
                where=where,
                hint="--engine duckdb" if self.engine is not None else f"unset {VARIABLE}",
            )
        if self.ray_address is not None and name != "ray":
            raise UsageError(
                "a Ray address is of use to the engine ray alone",
                expected="--engine ray --ray-address ADDRESS",
                found=f"engine {name}",
                where="--ray-address",
                hint=f"--engine ray --ray-address {self.ray_address}",
            )
        return name


_chosen: ContextVar[Choice | None] = ContextVar("choice", default=None)


def chosen() -> Choice:
    """The choice in force."""
    return _chosen.get() or Choice()


@contextmanager
def using(choice: Choice) -> Iterator[None]:
    """Engines that are opened inside follow `choice`. Raises UsageError for one that cannot be followed."""
    from evalframe.engines.limits import check_limits

    choice.name()
    check_limits(choice.memory_limit, choice.threads)
    token = _chosen.set(choice)
    try:
        yield
    finally:
        _chosen.reset(token)


def open_engine(*, by_parts: bool = False) -> DuckDB:
    """The chosen engine. Raises ExtraMissing without what it needs, EngineUnreachable where no cluster answers.

    by_parts: if it is the engine of record, one that goes through large tables a part of their rows at a time.
    """
    if chosen().name() == "ray":
        from evalframe.engines.ray import Ray

        return Ray(chosen().ray_address)
    if by_parts:
        from evalframe.engines.parted import Parted

        return Parted()
    from evalframe.engines.duckdb import DuckDB

    return DuckDB()
