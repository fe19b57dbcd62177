"""Session names are file names: which sessions a folder holds, and which names are refused."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from evalframe.errors import SessionMissing, SessionNameRefused


def checked_name(name: str, where: str) -> str:
    """`name` in NFC. Raises SessionNameRefused where it could lead out of its folder or is no visible file name."""
    name = unicodedata.normalize("NFC", name)
    if not name or name.startswith(".") or any(c in "/\\" or not c.isprintable() for c in name):
        raise SessionNameRefused(
            "a session name is no plain file name",
            expected="a name without / or \\, that does not start with a dot",
            found=repr(name),
            where=where,
            hint=f"{where} NAME" if where.startswith("--") else "name the session otherwise",
        )
    return name


def session_files(folder: Path) -> dict[str, Path]:
    """Every `<session>.npy` of a folder by its name, sorted. Raises SessionMissing where there is no folder or none."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.npy")) if folder.is_dir() else ():
        name = unicodedata.normalize("NFC", path.name.removesuffix(".npy"))
        if name in found:
            raise SessionNameRefused(
                "two files name one session",
                expected="names that differ after Unicode normalisation (NFC)",
                found=f"{found[name].name!a} and {path.name!a}",
                where=str(folder),
                hint=f"ls -lb {shlex.quote(str(folder))}",
            )
        found[name] = path
    if not found:
        raise SessionMissing(
            f"{folder} holds no sessions",
            expected="files named <session>.npy",
            found="none" if folder.is_dir() else "no such folder",
            where=str(folder),
            hint=f"ls {shlex.quote(str(folder))}",
        )
    return dict(sorted(found.items()))


def files_of(sessions: Iterable[str], files: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """The file of each named session. Raises SessionMissing naming the first that has none."""
    chosen = {}
    for session in sessions:
        if session not in files:
            raise SessionMissing(
                f"there is no session {session}",
                expected=", ".join(files),
                found=session,
                where=str(folder),
                hint=f"ls {shlex.quote(str(folder))}",
            )
        chosen[session] = files[session]
    return chosen
