"""NPZ archives read without trusting them: nothing is unpickled, nothing is allocated before its size is known.

An archive is a ZIP of `.npy` members. Every size is checked against what the file can hold, and against `Limits`,
before memory is taken for it; object and structured arrays are refused from their header alone.
"""

from __future__ import annotations

import ast
import math
import os
import re
import shlex
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from evalframe.errors import ArchiveRefused
from evalframe.sources.limits import from_environment

PLAIN = re.compile(r"[<>|](b1|[iu][1248]|f[248]|[US][0-9]{1,8})")
"""How a header spells booleans, integers, floats and text. Anything else is refused unread."""

_PREFIX = "EVALFRAME_NPZ_"

DEFLATE = 1032
"""Deflate cannot shrink anything further than this, so a larger claim is a lie."""

_HEADER = 10_000
"""Bytes of header that are looked at; a plain array's takes about 120."""

_PART = 1 << 20
"""Bytes of an array that are unpacked at a time."""

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    SyntaxError,
    MemoryError,
    RecursionError,
    RuntimeError,
    OverflowError,
)
"""What the standard library raises on damaged input; which of them depends on the byte that was hit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may ask for. Each can be raised by an environment variable, EVALFRAME_NPZ_<NAME>.

    array_bytes: unpacked size of one array. expansion: how many times larger than its packed form an array may be, once
    it unpacks to more than free_bytes (small arrays of one value pack very tightly). members: entries of the archive.
    """

    array_bytes: int = 4 << 30
    expansion: int = 200
    free_bytes: int = 64 << 20
    members: int = 4096

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Limits:
        """The defaults, with EVALFRAME_NPZ_ARRAY_BYTES and the like over them. UsageError where one is no count."""
        return from_environment(cls(), _PREFIX, environment)


@dataclass(frozen=True, slots=True)
class Header:
    """What a member says it holds. offset: bytes of the member before its values."""

    shape: tuple[int, ...]
    descr: str
    fortran: bool
    offset: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values; only of a header that was checked."""
        return np.dtype(self.descr)

    @property
    def size(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def _in_memory(size: int) -> NDArray[np.uint8]:
    return np.empty(size, np.uint8)


class Npz:
    """One open archive. Headers are read on demand, arrays one at a time."""

    def __init__(self, file: IO[bytes], where: str, limits: Limits | None = None) -> None:
        """file: seekable, kept by the caller. Raises ArchiveRefused where it is no ZIP, or too large a one."""
        self._where = where
        self._limits = limits or Limits.from_environment()
        try:
            self._size = file.seek(0, os.SEEK_END)
            self._zip = zipfile.ZipFile(file)
        except BROKEN as error:
            raise self._refuse("this is not a readable NPZ archive", "a ZIP of .npy arrays", told_by(error)) from None
        self._members: dict[str, zipfile.ZipInfo] = {}
        listed = self._zip.infolist()
        if len(listed) > self._limits.members:
            raise self._over("members", len(listed), "the archive has too many members")
        for info in listed:
            if not info.filename.endswith(".npy"):
                continue  # never asked for, so never read
            name = info.filename.removesuffix(".npy")
            if name in self._members:
                raise self._refuse("an array is stored twice", f"one array named {name}", f"two members {name}.npy")
            self._members[name] = info

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The arrays, in the order of the archive."""
        return tuple(self._members)

    def header(self, name: str) -> Header:
        """What array `name` says it holds, checked against the archive and the limits; no values are read.

        Raises ArchiveRefused: damaged, an object or structured array, an impossible size, or over a limit.
        """
        info = self._members[name]
        try:
            with self._zip.open(info) as member:
                header = read_header(member)
        except BROKEN as error:
            raise self._refuse(f"array {name} has no readable header", "a plain .npy array", told_by(error)) from None
        self._check(name, info, header)
        return header

    def read(self, name: str, allocate: Callable[[int], NDArray[np.uint8]] = _in_memory) -> NDArray[Any]:
        """Array `name`, contiguous in C order and native byte order. allocate: gives room for so many bytes.

        Raises ArchiveRefused as `header` does.
        """
        header = self.header(name)
        values = allocate(header.size)
        start = 0
        for part in self._values(name, header, _PART):
            values[start : start + len(part)] = part
            start += len(part)
        try:
            array: NDArray[Any] = np.ndarray(header.shape, header.dtype, values, order="F" if header.fortran else "C")
        except BROKEN as error:  # more dimensions than there can be
            raise self._damaged(name, error) from None
        return np.array(array, dtype=header.dtype.newbyteorder("="), order="C", copy=None)

    def parts(self, name: str, rows: int) -> Iterator[NDArray[Any]]:
        """Array `name`, of one dimension, `rows` values at a time, in native byte order; at least one part.

        Raises ArchiveRefused as `header` does; a wrong checksum is only told after the last part.
        """
        header = self.header(name)
        if not header.dtype.itemsize:  # text without a character
            yield self.read(name)
            return
        for values in self._values(name, header, rows * header.dtype.itemsize):
            yield values.view(header.dtype).astype(header.dtype.newbyteorder("="), copy=False)

    def _values(self, name: str, header: Header, size: int) -> Iterator[NDArray[np.uint8]]:
        """The bytes of an array, `size` at a time."""
        try:
            with self._zip.open(self._members[name]) as member:
                member.read(header.offset)
                for start in range(0, max(header.size, 1), size):
                    values = np.empty(min(size, header.size - start), np.uint8)
                    _fill(member, values.data)
                    if start + size >= header.size:
                        member.read(1)  # the end: where zipfile compares the checksum
                    if header.dtype.kind == "b" and values.size and values.max() > 1:
                        found = f"a byte of {values.max()}"
                        raise self._refuse(f"array {name} is damaged", "booleans of 0 and 1", found)
                    yield values
        except BROKEN as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, error: BaseException) -> ArchiveRefused:
        return self._refuse(f"array {name} is damaged", "a complete member", told_by(error))

    def _check(self, name: str, info: zipfile.ZipInfo, header: Header) -> None:
        if not PLAIN.fullmatch(header.descr):
            objects = "O" in header.descr
            raise self._refuse(
                f"array {name} holds Python objects" if objects else f"array {name} is not plain",
                "numbers, booleans or text" + (": nothing is unpickled" if objects else ""),
                f"dtype {header.descr}",
                hint=f"numpy.savez(..., {name}=numpy.array(values, dtype=str))",
            )
        if header.offset + header.size != info.file_size:
            raise self._refuse(
                f"the header of array {name} does not fit its member",
                f"{info.file_size - header.offset} bytes of values",
                f"shape {header.shape} of {header.descr}, {header.size} bytes",
            )
        if header.size > self._limits.array_bytes:
            raise self._over("array_bytes", header.size, f"array {name} is too large")
        self._check_packing(name, info)

    def _check_packing(self, name: str, info: zipfile.ZipInfo) -> None:
        stored, packed, unpacked = info.compress_type == zipfile.ZIP_STORED, info.compress_size, info.file_size
        possible = packed if stored else packed * DEFLATE
        if packed > self._size or unpacked > possible or (stored and unpacked != packed):
            raise self._refuse(
                f"the archive cannot hold array {name}",
                f"at most {min(possible, self._size * DEFLATE)} bytes from {packed} packed in a file of {self._size}",
                f"{unpacked} bytes",
            )
        if unpacked > max(self._limits.free_bytes, packed * self._limits.expansion):
            raise self._over("expansion", -(-unpacked // packed), f"array {name} unpacks too far")

    def _over(self, limit: str, found: int, what: str) -> ArchiveRefused:
        allowed = getattr(self._limits, limit)
        return self._refuse(
            what,
            f"{limit.replace('_', ' ')} of at most {allowed}",
            str(found),
            hint=f"export {_variable(limit)}={found}  # only for a file of your own",
        )

    def _refuse(self, what: str, expected: str, found: str, hint: str = "") -> ArchiveRefused:
        advice = hint or f"unzip -v {shlex.quote(self._where)}"
        return ArchiveRefused(what, expected=expected, found=found, where=self._where, hint=advice)


def read_header(member: IO[bytes]) -> Header:
    """The header at the start of an NPY file or member; one of BROKEN where it is none.

    NumPy's own reader would take in as much text as the header claims to have, and mend what Python 2 wrote.
    """
    magic = member.read(8)
    if magic[:6] != b"\x93NUMPY" or magic[6:] not in (b"\1\0", b"\2\0"):
        raise ValueError(f"it starts with {magic!r}")
    wide = magic[6] == 2
    (length,) = struct.unpack("<I" if wide else "<H", member.read(4 if wide else 2))
    if length > _HEADER:
        raise ValueError(f"a header of {length} bytes")
    text = member.read(length)
    if len(text) < length:
        raise EOFError(f"{len(text)} of {length} bytes of header")
    said = ast.literal_eval(text.decode("latin-1").strip())
    if not isinstance(said, dict) or set(said) != {"descr", "fortran_order", "shape"}:
        raise ValueError("not a dictionary of descr, fortran_order and shape")
    shape, fortran = said["shape"], said["fortran_order"]
    if type(fortran) is not bool or type(shape) is not tuple or any(type(n) is not int for n in shape):
        raise ValueError(f"shape {shape!r}, fortran_order {fortran!r}")
    if not all(0 <= n < 2**63 for n in shape):
        raise ValueError(f"shape {shape!r}")
    return Header(shape, str(said["descr"]), fortran, member.tell())


def _fill(member: IO[bytes], into: memoryview) -> None:
    at = 0
    while at < len(into):
        part = member.read(min(_PART, len(into) - at))
        if not part:
            raise EOFError(f"{at} of {len(into)} bytes")
        into[at : at + len(part)] = part
        at += len(part)


def _variable(limit: str) -> str:
    return _PREFIX + limit.upper()


def told_by(error: BaseException) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
