"""Finds the contract of a table and reads it once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml

from evalframe.contracts.model import Contract
from evalframe.contracts.odcs import read_document, refused
from evalframe.contracts.yaml_text import parsed
from evalframe.errors import UnknownName
from evalframe.resources import folder

SUFFIX = ".odcs.yaml"


@cache
def contract(name: str) -> Contract:
    """The contract of one table. An unknown name raises UnknownName listing the known ones."""
    if name not in _names():
        import difflib

        near = difflib.get_close_matches(name, _names(), n=1, cutoff=0.5) or ["runs"]
        raise UnknownName(
            f"there is no table {name!r}", expected=", ".join(_names()), found=name, hint=f"evalframe explain {near[0]}"
        )
    return load(folder("data_contracts") / f"{name}{SUFFIX}")


class _Contracts(Mapping[str, Contract]):
    """Every contract by name; a file is read when its contract is first asked for."""

    def __getitem__(self, name: str) -> Contract:
        if name not in _names():
            raise KeyError(name)
        return contract(name)

    def __contains__(self, name: object) -> bool:
        return name in _names()

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


def contracts() -> Mapping[str, Contract]:
    """Every contract of this installation, by table name."""
    return _Contracts()


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(p.name.removesuffix(SUFFIX) for p in folder("data_contracts").glob(f"*{SUFFIX}")))


def load(path: Path) -> Contract:
    """Read one contract file; one that is not exactly of the form `odcs` describes raises ContractFileError."""
    try:
        document = parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        found = " ".join(str(error).split())
        raise refused(str(path), "a YAML document in UTF-8", found) from error
    return read_document(document, path.name.removesuffix(SUFFIX), str(path))
