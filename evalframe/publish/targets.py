"""Where an export goes, a file, a folder, a database or a dashboard, and what all of these places promise.

The same content again is a no-op. Another content is refused without `force`. What is half written is never seen:
files and folders are written beside and renamed, a database is written in one transaction.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol

from evalframe.errors import StoreConflict, UsageError
from evalframe.publish.star import Star
from evalframe.store.layout import utf8

Outcome = Literal["written", "unchanged"]
EXPECTED = (
    "FILE.duckdb, parquet:DIR, csv:DIR, sqlite:FILE, hyper:FILE.hyper, delta:DIR, eee:DIR, superset:FILE.zip or"
    " postgresql://USER@HOST/DATABASE"
)
_PLACES = {
    "parquet": ("folders", "Parquet", ""),
    "csv": ("folders", "Csv", ""),
    "delta": ("delta", "Delta", ""),
    "eee": ("every_eval_ever", "EveryEvalEver", ""),
    "sqlite": ("sqlite", "Sqlite", ""),
    "hyper": ("hyper", "Hyper", ".hyper"),
}
"""What `kind:PATH` names: a module of this package, imported when it is asked for, its class, how the path must end."""


class Target(Protocol):
    """One place to export to."""

    @property
    def shown(self) -> str:
        """The place as it may be printed: without a password."""

    @property
    def compares(self) -> bool:
        """Whether comparisons are among what it holds; where not, none need be made for it."""

    def write(self, star: Star, *, force: bool) -> Outcome:
        """Put the star schema there. Raises StoreConflict where something else is and `force` does not help."""


def target(text: str, database: str | None = None) -> Target:
    """The target that `--to` names; UsageError for any other text. database: what a dashboard reads, by its URI."""
    for given in (text, database or ""):
        utf8(given, "a place to export to")
    kind, _, place = text.partition(":")
    if kind == "superset" and Path(place).suffix == ".zip":
        from evalframe.publish.superset import Superset

        return Superset(Path(place), database)
    if database is not None:
        raise UsageError(
            "only a dashboard reads a database from elsewhere",
            expected="--to superset:FILE.zip",
            found="another --to",
            where="--database",
            hint="leave out --database",
        )
    if kind in ("postgresql", "postgres") and place.startswith("//"):
        from evalframe.publish.postgresql import Postgresql

        return Postgresql(text)
    if Path(text).suffix == ".duckdb":
        from evalframe.publish.database import Database

        return Database(Path(text))
    if place and kind in _PLACES:
        module, name, suffix = _PLACES[kind]
        if Path(place).suffix.endswith(suffix):
            made: Target = getattr(import_module(f"evalframe.publish.{module}"), name)(Path(place))
            return made
    raise UsageError(
        "there is no such place to export to",
        expected=EXPECTED,
        found=repr(kind if place.startswith("//") else text),
        where="--to",
        hint="evalframe export --store DIR --to results.duckdb",
    )


def other_content(what: str, where: str, *, ours: bool) -> StoreConflict:
    """The refusal to write over something else; only an export of ours may be replaced with --force."""
    return StoreConflict(
        f"{what} holds something else" if not ours else f"{what} holds another export",
        expected="a new place, or the same export again",
        found="other content" if ours else "content that no export has written",
        where=where,
        hint="name another --to, or add --force" if ours else "name another --to",
    )
