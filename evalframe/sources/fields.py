"""The columns of one file under the names we use for them, whatever the file calls them. NPZ, Parquet, Arrow and CSV.

Types stay as the file has them; CSV is text in every cell and an empty cell is null. What the values must be is for the
caller to say.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts.files import open_table
from evalframe.contracts.shards import ROWS
from evalframe.errors import ContractError, FileFormatUnknown, FileUnreadable, MissingField, UnknownName, UsageError
from evalframe.sources.npz import Npz
from evalframe.sources.values import is_text

TABLES = (".parquet", ".csv", ".arrow", ".feather")
"""Suffixes read as tables."""

_UNPACKERS = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd"}


@dataclass(frozen=True)
class Fields:
    """One file's columns by our names, each one-dimensional, or a part of its rows; all that were asked for and found.

    written: what the file calls each of them. present: all that the file holds. sha256: of the file's bytes. start: the
    row of the file that the columns begin at.
    """

    where: str
    columns: Mapping[str, pa.Array]
    written: Mapping[str, str]
    present: tuple[str, ...]
    sha256: str
    start: int = 0

    def rows(self, *names: str) -> int:
        """The one length of the named columns. Raises ContractError where lengths differ."""
        return one_length({name: len(self.columns[name]) for name in names if name in self.columns}, self)


@dataclass(frozen=True)
class OpenFields:
    """A file whose columns are read a part at a time. The first four are those of `Fields`."""

    where: str
    written: Mapping[str, str]
    present: tuple[str, ...]
    sha256: str
    _parts: Callable[[Sequence[str]], Iterator[Sequence[pa.Array]]]

    def whole(self, *names: str) -> Fields:
        """The columns of that name which the file has, whole. A table can be read once, an array again."""
        chosen = [name for name in names if name in self.written]
        read = list(zip(*self._parts(chosen), strict=True)) if chosen else []
        columns = {name: pa.concat_arrays(arrays) for name, arrays in zip(chosen, read, strict=True)}
        return Fields(self.where, columns, self.written, self.present, self.sha256)

    def parts(self, *names: str) -> Iterator[Fields]:
        """The columns of that name which the file has, some rows at a time; at least one part, if without rows.

        Raises ContractError where they are of unequal lengths.
        """
        chosen, start = [name for name in names if name in self.written], 0
        for columns in self._parts(chosen):
            part = Fields(
                self.where, dict(zip(chosen, columns, strict=True)), self.written, self.present, self.sha256, start
            )
            start += part.rows(*chosen)
            yield part


def one_length(lengths: Mapping[str, int], fields: Fields | OpenFields) -> int:
    """The length that all columns have. Raises ContractError where lengths differ."""
    if len(set(lengths.values())) > 1:
        raise ContractError(
            "columns are of unequal lengths",
            expected="one value per window in each",
            found=", ".join(f"{fields.written[name]} {n}" for name, n in lengths.items()),
            where=fields.where,
            hint="write the columns again from one table of windows",
        )
    return next(iter(lengths.values()))


@contextmanager
def open_fields(
    path: Path,
    names: Sequence[str],
    required: Sequence[str],
    keys: Mapping[str, str] | None = None,
) -> Iterator[OpenFields]:
    """The columns `names` of the file, those of `required` surely, to be read a part at a time.

    keys: what the file calls a column, where that is not our name for it. Raises InputError (unreadable, unsafe, a
    column is missing), UsageError (a key for no known name) or ContractError (an array that is no column), here or when
    what is wrong is met.
    """
    suffix = path.suffix.lower()
    if suffix == ".npz":
        opened = _npz(path, names, required, keys or {})
    elif suffix in TABLES:
        opened = _table(path, names, required, keys or {})
    else:
        raise FileFormatUnknown(
            f"{path.name} is of no known format",
            expected=", ".join((".npz", *TABLES)),
            found=path.suffix or "no suffix",
            where=str(path),
            hint=unpacking(path)
            or f"mv {shlex.quote(str(path))} {shlex.quote(str(path.with_suffix('.npz')))}  # if that is what it is",
        )
    with opened as fields:
        yield fields


def unpacking(path: Path) -> str | None:
    """The command that unpacks a file whose suffix says that it is packed. None are read as they are."""
    unpacker = _UNPACKERS.get(path.suffix)
    return None if unpacker is None else f"{unpacker} -k {shlex.quote(str(path))}"


def read_fields(path: Path, names: Sequence[str], required: Sequence[str]) -> Fields:
    """What `open_fields` opens, read whole. Raises as it does."""
    with open_fields(path, names, required) as opened:
        return opened.whole(*names)


def written_names(
    present: Collection[str], names: Sequence[str], required: Sequence[str], keys: Mapping[str, str], where: str
) -> dict[str, str]:
    """What a file with the columns `present` calls those of `names` that it has. Raises as `open_fields` does."""
    for name, key in keys.items():
        if name not in names:
            raise UnknownName(
                f"--key names nothing that is read: {name}",
                expected=", ".join(names),
                found=f"{name}={key}",
                where="--key",
                hint=f"--key {names[0]}={key}",
            )
    chosen = {name: keys.get(name, name) for name in names}
    for name, key in chosen.items():
        if key not in present and (name in required or name in keys):
            raise MissingField(
                f"there is no {name}" if key == name else f"there is no {key} to read {name} from",
                expected=f"a column or array named {key}",
                found=", ".join(sorted(present)) or "nothing",
                where=where,
                hint=f"--key {name}=NAME  # what the file calls it",
            )
    taken: dict[str, str] = {}
    for name, key in chosen.items():
        if key in present and taken.setdefault(key, name) != name:
            raise UsageError(
                f"{key} would be read twice",
                expected="a column of its own for each name",
                found=f"{taken[key]} and {name} both from {key}",
                where="--key",
                hint=f"--key {name}=NAME",
            )
    return {name: key for name, key in chosen.items() if key in present}


def file_sha256(path: Path) -> str:
    """64 hex of the SHA-256 of the file. Raises FileUnreadable."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> FileUnreadable:
    """The refusal of a file that cannot be opened."""
    return FileUnreadable(
        f"{path.name} cannot be read",
        expected="a readable file",
        found=error.strerror or type(error).__name__,
        where=str(path),
        hint=f"ls -l {shlex.quote(str(path))}",
    )


@contextmanager
def _npz(path: Path, names: Sequence[str], required: Sequence[str], keys: Mapping[str, str]) -> Iterator[OpenFields]:
    where = str(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        with Npz(file, where) as archive:
            written = written_names(archive.names, names, required, keys, where)

            def parts(chosen: Sequence[str]) -> Iterator[Sequence[pa.Array]]:
                shapes = {name: archive.header(written[name]).shape for name in chosen}
                for name, shape in shapes.items():
                    _refuse_shape(shape, written[name], where)
                one_length({name: shape[0] for name, shape in shapes.items()}, opened)
                read = [archive.parts(written[name], ROWS) for name in chosen]
                for arrays in zip(*read, strict=True):
                    yield [column_of(a, written[name], where) for name, a in zip(chosen, arrays, strict=True)]

            opened = OpenFields(where, written, archive.names, digest, parts)
            yield opened


@contextmanager
def _table(path: Path, names: Sequence[str], required: Sequence[str], keys: Mapping[str, str]) -> Iterator[OpenFields]:
    digest = file_sha256(path)
    with open_table(path, ROWS) as (schema, batches):
        written = written_names(schema.names, names, required, keys, str(path))
        for key in written.values():
            if schema.names.count(key) > 1:
                raise ContractError(
                    f"two columns are named {key}",
                    expected="one",
                    found=", ".join(schema.names),
                    where=str(path),
                    hint=f"rename one of the columns {key}",
                )

        def parts(chosen: Sequence[str]) -> Iterator[Sequence[pa.Array]]:
            met = False
            for batch in batches:
                met = True
                yield [_decoded(batch.column(written[name])) for name in chosen]
            if not met:
                yield [_decoded(pa.array([], schema.field(written[name]).type)) for name in chosen]

        yield OpenFields(str(path), written, tuple(schema.names), digest, parts)


def _decoded(column: pa.Array) -> pa.Array:
    """Without a dictionary, and text with 64-bit offsets: the parts of a column may hold more than 2 GiB together."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.cast(pa.large_string() if is_text(kind) else kind)


def _refuse_shape(shape: tuple[int, ...], key: str, where: str) -> None:
    if len(shape) != 1:
        raise ContractError(
            f"array {key} is not one value per window",
            expected="one dimension",
            found=f"shape {shape}",
            where=where,
            hint=f"numpy.savez(..., {key}={key}.reshape(-1))" if math.prod(shape) in shape else f"--key NAME={key}",
        )


def column_of(array: NDArray[Any], key: str, where: str) -> pa.Array:
    """A one-dimensional NumPy array as an Arrow array; bytes are read as UTF-8 text. Raises ContractError."""
    _refuse_shape(array.shape, key, where)
    try:
        if array.dtype.kind in "US":
            text = array.tolist() if array.dtype.kind == "U" else [cell.decode("utf-8") for cell in array.tolist()]
            return pa.array(text, pa.large_string())
        return pa.array(np.ascontiguousarray(array))
    except (ValueError, pa.ArrowException) as error:  # half a surrogate pair, bytes of another encoding
        raise ContractError(
            f"array {key} holds what is no text",
            expected="Unicode text, or bytes of it in UTF-8",
            found=str(error),
            where=where,
            hint=f"numpy.savez(..., {key}=numpy.array(names, dtype=str))",
        ) from None
