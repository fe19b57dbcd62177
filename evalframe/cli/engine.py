"""Options of commands that compute: which engine, how much memory, how many threads. Decorators add them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter as Argument
from inspect import signature
from typing import Annotated, Any

from cyclopts import Parameter


@dataclass(frozen=True)
class Limits:
    """How much of the machine may be used."""

    memory_limit: Annotated[
        str | None, Parameter(help="Memory of the engine, such as 1GiB; default: a share of the machine. Beyond, disk.")
    ] = None
    threads: Annotated[int | None, Parameter(help="Threads of the engine; default: all cores.")] = None


@dataclass(frozen=True)
class Engine(Limits):
    """Where relations are computed."""

    engine: Annotated[str | None, Parameter(help="duckdb or ray; default: EVALFRAME_ENGINE, else duckdb.")] = None
    ray_address: Annotated[
        str | None, Parameter(help="A running Ray cluster, HOST:PORT or auto; default: one of this machine's cores.")
    ] = None


def limited(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with --memory-limit and --threads."""
    return _with(Limits, command)


def engaged(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with --engine, --ray-address, --memory-limit and --threads."""
    return _with(Engine, command)


def _with(options: type[Limits], command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def run(*args: Any, chosen_engine: Limits | None = None, **named: Any) -> Any:
        from evalframe.verbs.choosing import engine

        with engine(**vars(chosen_engine or options())):
            return command(*args, **named)

    kind: Any = Annotated[options | None, Parameter(name="*")]
    own = signature(command)
    added = Argument("chosen_engine", Argument.KEYWORD_ONLY, default=None, annotation=kind)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, "chosen_engine": kind}
    return run
