"""A PostgreSQL server for one test session: initdb and start on loopback, as an ordinary user."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WORDS = {"LC_ALL": "C.UTF-8", "TZ": "UTC"}


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where PostgreSQL is not installed."""
    folders = [Path(found) for found in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
    on_path = shutil.which("initdb")
    folders += [Path(os.path.realpath(on_path)).parent] if on_path else []
    return next((folder for folder in folders if (folder / "initdb").is_file()), None)


@contextmanager
def server(binaries: Path) -> Iterator[str]:
    """URI of an empty database; the server and its folder are gone afterwards."""
    # Sockets have short paths only, and the server's user must reach the folder.
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    data, log = home / "data", home / "log"
    as_user = _ordinary_user()
    if as_user:
        shutil.chown(home, as_user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(*command: str) -> None:
        subprocess.run(
            command, check=True, user=as_user, cwd=home, env={**os.environ, **_WORDS}, stdout=subprocess.DEVNULL
        )

    try:
        run(str(binaries / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
        run(str(binaries / "pg_ctl"), "-D", str(data), "-l", str(log), "-w", "-o", options, "start")
        try:
            yield f"postgresql://tester:open-sesame@127.0.0.1:{port}/postgres"
        finally:
            run(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _ordinary_user() -> str | None:
    """PostgreSQL refuses to run as root: then another account that is there."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)
