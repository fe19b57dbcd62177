"""Parquet shards of one contract table: one type per column, checked before anything is computed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalframe.errors import ContractError, InputError
from evalframe.relations.plan import literal, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.contracts import Contract
    from evalframe.engines.base import Source

_GLOB = re.compile(r"[\[*?]")


def check_shards(contract: Contract, paths: Iterable[Path]) -> None:
    """Raise ContractError for the first shard whose columns are not the contract's, naming file, column and types.

    An engine takes the types of a list of files from the first one and converts the rest without a word.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    expected = {field.name: field.type for field in contract.arrow_schema()}
    for path in paths:
        try:
            found = pq.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"a shard of {contract.name} cannot be read",
                expected="a complete Parquet file",
                found=str(error),
                where=str(path),
                hint="evalframe store verify DIR",
            ) from None
        if sorted(found.names) != sorted(expected):
            raise _drift(contract, path, "columns", ", ".join(expected), ", ".join(found.names))
        for field in found:
            if not same_values(field.type, expected[field.name]):
                raise _drift(contract, path, f"column {field.name}", str(expected[field.name]), str(field.type))


def paths_of(source: Source) -> pa.Table | Sequence[Path]:
    """A table in files as the list of them; anything else as it is."""
    return getattr(source, "paths", source)


def same_values(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Whether two Arrow types are stored alike in Parquet: text in any offset width or dictionary, lists likewise."""
    import pyarrow.types as kinds

    if stored == declared:
        return True
    if kinds.is_dictionary(stored):
        return same_values(stored.value_type, declared)
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    if any(is_text(declared) for is_text in texts):
        return any(is_text(stored) for is_text in texts)
    lists = (kinds.is_list, kinds.is_large_list)
    if any(is_list(declared) for is_list in lists):
        return any(is_list(stored) for is_list in lists) and same_values(stored.value_type, declared.value_type)
    if kinds.is_map(stored) and kinds.is_map(declared):
        pairs = ((stored.key_type, declared.key_type), (stored.item_type, declared.item_type))
        return all(same_values(*pair) for pair in pairs)
    return False


def scan(contract: Contract, paths: Sequence[Path]) -> str:
    """A SELECT of the contract's columns from the files; a folder name is never read as a column.

    DuckDB reads a list that is null with an element of no value behind it, which functions of lists trip over: where
    there is one, the column is copied (`[:]`), list by list, at a fifth of the time of reading it.
    """
    lists = {column.name for column in contract.columns if not column.required and column.physical.startswith("list<")}
    copied = _holding_nulls(lists, paths) if lists else frozenset()
    columns = ", ".join(f"{quoted(n)}[:] AS {quoted(n)}" if n in copied else quoted(n) for n in contract.names)
    return f"SELECT {columns} FROM {_read(paths)}"


def numbered(path: Path, number: str) -> str:
    """A SELECT of all columns of one file that no contract describes; column `number`: how many rows stand before."""
    return f"SELECT * RENAME (file_row_number AS {quoted(number)}) FROM {_read([path], 'file_row_number = true')}"


def _read(paths: Iterable[Path], *options: str) -> str:
    """A FROM over files, of which each column is taken as it is."""
    files = ", ".join(literal(glob_literal(str(path))) for path in paths)
    plain = ("hive_partitioning = false", "union_by_name = false", "binary_as_string = false")
    return f"read_parquet([{files}], {', '.join((*plain, *options))})"


def _holding_nulls(names: Collection[str], paths: Iterable[Path]) -> frozenset[str]:
    """Those of the named columns of which not every file says that nothing in them is null."""
    import pyarrow.parquet as pq

    found: set[str] = set()
    for path in paths:
        metadata = pq.read_metadata(path)
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for part in map(group.column, range(group.num_columns)):
                told = part.statistics
                if told is None or not told.has_null_count or told.null_count > 0:
                    found.add(part.path_in_schema.partition(".")[0])
    return frozenset(found.intersection(names))


def glob_literal(path: str) -> str:
    """`path` so that a glob matches it alone."""
    return _GLOB.sub(r"[\g<0>]", path)


def _drift(contract: Contract, path: Path, what: str, expected: str, found: str) -> ContractError:
    return ContractError(
        f"a shard of {contract.name} has drifted: {what}",
        expected=expected,
        found=found,
        where=str(path),
        hint=f"evalframe validate {contract.name} {shlex.quote(str(path))}",
    )
