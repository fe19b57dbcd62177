"""Model evaluation results that carry the identity of the protocol that made them.

`evalframe.open(DIR)` asks a store; `evalframe.wisp`, `evalframe.kev`, `evalframe.floor` and `evalframe.robometer` score
saved predictions; `with evalframe.engine("ray"):` says where. The command line calls the same functions. Importing this
package loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalframe.verbs.choosing import engine as engine
    from evalframe.verbs.opened import Store

_SYSTEMS = ("floor", "kev", "robometer", "wisp")

__all__ = ["engine", "open"]


def open(path: Path | str) -> Store:
    """The store in folder `path`, or at a URI such as `s3://bucket/results`. Raises StoreError when there is none.

    Example: evalframe.open("results").sql("SELECT * FROM metric_values").to_polars()
    """
    from evalframe.verbs.opened import open_store

    return open_store(path)


def __getattr__(name: str) -> Any:
    if name in _SYSTEMS:
        return import_module(f"evalframe.{name}")
    if name == "engine":
        return import_module("evalframe.verbs.choosing").engine
    raise AttributeError(f"module 'evalframe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SYSTEMS, "engine"})
