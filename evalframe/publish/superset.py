"""`superset:FILE.zip`: a dashboard for Apache Superset 6, and beside it the database that it reads."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit, urlunsplit

from evalframe.errors import UsageError
from evalframe.publish.database import Database
from evalframe.publish.postgresql import SCHEMA
from evalframe.publish.star import Star
from evalframe.publish.superset_bundle import MARK, Bundle, Source
from evalframe.publish.targets import Outcome, other_content
from evalframe.store import staging

MASK = "XXXXXXXXXX"
"""What Superset takes for a password that it asks for on import."""

DUCKDB, POSTGRESQL = "duckdb", "postgresql"


@dataclass(frozen=True)
class Superset:
    """A ZIP, and FILE.duckdb beside it unless `database` is a PostgreSQL that an export of its own fills.

    database: URI of the database as Superset reaches it; None for the absolute path of FILE.duckdb. It stands in the
    ZIP without its password.
    """

    path: Path
    database: str | None = None
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a database that cannot be named before anything is computed."""
        self._source()

    @property
    def shown(self) -> str:
        """How `--to` names it."""
        return f"superset:{self.path}"

    def write(self, star: Star, *, force: bool) -> Outcome:
        """Write the database first: a ZIP that is there names one that is there."""
        staging.recover(self.path)
        beside, source = self._beside(), self._source()
        data = Bundle(self.path.stem, source, star).data()
        there = self.path.read_bytes() if self.path.is_file() else None
        same = there == data
        if self.path.exists() and not same:
            ours = there is not None and _is_ours(there)
            if not (ours and force):
                raise other_content(self.path.name, str(self.path), ours=ours)
        outcome: Outcome = "unchanged" if same else "written"
        if source.uri.startswith(DUCKDB) and beside.write(star, force=force) == "written":
            outcome = "written"
        if not same:
            with staging.made(self.path, option="--to") as new:
                staging.put(new, data)
        return outcome

    def _beside(self) -> Database:
        return Database(self.path.with_suffix(".duckdb"))

    def _source(self) -> Source:
        return source_of(_uri(self._beside().path) if self.database is None else self.database)


def source_of(uri: str) -> Source:
    """Schema and read-only arguments of a database that holds an export. Raises UsageError for any other kind."""
    kind = urlsplit(uri).scheme.partition("+")[0]
    if kind == DUCKDB and uri.startswith(f"{DUCKDB}:///"):
        return Source(uri, "main", {"read_only": True})
    if kind == POSTGRESQL:
        return Source(_masked(uri), SCHEMA, {"options": "-c default_transaction_read_only=on"})
    raise UsageError(
        "Superset can read an export from DuckDB and PostgreSQL only",
        expected="duckdb:////FOLDER/FILE.duckdb or postgresql://USER@HOST/DATABASE",
        found=repr(kind),
        where="--database",
        hint="evalframe export --store DIR --to superset:FILE.zip --database duckdb:////data/FILE.duckdb",
    )


def _uri(path: Path) -> str:
    whole = str(path.absolute())
    if "?" in whole:
        raise UsageError(
            "a database URI cannot name this path",
            expected="a path without ?",
            found=repr(path.name),
            where="--to",
            hint="name another --to, or the database with --database",
        )
    return f"{DUCKDB}:///{whole}"


def _masked(uri: str) -> str:
    """The URI with the mask for its password. Options go too, since they may hold one."""
    parts = urlsplit(uri)
    user, sign, host = parts.netloc.rpartition("@")
    name, has_password, _ = user.partition(":")
    place = f"{name}:{MASK}@{host}" if has_password else f"{user}{sign}{host}"
    return urlunsplit((parts.scheme, place, parts.path, "", ""))


def _is_ours(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return file.comment == MARK
    except zipfile.BadZipFile:
        return False
