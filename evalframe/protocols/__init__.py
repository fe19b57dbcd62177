"""The protocols by name. Each system declares its own package, which is imported when a protocol is asked for."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from evalframe.errors import UnknownName
from evalframe.protocols.base import Parameter, Protocol

__all__ = ["Parameter", "Protocol", "all_protocols", "default_protocols", "protocol"]


def all_protocols() -> tuple[Protocol, ...]:
    """Every declared protocol, sorted by name and version."""
    return tuple(sorted((one for declared in _declared() for one in declared), key=_order))


def default_protocols() -> tuple[Protocol, ...]:
    """The first protocol that each system declares: what its relations mean where nobody names a protocol."""
    return tuple(declared[0] for declared in _declared())


def protocol(label: str) -> Protocol:
    """The protocol `name/version`; a bare `name` means its newest version. Raises UnknownName for any other text."""
    known = all_protocols()
    found = [one for one in known if label in (one.label, one.name)]
    if not found:
        import difflib

        labels = [one.label for one in known]
        near = difflib.get_close_matches(label, labels, n=1, cutoff=0.4) or labels
        raise UnknownName(
            f"there is no protocol {label!r}",
            expected=", ".join(labels),
            found=label,
            where="--protocol",
            hint=f"evalframe explain {near[0]}",
        )
    return found[-1]


def _declared() -> list[tuple[Protocol, ...]]:
    """The protocols of each system, as its package lists them."""
    packages = [module.name for module in iter_modules(__path__) if module.ispkg]
    return [import_module(f"{__name__}.{package}").PROTOCOLS for package in packages]


def _order(one: Protocol) -> tuple[str, int]:
    return one.name, int(one.version)
