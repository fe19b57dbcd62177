"""Ray core, the engine of several machines: groups of rows are answered by tasks, the rest by the DuckDB that asks.

A task is a DuckDB with one thread and its core's share of its node's memory. It reads files itself where data are bound
as files (every node must see them), and is sent its rows where they are bound as tables. A task that fails is tried
again; a node that is lost costs the tasks that ran on it.
"""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evalframe.engines.choosing import chosen
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.grouped import Grouped, Work, answer
from evalframe.engines.limits import memory_share
from evalframe.engines.splitting import Group
from evalframe.errors import EngineError, EngineUnreachable, EvalframeError, ExtraMissing, UsageError
from evalframe.relations.plan import quoted
from evalframe.underway import tell

if TYPE_CHECKING:
    import pyarrow as pa

RETRIES = 3
"""How often a task is tried again, whether it failed or its node was lost."""

ROWS_OF_A_GROUP = 2_000_000
"""A group takes well under a core's share of memory, and much longer than it takes to send a task."""

ANSWER_SECONDS = 5.0
"""How long a cluster may take to say that it is there."""

_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What makes a cluster of this machine alone listen on the loopback, on Linux too; Ray reads it as it is imported."""

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    # What a task raises is raised to the caller, once.
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
    # Ray would warn that it will stop hiding accelerators from tasks that ask for none; ours have no use for any.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class Ray(Grouped):
    """The engine of record on this machine, with the groups of its plans answered on a Ray cluster."""

    @staticmethod
    def _task(*given: Any) -> Mapping[str, pa.Table]:
        """What a task does."""
        return _task(*given)

    def __init__(
        self,
        address: str | None = None,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        rows_of_a_group: int = ROWS_OF_A_GROUP,
    ) -> None:
        """address: of a running cluster (`host:6379`, `auto`); None: what RAY_ADDRESS says, else this machine's cores.

        A cluster is joined once and kept for the process: starting one takes seconds. memory_limit: of this machine's
        DuckDB and of each node. Raises ExtraMissing without Ray, EngineUnreachable where no cluster answers.
        """
        address = address or os.environ.get("RAY_ADDRESS")
        self._ray = library(alone=address is None)
        super().__init__(memory_limit, threads)
        self._limit = chosen().memory_limit if memory_limit is None else memory_limit
        self._rows_of_a_group = rows_of_a_group
        try:
            _connect(self._ray, address)
        except EvalframeError:
            self.close()
            raise

    def _cores(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _wanted(self, rows: int) -> int:
        """At least one for every core; no more than rows."""
        return max(1, min(rows, max(self._cores(), -(-rows // self._rows_of_a_group))))

    def _answers(self, work: Work, groups: Sequence[Group]) -> Iterator[Mapping[str, pa.Table]]:
        ray = self._ray
        what = f"groups of {' and '.join(sorted(set(work.split.keys.values())))}"
        task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=True)(self._task)
        shared = [name for name in work.plan.sources if name not in work.files and name not in work.split.keys]
        divided = [name for name in work.plan.sources if name not in work.files and name in work.split.keys]
        with _cluster_errors(ray):
            held = [ray.put(self.query(f"SELECT * FROM {quoted(name)}")) for name in shared]
            asked = ray.put((work, self._limit))
            waiting, done = list(reversed(groups)), 0
            running: list[Any] = []
            tell(what, 0, len(groups))
            try:
                while waiting or running:
                    # Rows of a group are sent when its turn is near, so that memory holds few of them.
                    while waiting and len(running) < 2 * self._cores():
                        group = waiting.pop()
                        sent = [ray.put(self.rows_of(group, name, work)) for name in divided]
                        running.append(task.remote(asked, group, (*shared, *divided), *held, *sent))
                    (ready, *_), running = ray.wait(running, num_returns=1)
                    yield ray.get(ready)
                    done += 1
                    tell(what, done, len(groups))
            finally:
                for task_left in running:
                    ray.cancel(task_left, force=False)
                tell(what, len(groups), len(groups))


def _task(
    asked: tuple[Work, str | None], group: Group, names: Sequence[str], *tables: pa.Table
) -> Mapping[str, pa.Table]:
    """One group, on whichever node has a core free."""
    import ray

    work, limit = asked
    node = ray.get_runtime_context().get_node_id()
    cores = next((each["Resources"].get("CPU", 1) for each in ray.nodes() if each["NodeID"] == node), 1)
    with DuckDB(memory_limit=memory_share(limit, int(cores)), threads=1) as engine:
        return answer(engine, work, group, dict(zip(names, tables, strict=True)))


def library(*, alone: bool) -> Any:
    """Ray, told to be quiet. alone: no other machine is to be part of the cluster. Raises ExtraMissing without it."""
    wanted = {**_QUIET, **(_ALONE if alone else {})}
    os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
    try:
        with warnings.catch_warnings():
            # Of Ray's own imports: nothing that its caller could change.
            warnings.simplefilter("ignore")
            import ray
    except ImportError:
        raise ExtraMissing(
            "the engine ray needs Ray",
            expected="the extra `ray`",
            found="no ray",
            where="--engine ray",
            hint="pip install 'evalframe[ray]'",
        ) from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    """Join the cluster, or start one of this machine's cores; one that this process is part of already will do."""
    if address is not None:
        _knock(address)
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if address in (None, "auto", joined):
            return
        raise UsageError(
            "this process is part of another Ray cluster",
            expected="one cluster",
            found=f"{joined} and {address}",
            where="--ray-address",
            hint="ray.shutdown() before",
        )
    options: dict[str, Any] = {"include_dashboard": False} if address is None else {"address": address}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(log_to_driver=False, configure_logging=True, logging_level=logging.ERROR, **options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise _unreachable(address or "this machine", str(error)) from None


def _knock(address: str) -> None:
    """Raise EngineUnreachable where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from None


def _unreachable(address: str, found: str) -> EngineUnreachable:
    return EngineUnreachable(
        "no Ray cluster answers",
        expected="the address that `ray start --head` prints",
        found=" ".join(found.split())[:300],
        where=f"--ray-address {address}",
        hint="ray start --head --port 6379, then --ray-address HOST:6379; or leave it out for this machine",
    )


@contextmanager
def _cluster_errors(ray: Any) -> Iterator[None]:
    """What tasks raised as it was raised in them; what Ray raises itself as ours, in four lines."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, EvalframeError):
            raise cause from None
        raise EngineError(
            "a group of rows could not be answered",
            expected=f"an answer after {RETRIES} more tries",
            found=" ".join(f"{type(cause).__name__}: {cause}".split())[:300],
            where="--engine ray",
            hint="--engine duckdb",
        ) from None
    except ray.exceptions.RayError as error:
        raise EngineUnreachable(
            "the cluster could not go on",
            expected=f"nodes that stay, or others that can take over {RETRIES} times",
            found=" ".join(str(error).split())[:300],
            where="--engine ray",
            hint="--engine duckdb, or a cluster with more nodes",
        ) from None
