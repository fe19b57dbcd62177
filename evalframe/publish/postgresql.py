"""A PostgreSQL schema of its own, filled through ADBC in one transaction: readers see the old export or the new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from evalframe.errors import DatabaseRefused, ExtraMissing
from evalframe.publish.describing import INFO, comments, tables_of, views
from evalframe.publish.recomputed import VIEWS
from evalframe.publish.rows import reader
from evalframe.publish.star import Star
from evalframe.publish.targets import Outcome, other_content
from evalframe.store import faults

SCHEMA = "evalframe"
_LOCK = 7_358_132_407_112_001
"""Number of the advisory lock under which exports into one database follow one another."""


@dataclass(frozen=True)
class Postgresql:
    """A database by its URI. The tables live in the schema `evalframe`."""

    uri: str
    compares: ClassVar[bool] = True

    @property
    def shown(self) -> str:
        """The URI without password and options, which may hold one."""
        parts = urlsplit(self.uri)
        user, _, host = parts.netloc.rpartition("@")
        place = f"{user.partition(':')[0]}@{host}" if user else host
        return urlunsplit((parts.scheme, place, parts.path, "", ""))

    def write(self, star: Star, *, force: bool) -> Outcome:
        """Replace the schema's tables and views, or do nothing where they hold the same already."""
        with self._connected() as connection, connection.cursor() as cursor:
            _one(cursor, f"SELECT 1 FROM pg_advisory_xact_lock({_LOCK})")
            there = _one(cursor, f"SELECT count(*) FROM pg_tables WHERE schemaname = '{SCHEMA}'")
            of_ours = f"schemaname = '{SCHEMA}' AND tablename = '{INFO}'"
            ours = bool(_one(cursor, f"SELECT count(*) FROM pg_tables WHERE {of_ours}"))
            if ours and self._digest(cursor) == star.digest:
                return "unchanged"
            if there and not (ours and force):
                raise other_content(f"the schema {SCHEMA}", self.shown, ours=ours)
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            cursor.execute(f"SET LOCAL search_path TO {SCHEMA}")
            for view in reversed(list(VIEWS)):
                cursor.execute(f"DROP VIEW IF EXISTS {SCHEMA}.{view}")
            faults.reach("output.begun")
            for name, rows in tables_of(star).items():
                faults.reach("output.member")
                cursor.execute(f"DROP TABLE IF EXISTS {SCHEMA}.{name}")
                cursor.adbc_ingest(name, reader(name, rows), mode="create", db_schema_name=SCHEMA)
            for statement in (*comments(star), *views()):
                cursor.execute(statement)
            faults.reach("output.made")
            connection.commit()
            faults.reach("output.published")
        return "written"

    def _digest(self, cursor: Any) -> Any:
        return _one(cursor, f"SELECT value FROM {SCHEMA}.{INFO} WHERE name = 'content_sha256'")

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            from adbc_driver_manager import Error
            from adbc_driver_postgresql import dbapi
        except ImportError as error:
            raise ExtraMissing(
                "an export into PostgreSQL needs the ADBC driver",
                expected="the extra `postgres`",
                found=f"no module {error.name}",
                where="--to postgresql://",
                hint="pip install 'evalframe[postgres]'",
            ) from None
        try:
            with dbapi.connect(self.uri) as connection:
                yield connection
        except Error as error:
            raise DatabaseRefused(
                "PostgreSQL refuses the export",
                expected=f"a database in which the user may create the schema {SCHEMA}",
                found=self._without_secret(" ".join(str(error).split())),
                where=self.shown,
                hint="evalframe export --store DIR --to postgresql://USER@HOST/DATABASE",
            ) from None

    def _without_secret(self, text: str) -> str:
        password = urlsplit(self.uri).password
        return text.replace(self.uri, self.shown).replace(password, "***") if password else text


def _one(cursor: Any, query: str) -> Any:
    cursor.execute(query)
    row = cursor.fetchone()
    return row[0] if row else None
