"""The frames of one trajectory: array `frames` (N, H, W, 3) of bytes in an NPZ file, read when they are needed."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from evalframe.errors import FramesRefused
from evalframe.sources.fields import unreadable
from evalframe.sources.npz import DEFLATE, Limits, Npz

NAME = "frames"


@dataclass(frozen=True, slots=True)
class FrameFile:
    """The NPZ file of one trajectory: where it lies, (N, H, W) as its header says, and its SHA-256."""

    path: Path
    shape: tuple[int, int, int]
    sha256: str

    def read(self) -> NDArray[np.uint8]:
        """The frames (N, H, W, 3). Raises ArchiveRefused where the values are damaged."""
        with _opened(self.path) as file, Npz(file, str(self.path), _limits()) as archive:
            frames: NDArray[np.uint8] = archive.read(NAME)
        return frames


def frame_path(folder: Path, relative: str) -> Path:
    """Where `relative` lies: below the data set's folder, else below the folder that holds it.

    Raises FramesRefused for a path that leads elsewhere, and where there is no such file.
    """
    parts = PurePosixPath(relative)
    if parts.is_absolute() or ".." in parts.parts or not relative or "\\" in relative or not relative.isprintable():
        raise _refused(folder, "a path of frames leads out of the data set", "a relative path without ..", relative)
    here, beside = folder / parts, folder.parent / parts
    for path in (here, beside):
        if path.is_file():
            return path
    raise _refused(folder, "the frames of a trajectory are not there", f"{here} or {beside}", "neither")


def inspect(path: Path, n_targets: int) -> FrameFile:
    """The file's header, checked, and its digest; no frames are unpacked.

    Raises FileUnreadable, ArchiveRefused, or FramesRefused: no array `frames`, another dtype or shape, or another
    number of frames than there are targets.
    """
    with _opened(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        with Npz(file, str(path), _limits()) as archive:
            if NAME not in archive.names:
                raise _refused(path, f"there is no array {NAME}", NAME, ", ".join(archive.names) or "no arrays")
            header = archive.header(NAME)
    shape = header.shape
    if header.descr not in ("|u1", "<u1", ">u1") or len(shape) != 4 or shape[3] != 3 or 0 in shape:
        raise _refused(path, f"{NAME} is not a video", "uint8 (N, H, W, 3), nothing empty", f"{header.descr} {shape}")
    if shape[0] != n_targets:
        raise _refused(path, "frames and targets differ in number", f"{n_targets} frames", f"{shape[0]} frames")
    return FrameFile(path, (shape[0], shape[1], shape[2]), sha256)


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None


def _limits() -> Limits:
    # A video of one colour packs as tightly as deflate can. What bounds memory is the size limit of one array.
    return replace(Limits.from_environment(), expansion=DEFLATE)


def _refused(where: Path, what: str, expected: str, found: str) -> FramesRefused:
    return FramesRefused(
        what,
        expected=expected,
        found=found,
        where=str(where),
        hint=f"python -c 'import sys, numpy; print(dict(numpy.load(sys.argv[1])))' {shlex.quote(str(where))}",
    )
