"""A PostgreSQL server for the commands that write into one: a database per folder, copied and read as folders are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SERVER = "EVALFRAME_TEST_POSTGRESQL"
"""The environment variable with the URI of a server of which everything may be replaced."""


def uri(base: Path) -> str:
    """The database that belongs to a folder."""
    return _uri(base.name)


def made(base: Path, like: Path | None = None) -> None:
    """An empty database for a folder, or a copy of another folder's; one that is there is dropped."""
    with _connected("postgres") as connection, connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{base.name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{base.name}" TEMPLATE "{like.name if like else "template0"}"')


def content(base: Path) -> bytes:
    """Every table of an export with all its rows; empty where there is none."""
    with _connected(base.name) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'evalframe' ORDER BY 1")
        names = [row[0] for row in cursor.fetchall()]
        return "\n".join(f"{name} {_digest(cursor, name)}" for name in names).encode()


def _digest(cursor: Any, name: str) -> str:
    cursor.execute(f"SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM evalframe.{name} t")
    return str(cursor.fetchone()[0])


def _uri(database: str) -> str:
    parts = urlsplit(os.environ[SERVER])
    return urlunsplit((parts.scheme, parts.netloc, f"/{database}", "", ""))


def _connected(database: str) -> Any:
    from adbc_driver_postgresql import dbapi

    return dbapi.connect(_uri(database), autocommit=True)
