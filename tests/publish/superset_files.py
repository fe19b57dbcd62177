"""What the tests of the Superset bundle read it with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAME = "results of May"
"""The dashboard's name: that of the ZIP without its ending."""


def of_kind(files: dict[str, Any], kind: str) -> dict[str, Any]:
    """Name -> content of the files of one folder."""
    return {Path(name).stem: content for name, content in files.items() if name.startswith(f"{kind}/")}


def sql(dataset: dict[str, Any], what: str, rest: str = "") -> str:
    """A query as Superset asks it of a data set."""
    return f"SELECT {what} FROM ({dataset['sql']}) AS virtual_table {rest}"


def metric(files: dict[str, Any], dataset: str, name: str) -> str:
    """The expression of one metric."""
    (found,) = [m for m in of_kind(files, "datasets")[dataset]["metrics"] if m["metric_name"] == name]
    return str(found["expression"])
