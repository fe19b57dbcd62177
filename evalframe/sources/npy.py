"""One array in an NPY file, read without trusting it: nothing is unpickled, nothing is allocated on a header's word."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalframe.errors import ArchiveRefused, EvalframeError
from evalframe.sources.fields import unreadable
from evalframe.sources.npz import BROKEN, PLAIN, Header, Limits, read_header, told_by


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An array and the SHA-256 (64 hex) of the file it was read from."""

    array: NDArray[Any]
    sha256: str


def read_npy(path: Path, kinds: str = "biuf", limits: Limits | None = None) -> ArrayFile:
    """The array in `path`, in C order and native byte order. kinds: kinds of dtype that are taken.

    Raises FileUnreadable, or ArchiveRefused: damaged, cut off, longer than its header says, over the size limit, an
    object array or another kind.
    """
    limits = limits or Limits.from_environment()
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        try:
            header = read_header(file)
            _check(header, os.fstat(file.fileno()).st_size, path, kinds, limits)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(header.offset)
            values = np.fromfile(file, np.uint8, header.size)
            array: NDArray[Any] = np.ndarray(header.shape, header.dtype, values, order="F" if header.fortran else "C")
        except BROKEN as error:
            raise _refuse(path, "this is no readable NPY array", "a complete .npy file", told_by(error)[:200]) from None
    if header.dtype.kind == "b" and values.size and values.max() > 1:
        raise _refuse(path, "the array is damaged", "booleans of 0 and 1", f"a byte of {values.max()}")
    return ArrayFile(np.array(array, dtype=header.dtype.newbyteorder("="), order="C", copy=None), digest)


def require_shape(path: Path, array: NDArray[Any], expected: Sequence[int | str], error: type[EvalframeError]) -> None:
    """Raise `error` unless the array has the expected shape; text stands for a length that is free."""
    fits = array.ndim == len(expected) and all(
        isinstance(wanted, str) or wanted == length for wanted, length in zip(expected, array.shape, strict=True)
    )
    if not fits:
        raise error(
            f"{path.name} has another shape",
            expected=f"[{', '.join(map(str, expected))}]",
            found=str(list(array.shape)),
            where=str(path),
            hint=f'python -c "import numpy; print(numpy.load({str(path)!r}).shape)"',
        )


def _check(header: Header, file_size: int, path: Path, kinds: str, limits: Limits) -> None:
    if not PLAIN.fullmatch(header.descr) or header.dtype.kind not in kinds:
        wanted = "booleans" if kinds == "b" else "floats" if kinds == "f" else "numbers or booleans"
        raise _refuse(path, "the array holds another kind of value", wanted, f"dtype {header.descr}")
    if header.offset + header.size != file_size:
        raise _refuse(
            path,
            "the header does not fit the file",
            f"{file_size - header.offset} bytes of values",
            f"shape {header.shape} of {header.descr}, {header.size} bytes",
        )
    if header.size > limits.array_bytes:
        raise _refuse(path, "the array is too large", f"at most {limits.array_bytes} bytes", str(header.size))


def _refuse(path: Path, what: str, expected: str, found: str) -> ArchiveRefused:
    hint = f"ls -l {shlex.quote(str(path))}  # then numpy.save(..., allow_pickle=False) again"
    return ArchiveRefused(f"{path.name}: {what}", expected=expected, found=found, where=str(path), hint=hint)
