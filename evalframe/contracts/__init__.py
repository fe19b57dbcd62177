"""Data contracts: the tables of this project, what may stand in them, and whether it does.

What only checks or converts rows is loaded when it is first used: most commands only ask what a table looks like.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalframe.contracts.loading import contract, contracts
from evalframe.contracts.model import Column, Contract, Reference

if TYPE_CHECKING:
    from evalframe.contracts.conforming import conform, from_rows
    from evalframe.contracts.describing import describe
    from evalframe.contracts.examples import example
    from evalframe.contracts.files import read_table
    from evalframe.contracts.report import Failure, Report
    from evalframe.contracts.validating import validate
    from evalframe.contracts.writing import table_bytes

__all__ = [
    "Column",
    "Contract",
    "Failure",
    "Reference",
    "Report",
    "conform",
    "contract",
    "contracts",
    "describe",
    "example",
    "from_rows",
    "read_table",
    "table_bytes",
    "validate",
]

_LATER = {
    "Failure": "report",
    "Report": "report",
    "conform": "conforming",
    "describe": "describing",
    "example": "examples",
    "from_rows": "conforming",
    "read_table": "files",
    "table_bytes": "writing",
    "validate": "validating",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
