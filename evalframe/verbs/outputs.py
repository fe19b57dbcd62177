"""Files a command leaves behind: written beside, then renamed; a differing result is never overwritten unasked."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

from evalframe.errors import InputError, StoreConflict, harmless_json
from evalframe.store import staging

SCHEMA_VERSION = 1

T = TypeVar("T")


def to_json(command: str, body: Mapping[str, Any], protocol: Mapping[str, str | None] | None = None) -> str:
    """One JSON object as text: keys sorted, full float precision, never NaN or Infinity."""
    whole: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "command": command, **body}
    if protocol is not None:
        whole["protocol"] = dict(protocol)
    return _json(whole) + "\n"


def write_text(path: Path, text: str, *, force: bool = False) -> bool:
    """Put `text` at `path` in one step. The same text again is a no-op (False); a differing file needs `force`."""
    return write_bytes(path, text.encode("utf-8"), force=force)


def write_texts(files: Mapping[Path, str], *, force: bool = False) -> None:
    """`write_text` for files that belong together: where one of them would be refused, none is written."""
    refuse_others(files, force=force)
    for path, text in files.items():
        write_text(path, text, force=force)


def refuse_others(files: Mapping[Path, str], *, force: bool = False) -> None:
    """Raise what `write_texts` would, before anything else is written that belongs to the files."""
    for path, text in files.items():
        _stands(path, partial(text.encode, "utf-8"), force=force)


def refusing(output: Path | None, text: Callable[[T], str], *, force: bool = False) -> Callable[[T], None]:
    """`refuse_others` for the one file that a result is told in, if any; `text` is asked where a file stands there."""

    def refuse(result: T) -> None:
        if output is not None:
            _stands(output, lambda: text(result).encode("utf-8"), force=force)

    return refuse


def write_bytes(path: Path, data: bytes, *, force: bool = False) -> bool:
    """`write_text` for bytes."""
    if _stands(path, lambda: data, force=force):
        return False
    with staging.made(path) as new:
        staging.put(new, data)
    return True


Make: TypeAlias = "Callable[[BinaryIO], None]"
"""Writes a file: the same bytes whenever it is asked."""


def write_made(path: Path, make: Make, *, force: bool = False) -> bool:
    """`write_bytes` for a file that need not fit into memory."""
    from evalframe.sources.fields import file_sha256

    with staging.writing(path):
        if _is_there(path, lambda: file_sha256(path) == made_sha256(make), force=force):
            return False
    with staging.made(path) as new, new.open("wb") as file:
        make(file)
    return True


def with_list(text: bytes, name: str, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> Make:
    """JSON as `to_json` gives it whose one empty list `name`, at its top, holds rows, written one by one."""
    head, tail = text.split(f'"{name}": []'.encode())

    def make(sink: BinaryIO) -> None:
        sink.write(head + f'"{name}": ['.encode())
        between = "\n  "
        for row in rows():
            # A line break never stands inside a JSON text.
            sink.write((between + _json(row).replace("\n", "\n  ")).encode())
            between = ",\n  "
        sink.write((b"]" if between == "\n  " else b"\n ]") + tail)

    return make


def _json(value: Mapping[str, Any]) -> str:
    return harmless_json(json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1))


def made_sha256(make: Make) -> str:
    """64 hex of the SHA-256 of the file, which is written nowhere."""
    sink = _Hashed()
    make(cast("BinaryIO", sink))
    return sink.digest.hexdigest()


class _Hashed(io.RawIOBase):
    """Takes bytes for their digest alone."""

    def __init__(self) -> None:
        super().__init__()
        self.digest = hashlib.sha256()
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self._at += memoryview(data).nbytes
        return memoryview(data).nbytes

    def tell(self) -> int:
        return self._at


def _stands(path: Path, data: Callable[[], bytes], *, force: bool) -> bool:
    with staging.writing(path):
        return _is_there(path, lambda: path.read_bytes() == data(), force=force)


def _is_there(path: Path, same: Callable[[], bool], *, force: bool) -> bool:
    """Whether the same bytes stand there already. Raises where a folder does, or other bytes and not `force`."""
    if path.is_dir():
        raise InputError(
            f"cannot write {path.name}",
            expected="a file name",
            found="a folder",
            where=str(path),
            hint=f"{path}/out.json",
        )
    staging.recover(path)
    if force or not path.exists():
        return False
    if same():
        return True
    raise StoreConflict(
        f"{path.name} exists and holds a different result",
        expected="a new file, or the same result again",
        found=f"{path.stat().st_size} other bytes",
        where=str(path),
        hint="name another --output, or add --force",
    )
