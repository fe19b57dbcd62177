"""A ZIP of JSON documents, read without trusting it: members are found by name, bounded before they are unpacked.

Members may be stored, deflated or packed with Zstandard (method 93), which this zipfile does not know: their bytes are
then found by the member's own header and unpacked by Arrow.
"""

from __future__ import annotations

import hashlib
import shlex
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.errors import ArchiveRefused
from evalframe.sources.documents import Limits, parsed, too_long
from evalframe.sources.fields import unreadable
from evalframe.sources.npz import BROKEN, told_by

_ZSTANDARD = 93
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 1


class JsonArchive:
    """One open archive. sha256: of the whole file."""

    def __init__(self, file: BufferedReader, path: Path, limits: Limits) -> None:
        self._path, self._limits, self._file = path, limits, file
        self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            self._zip = zipfile.ZipFile(file)
        except BROKEN as error:
            raise self._refuse("this is not a readable archive", "a ZIP of JSON documents", told_by(error)) from None
        listed = self._zip.infolist()
        if len(listed) > limits.members:
            raise too_long(str(path), path.name, "members", limits.members, len(listed))
        self._members = {info.filename: info for info in listed}
        if len(self._members) < len(listed):
            raise self._refuse("a document is stored twice", "every name once", f"{len(listed)} members")

    @property
    def names(self) -> tuple[str, ...]:
        """The documents, in the order of the archive."""
        return tuple(self._members)

    def read(self, name: str) -> Any:
        """One document. Raises ArchiveRefused (missing, damaged) or FileUnreadable (too large, no JSON)."""
        info = self._members.get(name)
        if info is None:
            raise self._refuse(f"there is no {name} in the archive", name, ", ".join(self.names[:5]) or "nothing")
        allowed = self._limits.member_bytes
        if info.file_size > allowed:
            raise too_long(str(self._path), name, "member_bytes", allowed, info.file_size)
        try:
            data = self._unpacked(info)
        except (*BROKEN, pa.ArrowException) as error:
            raise self._refuse(f"{name} is damaged", "a complete member", told_by(error)) from None
        return parsed(data, str(self._path), name)

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        if info.compress_type not in _READABLE or info.flag_bits & _ENCRYPTED:
            raise ValueError(f"packed by method {info.compress_type}, or encrypted")
        if info.compress_type != _ZSTANDARD:
            with self._zip.open(info) as member:
                data = member.read(info.file_size + 1)
        else:
            packed = pa.BufferReader(self._packed(info))
            with pa.CompressedInputStream(packed, "zstd") as stream:
                data = stream.read(info.file_size + 1)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ValueError("not the length or checksum that the archive says")
        return data

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """The bytes of a member as they lie in the file, behind its own header."""
        self._file.seek(info.header_offset)
        magic, name, extra = _LOCAL_HEADER.unpack(self._file.read(_LOCAL_HEADER.size))
        if magic != b"PK\3\4":
            raise ValueError("no header where the archive says")
        self._file.seek(name + extra, 1)
        if info.compress_size > self._limits.member_bytes:
            raise ValueError(f"{info.compress_size} bytes packed")
        return self._file.read(info.compress_size)

    def _refuse(self, what: str, expected: str, found: str) -> ArchiveRefused:
        where = str(self._path)
        return ArchiveRefused(what, expected=expected, found=found, where=where, hint=f"unzip -v {shlex.quote(where)}")


@contextmanager
def open_archive(path: Path, limits: Limits | None = None) -> Iterator[JsonArchive]:
    """The archive in a file. Raises FileUnreadable or ArchiveRefused."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        yield JsonArchive(file, path, limits or Limits.from_environment())
