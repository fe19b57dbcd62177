"""Folders that Hugging Face `datasets` writes with `save_to_disk`: `state.json` names Arrow stream files in order.

Read with pyarrow alone, one record batch at a time from a memory map; the `datasets` package is not needed. Formats,
transforms and cached fingerprints that the folder may also hold are ignored; a saved row selection that was not applied
is refused, because it would change which rows there are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from evalframe.errors import ContractError, SavedDatasetRefused


class Batch(NamedTuple):
    """Rows of one shard: its file name, the row in it that the batch starts with (from 0), and the rows."""

    shard: str
    first_row: int
    rows: pa.RecordBatch


@dataclass(frozen=True)
class SavedDataset:
    """A saved data set: its shards in the order of `state.json`, and their common schema."""

    folder: Path
    shards: tuple[Path, ...]
    schema: pa.Schema

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The named columns, shard by shard. Raises ContractError for a missing one, SavedDatasetRefused if damaged."""
        if missing := [name for name in columns if name not in self.schema.names]:
            raise ContractError(
                f"the data set lacks column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                expected=", ".join(columns),
                found=", ".join(self.schema.names) or "no columns",
                where=str(self.folder),
                hint="save the data set with these columns",
            )
        for shard in self.shards:
            row = 0
            for batch in _stream(shard):
                yield Batch(shard.name, row, batch.select(list(columns)))
                row += batch.num_rows


def open_saved(folder: Path) -> SavedDataset:
    """The data set in `folder`. Its shards' schemas are read and compared, no rows.

    Raises SavedDatasetRefused (no such folder, no or another `state.json`, a shard missing or no Arrow stream) and
    ContractError where shards hold different columns or types.
    """
    shards = tuple(folder / name for name in _data_files(folder))
    schemas = [(shard, _schema(shard)) for shard in shards]
    first_shard, first = schemas[0]
    for shard, schema in schemas[1:]:
        if _kinds(schema) != _kinds(first):
            raise ContractError(
                "the shards of the data set differ in their columns",
                expected=f"{_shown(first)}, as in {first_shard.name}",
                found=f"{_shown(schema)} in {shard.name}",
                where=str(folder),
                hint="save the data set again in one go",
            )
    return SavedDataset(folder, shards, first)


def _data_files(folder: Path) -> list[str]:
    state = _json(folder, "state.json")
    listed = state.get("_data_files")
    entries = listed if isinstance(listed, list) else []
    named = [entry.get("filename") if isinstance(entry, dict) else None for entry in entries]
    names = [name for name in named if isinstance(name, str) and _is_plain(name)]
    if not names or len(names) != len(named):
        raise _refused(
            folder, "state.json lists no data files", '"_data_files": [{"filename": ...}, ...]', repr(listed)
        )
    if len(set(names)) != len(names):
        raise _refused(folder, "state.json lists a data file twice", "each file once", ", ".join(names))
    if state.get("_indices_data_files"):
        raise _refused(
            folder,
            "the data set was saved with a row selection that is not applied",
            "rows as they stand in the data files",
            f"_indices_data_files: {state['_indices_data_files']!r}",
            hint="dataset.flatten_indices().save_to_disk(...)",
        )
    return names


def _json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        parts = (folder / "dataset_dict.json").is_file()
        raise _refused(
            folder,
            "this is a dictionary of data sets, not one" if parts else f"there is no {name} to read",
            "the folder of one split" if parts else "a folder written by dataset.save_to_disk(...)",
            error.strerror or type(error).__name__,
        ) from None
    except (ValueError, RecursionError) as error:
        raise _refused(folder, f"{name} is not JSON", "a JSON object", " ".join(str(error).split())) from None
    if not isinstance(found, dict):
        raise _refused(folder, f"{name} is not an object", "a JSON object", type(found).__name__)
    return found


def _is_plain(name: str) -> bool:
    return bool(name) and not name.startswith(".") and not any(c in "/\\" or not c.isprintable() for c in name)


def _schema(shard: Path) -> pa.Schema:
    try:
        with pa.memory_map(str(shard)) as file:
            schema = pa.ipc.open_stream(file).schema
            _kinds(schema)  # a name that is no text is found when it is asked for
            return schema
    except (OSError, ValueError, LookupError, pa.ArrowException) as error:
        raise _damaged(shard, error) from None


def _stream(shard: Path) -> Iterator[pa.RecordBatch]:
    try:
        with pa.memory_map(str(shard)) as file:
            reader = pa.ipc.open_stream(file)
            for batch in reader:
                batch.validate(full=True)
                yield batch
    except (OSError, ValueError, LookupError, pa.ArrowException) as error:
        raise _damaged(shard, error) from None


def _kinds(schema: pa.Schema) -> dict[str, str]:
    """Names and types; two widths of text are one type."""
    return {field.name: str(field.type).replace("large_string", "string") for field in schema}


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in _kinds(schema).items())


def _damaged(shard: Path, error: Exception) -> SavedDatasetRefused:
    return _refused(
        shard.parent,
        f"data file {shard.name} cannot be read",
        "an Arrow stream file",
        " ".join(str(error).split())[:300] or type(error).__name__,
    )


def _refused(folder: Path, what: str, expected: str, found: str, hint: str = "") -> SavedDatasetRefused:
    return SavedDatasetRefused(
        what, expected=expected, found=found, where=str(folder), hint=hint or f"ls {shlex.quote(str(folder))}"
    )
