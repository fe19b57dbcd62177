"""Table files -> Arrow, typed by a contract: Parquet, CSV, NDJSON, Arrow IPC (file or stream)."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.contracts.json_values import parse_json
from evalframe.contracts.model import Contract
from evalframe.contracts.text import from_text, from_values
from evalframe.errors import FileFormatUnknown, FileUnreadable, HeaderUnclear

_BLOCK = 1 << 25  # bytes of CSV parsed at a time: one line must fit


def read_table(contract: Contract, path: Path) -> pa.Table:
    """The file's columns as they are, whatever the contract says of them: `validate` tells what is wrong.

    Parquet and Arrow keep their types. CSV is text, typed by the contract; an empty cell is null and `""` is empty
    text; lists and maps are JSON. NDJSON values keep their types and a key that a line lacks is null. A cell that
    cannot be read leaves its column text, which `validate` tells cell by cell.

    Raises InputError, naming the file: missing, truncated, of another format than its name says, not UTF-8, a column
    name twice.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise FileFormatUnknown(
            f"{path.name} is of no known format",
            expected=", ".join(_READERS),
            found=path.suffix or "no suffix",
            where=str(path),
            hint=f"evalframe validate {contract.name} table.parquet",
        )
    with _told(path):
        table: pa.Table = read(contract, path)
        for field in table.schema:
            _decode(field)
    return table


@contextmanager
def open_table(path: Path, rows: int) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The columns of a file as they are written, and its rows a part at a time: Parquet, CSV or Arrow.

    rows: at most so many in a part. What `read_table` refuses is refused, when it is met.
    """
    with ExitStack() as stack:
        with _told(path):
            schema, parts = stack.enter_context(_OPENERS[path.suffix.lower()](path, rows))
            for field in schema:
                _decode(field)
        yield schema, _each_told(path, parts)


def _each_told(path: Path, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _told(path):
        for part in parts:
            part.validate(full=True)
            yield part


def _decode(field: pa.Field) -> None:
    """Look at every name and type once: one that Python cannot show is told here, not by whoever asks for it first."""
    _ = field.name, getattr(field.type, "tz", None), pa.nulls(0, field.type)
    for i in range(field.type.num_fields):
        _decode(field.type.field(i))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Whatever a reader says about a broken file, said as a typed error that names it."""
    try:
        yield
    except (OSError, ValueError, LookupError, csv.Error, pa.ArrowException) as error:
        missing = isinstance(error, FileNotFoundError)
        raise FileUnreadable(
            f"{path.name} cannot be read",
            expected=f"a complete {path.suffix.lower().lstrip('.')} file",
            found="no such file" if missing else str(error) or type(error).__name__,
            where=str(path),
            hint=f"ls -l {shlex.quote(str(path))}"
            if missing
            else "write the file again; it is broken, cut off or of another format",
        ) from error


def _parquet(contract: Contract, path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    # Not pq.read_table: it would guess columns from the names of the folders.
    with pq.ParquetFile(path) as file:
        return _sound(file.read())


def _arrow(contract: Contract, path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        of_file_format = file.read(6) == b"ARROW1"
        file.seek(0)
        opened = pa.ipc.open_file(file) if of_file_format else pa.ipc.open_stream(file)
        with opened:
            return _sound(opened.read_all())


@contextmanager
def _parquet_parts(path: Path, rows: int) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:  # else what was read stays in memory
        yield file.schema_arrow, file.iter_batches(rows)


@contextmanager
def _arrow_parts(path: Path, rows: int) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    with pa.OSFile(str(path)) as file:
        of_file_format = file.read(6) == b"ARROW1"
        file.seek(0)
        with pa.ipc.open_file(file) if of_file_format else pa.ipc.open_stream(file) as opened:
            batches = map(opened.get_batch, range(opened.num_record_batches)) if of_file_format else opened
            yield opened.schema, (batch.slice(at, rows) for batch in batches for at in range(0, len(batch) or 1, rows))


@contextmanager
def _csv_parts(path: Path, rows: int) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    import pyarrow.csv as pa_csv

    with pa_csv.open_csv(path, **_csv_options(path)) as cells:
        yield cells.schema, (batch.slice(at, rows) for batch in cells for at in range(0, len(batch) or 1, rows))


def _sound(table: pa.Table) -> pa.Table:
    """Refuse offsets that point outside and text that is no UTF-8: unchecked they break whoever reads the values."""
    table.validate(full=True)
    return table


def _csv(contract: Contract, path: Path) -> pa.Table:
    import pyarrow.csv as pa_csv

    cells = pa_csv.read_csv(path, **_csv_options(path))
    return _assembled(contract, cells.column_names, cells.columns, from_text)


def _csv_options(path: Path) -> dict[str, Any]:
    """How a CSV file is read, once its header and its quotes are looked at."""
    import pyarrow.csv as pa_csv

    names = _header(path)
    _check_quotes(path)
    return {
        "read_options": pa_csv.ReadOptions(block_size=_BLOCK),
        "parse_options": pa_csv.ParseOptions(newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            column_types={name: pa.large_string() for name in names},
            strings_can_be_null=True,
            null_values=[""],
            quoted_strings_can_be_null=False,
        ),
    }


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, strict=True), [])
    repeated = sorted({n for n in names if names.count(n) > 1})
    if repeated or not names:
        raise HeaderUnclear(
            f"the header of {path.name} cannot be read",
            expected="a first line that names each column once",
            found=f"{', '.join(repeated)} twice" if repeated else "an empty file",
            where=str(path),
            hint="name every column once in the first line",
        )
    return names


def _check_quotes(path: Path) -> None:
    """Refuse a file that ends within quotes, which the parser takes for a last cell."""
    quotes = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            quotes += block.count(b'"')
    if quotes % 2:
        raise ValueError("a quote is opened and never closed")


def _ndjson(contract: Contract, path: Path) -> pa.Table:
    columns: dict[str, list[Any]] = {}
    n = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not text.strip():
                continue
            for name, value in _record(text, number).items():
                columns.setdefault(name, [None] * n).append(value)
            n += 1
            for values in columns.values():
                if len(values) < n:
                    values.append(None)
    if not n:
        return contract.empty()
    return _assembled(contract, list(columns), list(columns.values()), from_values)


def _record(line: bytes, number: int) -> dict[str, Any]:
    try:
        record = parse_json(line.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"line {number} is no JSON object")
    return record


def _assembled(
    contract: Contract, names: list[str], columns: list[Any], typed: Callable[..., tuple[pa.Field, pa.ChunkedArray]]
) -> pa.Table:
    declared = {c.name: c for c in contract.columns}
    made = [typed(name, column, declared.get(name)) for name, column in zip(names, columns, strict=True)]
    return pa.Table.from_arrays([array for _, array in made], schema=pa.schema([field for field, _ in made]))


_READERS: dict[str, Callable[[Contract, Path], pa.Table]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".ndjson": _ndjson,
    ".jsonl": _ndjson,
    ".arrow": _arrow,
    ".arrows": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
}

_OPENERS: dict[str, Callable[[Path, int], Any]] = {
    ".parquet": _parquet_parts,
    ".csv": _csv_parts,
    ".arrow": _arrow_parts,
    ".feather": _arrow_parts,
}
