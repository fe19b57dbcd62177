"""What evalframe stands on: `python -m tests.packaging.supply floors|pins|licences`.

floors: the oldest versions that pyproject.toml admits, as pip constraints; .ci/run tests them. pins: the versions that
are installed here, as pip constraints for an install that can be repeated (.ci/constraints.txt). licences: the table of
the README. Everything is read from pyproject.toml and from the metadata of what is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
_OURS = ("all", "fuzz", "test")
_CLASSIFIER = "License :: OSI Approved :: "


def declared() -> dict[str, list[Requirement]]:
    """Requirements by extra, "" for what is always installed; evalframe's own extras are not among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"": project["dependencies"], **project["optional-dependencies"]}
    made = {extra: [Requirement(line) for line in lines] for extra, lines in named.items()}
    return {extra: [one for one in lines if one.name != project["name"]] for extra, lines in made.items()}


def floors() -> Iterator[str]:
    """`name==oldest` for each requirement of a user; one without a lower bound is an error."""
    for requirement in (one for extra, lines in declared().items() if extra not in _OURS for one in lines):
        bounds = [each.version for each in requirement.specifier if each.operator == ">="]
        if len(bounds) != 1:
            raise SystemExit(f"{requirement} has no lower bound")
        yield f"{requirement.name}=={bounds[0]}"


def pins() -> Iterator[str]:
    """`name==version` of everything that is installed because evalframe, or an extra of it, wants it."""
    everything = [one for lines in declared().values() for one in lines]
    return (f"{found.name}=={found.version.partition('+')[0]}" for found in _installed(everything))


def licences() -> Iterator[str]:
    """The table of licences: what is always installed, then the extras that are for users."""
    yield "| package | licence | wanted by |"
    yield "|---|---|---|"
    shown: set[str] = set()
    for extra, requirements in declared().items():
        if extra in _OURS:
            continue
        for found in _installed(requirements):
            if found.name not in shown:
                shown.add(found.name)
                yield f"| {found.name} | {licence(found)} | {f'the extra `{extra}`' if extra else 'always'} |"


def licence(found: Distribution) -> str:
    """The licence that a package declares, in a line."""
    said = found.metadata
    classified = [line.removeprefix(_CLASSIFIER) for line in said.get_all("Classifier", []) if _CLASSIFIER in line]
    text = said.get("License-Expression") or ", ".join(classified) or said.get("License") or "not declared"
    return re.sub(r"\s+", " ", text.strip().splitlines()[0])


def _installed(requirements: Iterable[Requirement]) -> list[Distribution]:
    """The requirements and what they want in turn, by name, as far as it is installed."""
    found: dict[str, Distribution] = {}
    waiting = [(one, frozenset(one.extras)) for one in requirements]
    while waiting:
        wanted, extras = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for line in found[name].requires or ():
            inner = Requirement(line)
            if any(inner.marker is None or inner.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                waiting.append((inner, frozenset(inner.extras)))
    return [found[name] for name in sorted(found)]


if __name__ == "__main__":
    print(*{"floors": floors, "pins": pins, "licences": licences}[sys.argv[1]](), sep="\n")
