"""Whether a part of a segment holds the rows that seals hold: told by sums of hashes, so that nothing need be sorted.

Equal rows have equal hashes and a sum has no order, so a few files are in memory at a time, however many there are.
The hashes are of 64 bits under two seeds drawn for the occasion: other rows with the same sums cannot be prepared, and
come about by chance once in 2**128.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from evalframe.store import parquet
from evalframe.store.compaction import content_of

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from evalframe.contracts import Contract
    from evalframe.store.places import Place
    from evalframe.store.seals import SealedFile

_ROWS_AT_ONCE, _FILES_AT_ONCE, _BYTES_AT_ONCE = 1 << 17, 128, 1 << 24


def same_rows(one: Iterable[pl.DataFrame], other: Iterable[pl.DataFrame]) -> bool:
    """Whether both have the same rows equally often, in any order. All frames have the same columns."""
    seeds = secrets.randbits(64), secrets.randbits(64)
    return _sums(one, seeds) == _sums(other, seeds)


def _sums(frames: Iterable[pl.DataFrame], seeds: Sequence[int]) -> tuple[int, ...]:
    """Rows, and the sum of their hashes under each seed, as far as it fits into 64 bits."""
    rows, sums = 0, np.zeros(len(seeds), np.uint64)
    for frame in frames:
        rows += len(frame)
        sums += np.array([frame.hash_rows(seed=seed).to_numpy().sum(dtype=np.uint64) for seed in seeds], np.uint64)
    return rows, *sums.tolist()


def of_part(path: Path, rows: int, definition: Contract) -> Iterator[pl.DataFrame]:
    """The rows of a part, which is a file of this machine and has so many, some at a time."""
    return (_scan(path, definition).slice(start, _ROWS_AT_ONCE).collect() for start in range(0, rows, _ROWS_AT_ONCE))


def of_files(files: Place, definition: Contract, sealed: Iterable[SealedFile]) -> Iterator[pl.DataFrame]:
    """The rows of sealed files, some files at a time. Raises StoreCorrupt where one is not as it was sealed."""
    for some in _some_at_once(sealed):
        yield _read(list(files.each(partial(content_of, files), some)), definition, files)


def of_table(rows: pa.Table) -> pl.DataFrame:
    """Rows in memory."""
    import polars as pl

    return pl.DataFrame(rows)


def _some_at_once(sealed: Iterable[SealedFile]) -> Iterator[list[SealedFile]]:
    some: list[SealedFile] = []
    size = 0
    for file in sealed:
        some.append(file)
        size += file.size
        if len(some) == _FILES_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _read(contents: Sequence[bytes], definition: Contract, files: Place) -> pl.DataFrame:
    """The rows of Parquet files, in the columns of the contract."""
    import polars as pl

    try:
        # One by one they take four times as long.
        return _scan([io.BytesIO(content) for content in contents], definition).collect()
    except pl.exceptions.PolarsError:  # one was sealed under another version of the contract, say, and lacks a column
        schema = definition.arrow_schema()
        return pl.concat([of_table(parquet.read(content, schema, files.root)) for content in contents])


def _scan(source: Path | list[IO[bytes]], definition: Contract) -> pl.LazyFrame:
    import polars as pl

    held = pl.scan_parquet(source, hive_partitioning=False, glob=False)
    return held.select(definition.names).cast(definition.polars_schema())
