"""Identity: canonical JSON, fingerprints that name their algorithm, normalised SQL, the digest of an evaluation set.

Everything here is text and bytes in, text out. Two things are equal exactly when their identity is, so each encoding
is injective: nothing is folded that could change a meaning.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

ALGORITHM = "ef1"
"""Names how a fingerprint is made: SHA-256 over RFC 8785 canonical JSON. Another way of making it is another name."""

_SAFE_INTEGER = 2**53 - 1  # RFC 8785 serialises numbers as IEEE 754 doubles (I-JSON)


def canonical_json(value: Any) -> str:
    """`value` in the one spelling of RFC 8785.

    Takes None, bool, int, finite float, str, sequences and mappings with text keys. Raises ValueError for what has no
    canonical form (NaN, infinities, integers beyond 2^53 - 1, lone surrogates) and TypeError for any other type.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _canonical_text(value)
    if isinstance(value, int):
        if abs(value) > _SAFE_INTEGER:
            raise ValueError(f"{value} is beyond 2^53 - 1; write it as text")
        return str(value)
    if isinstance(value, float):
        return _canonical_number(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"an object key must be text, not {key!r}")
        # RFC 8785 sorts by UTF-16 code units, which differs from code points above U+FFFF.
        ordered = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_canonical_text(key)}:{canonical_json(value[key])}" for key in ordered) + "}"
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return "[" + ",".join(canonical_json(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _canonical_text(text: str) -> str:
    text.encode("utf-8")  # a lone surrogate raises UnicodeEncodeError, a ValueError
    return json.dumps(text, ensure_ascii=False)


def _canonical_number(value: float) -> str:
    """ECMAScript's Number::toString: the shortest digits that read back, plain between 1e-6 and 1e21."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no JSON form")
    if value == 0:
        return "0"
    sign, mantissa, exponent = re.fullmatch(r"(-?)([\d.]+)(?:e([+-]\d+))?", repr(value)).groups()  # type: ignore[union-attr]
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)  # the decimal point stands after this many of `digits`
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return f"{sign}{digits}{'0' * (point - count)}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"


def fingerprint(defining: Any) -> str:
    """`ef1-` + 64 hex: the identity of what `defining` says, a JSON-able value."""
    return f"{ALGORITHM}-{hashlib.sha256(canonical_json(defining).encode()).hexdigest()}"


def sha256_text(text: str) -> str:
    """64 hex of the SHA-256 of `text` in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | --[^\n]* )
    | (?P<comment> /\* )
    | (?P<text> [eE]'(?:[^'\\]|\\.|'')*' | [A-Za-z]?'(?:[^']|'')*' | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<name> "(?:[^"]|"")*" )
    | (?P<word> (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? | \w+ )
    | (?P<sign> (?:(?!--|/\*)[^\w\s'"$(),;.\[\]{}])+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def sql_tokens(sql: str) -> Iterator[tuple[str, int]]:
    """The tokens of `sql` with their offsets; comments (which nest) and white space are left out."""
    at = 0
    while at < len(sql):
        found = _TOKEN.match(sql, at)
        assert found is not None  # the last alternative takes any character
        if found.lastgroup == "comment":
            at = _after_comment(sql, at)
            continue
        if found.group("space") is None:
            yield found.group(), at
        at = found.end()


def _after_comment(sql: str, at: int) -> int:
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(sql, at):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(sql)


def normalised_sql(sql: str) -> str:
    """`sql` with comments and white space folded; literals and quoted names stay as they are, byte for byte.

    No token but a literal or a quoted name holds white space, so two texts fold to the same exactly when their tokens
    are the same.
    """
    return " ".join(token for token, _ in sql_tokens(sql))


BLOCK = 65_536
"""Rows hashed at a time by `data_digest`; part of the algorithm."""


def data_digest(batches: Iterable[pa.RecordBatch]) -> str:
    """64 hex of the SHA-256 over the rows of an evaluation set: (item id, label, cluster, stratum), text or null.

    The rows must arrive sorted by the four columns in order, nulls first, text by its UTF-8 bytes; ValueError where
    they do not. However they are batched, the digest is the same: each block of 65,536 rows is written as its row
    count (int64), then per column the byte length of every row (int32, -1 for null) and the bytes of all rows, all
    little-endian. Lengths come before bytes, so no two sets of rows share an encoding.
    """
    import pyarrow as pa

    digest = hashlib.sha256(b"evalframe data_digest 1\n")
    last: list[pa.Array] | None = None
    for block in _blocks(batches):
        columns = [_as_text(block.column(index)) for index in range(4)]
        _check_order(columns if last is None else [pa.concat_arrays(pair) for pair in zip(last, columns, strict=True)])
        digest.update(struct.pack("<q", block.num_rows))
        for column in columns:
            for part in _lengths_and_bytes(column):
                digest.update(part)
        last = [column.slice(len(column) - 1) for column in columns]
    return digest.hexdigest()


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in tables of BLOCK rows; the last may be shorter, none is empty."""
    import pyarrow as pa

    pending: list[pa.RecordBatch] = []
    waiting = 0
    for batch in batches:
        if batch.num_columns != 4:
            raise ValueError(f"an evaluation set has four columns, not {batch.num_columns}")
        while batch.num_rows:
            taken = batch.slice(0, BLOCK - waiting)
            batch = batch.slice(taken.num_rows)
            pending.append(taken)
            waiting += taken.num_rows
            if waiting == BLOCK:
                yield pa.Table.from_batches(pending)
                pending, waiting = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def _as_text(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    texts = (pa.types.is_large_string, pa.types.is_string, pa.types.is_string_view, pa.types.is_null)
    if not any(is_text(kind) for is_text in texts):
        raise ValueError(f"an evaluation set holds text, not {kind}")
    return pa.concat_arrays(column.cast(pa.large_string()).chunks)


def _lengths_and_bytes(column: pa.Array) -> tuple[memoryview, memoryview]:
    import pyarrow.compute as pc

    lengths = pc.binary_length(column).fill_null(-1).to_numpy().astype("<i4")
    # Arrow leaves the bytes under a null unspecified; a filled copy has none there.
    filled = column.fill_null("") if column.null_count else column
    _, offsets, data = filled.buffers()
    ends = memoryview(offsets).cast("B").cast("q")  # int64 offsets, one more than there are rows
    first, end = ends[filled.offset], ends[filled.offset + len(filled)]
    return lengths.data, memoryview(data)[first:end] if data is not None else memoryview(b"")


def _check_order(columns: Sequence[pa.Array]) -> None:
    import numpy as np
    import pyarrow.compute as pc

    size = len(columns[0]) - 1
    tied = np.ones(size, bool)  # neighbours that are equal so far
    for column in columns:
        above, below = column.slice(0, size), column.slice(1)
        no_above, no_below = (side.is_null().to_numpy(zero_copy_only=False) for side in (above, below))
        same = pc.equal(above, below).fill_null(False).to_numpy(zero_copy_only=False) | (no_above & no_below)
        rising = pc.less(above, below).fill_null(False).to_numpy(zero_copy_only=False) | (no_above & ~no_below)
        if bool((tied & ~same & ~rising).any()):
            raise ValueError("the rows of an evaluation set must be sorted, nulls first, text by its UTF-8 bytes")
        tied &= same
        if not tied.any():
            return
