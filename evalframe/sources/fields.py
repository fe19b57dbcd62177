"""The columns of one file under the names we use for them, whatever the file calls them. NPZ, Parquet, Arrow and CSV.

Types stay as the file has them; CSV is text in every cell and an empty cell is null. What the values must be is for the
caller to say.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts import Contract, read_table
from evalframe.errors import ContractError, FileFormatUnknown, FileUnreadable, MissingField, UnknownName, UsageError
from evalframe.sources.npz import Limits, Npz

TABLES = (".parquet", ".csv", ".arrow", ".feather")
"""Suffixes read as tables."""

# No column is declared, so every column comes as it is written.
_AS_WRITTEN = Contract("predictions", "", "", columns=(), key=(), references=())


@dataclass(frozen=True)
class Fields:
    """One file's columns by our names, each one-dimensional; all that were asked for and found.

    written: what the file calls each of them. present: all that the file holds. sha256: of the file's bytes.
    """

    where: str
    columns: Mapping[str, pa.Array]
    written: Mapping[str, str]
    present: tuple[str, ...]
    sha256: str

    def rows(self, *names: str) -> int:
        """The one length of the named columns. Raises ContractError where lengths differ."""
        lengths = {name: len(self.columns[name]) for name in names if name in self.columns}
        if len(set(lengths.values())) > 1:
            raise ContractError(
                "columns are of unequal lengths",
                expected="one value per window in each",
                found=", ".join(f"{self.written[name]} {n}" for name, n in lengths.items()),
                where=self.where,
                hint="write the columns again from one table of windows",
            )
        return next(iter(lengths.values()))


def read_fields(
    path: Path,
    names: Sequence[str],
    required: Sequence[str],
    keys: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Fields:
    """The columns `names` of the file, those of `required` surely.

    keys: what the file calls a column, where that is not our name for it. Raises InputError (unreadable, unsafe, a
    column is missing), UsageError (a key for no known name) or ContractError (an array that is no column).
    """
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _npz(path, names, required, keys or {}, limits)
    if suffix in TABLES:
        return _table(path, names, required, keys or {})
    raise FileFormatUnknown(
        f"{path.name} is of no known format",
        expected=", ".join((".npz", *TABLES)),
        found=path.suffix or "no suffix",
        where=str(path),
        hint=f"mv {shlex.quote(str(path))} {shlex.quote(str(path.with_suffix('.npz')))}  # if that is what it is",
    )


def written_names(
    present: Collection[str], names: Sequence[str], required: Sequence[str], keys: Mapping[str, str], where: str
) -> dict[str, str]:
    """What a file with the columns `present` calls those of `names` that it has. Raises as `read_fields` does."""
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
                f"there is no {key} to read {name} from",
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


def _npz(
    path: Path, names: Sequence[str], required: Sequence[str], keys: Mapping[str, str], limits: Limits | None
) -> Fields:
    where = str(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        with Npz(file, where, limits) as archive:
            written = written_names(archive.names, names, required, keys, where)
            columns = {name: column_of(archive.read(key), key, where) for name, key in written.items()}
    return Fields(where, columns, written, archive.names, digest)


def _table(path: Path, names: Sequence[str], required: Sequence[str], keys: Mapping[str, str]) -> Fields:
    digest = file_sha256(path)
    table = read_table(_AS_WRITTEN, path)
    written = written_names(table.column_names, names, required, keys, str(path))
    for key in written.values():
        if table.column_names.count(key) > 1:
            raise ContractError(
                f"two columns are named {key}",
                expected="one",
                found=", ".join(table.column_names),
                where=str(path),
                hint=f"rename one of the columns {key}",
            )
    columns = {name: pa.concat_arrays(_wide(table.column(key)).chunks) for name, key in written.items()}
    return Fields(str(path), columns, written, tuple(table.column_names), digest)


def _wide(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decoded, and text with 64-bit offsets: chunks may hold more than 2 GiB together."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_string_view(kind) or pa.types.is_large_string(kind)
    wide = column.cast(pa.large_string() if is_text else kind)
    # Arrow gives no chunk for no rows, and cannot tell a type from no chunks.
    return wide if wide.num_chunks else pa.chunked_array([pa.array([], wide.type)])


def column_of(array: NDArray[Any], key: str, where: str) -> pa.Array:
    """A one-dimensional NumPy array as an Arrow array; bytes are read as UTF-8 text. Raises ContractError."""
    if array.ndim != 1:
        raise ContractError(
            f"array {key} is not one value per window",
            expected="one dimension",
            found=f"shape {array.shape}",
            where=where,
            hint=f"numpy.savez(..., {key}={key}.reshape(-1))" if array.size in array.shape else f"--key NAME={key}",
        )
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
