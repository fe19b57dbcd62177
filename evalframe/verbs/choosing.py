"""`evalframe.engine("ray")`: which engine the verbs inside compute with, and how much of the machine it may use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from evalframe.engines.choosing import Choice, using


def engine(
    engine: str | None = None,
    *,
    ray_address: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> AbstractContextManager[None]:
    """Verbs called inside `with evalframe.engine(...)` compute so; the values are the same, bit for bit.

    engine: `duckdb` or `ray`; None: what EVALFRAME_ENGINE says, else duckdb. ray_address: of a running cluster; None:
    one of this machine's cores. memory_limit: such as `4GB`; None: a share of the machine. threads: None: all cores.
    Raises UsageError for a choice that there is not; the engine itself is opened by the verb.
    """
    return using(Choice(engine, ray_address, memory_limit, threads))
