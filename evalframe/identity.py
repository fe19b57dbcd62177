"""Identity: canonical JSON, fingerprints that name their algorithm, normalised SQL, the digest of an evaluation set.

Everything here is text and bytes in, text out. Two things are equal exactly when their identity is, so each encoding
is injective: nothing is folded that could change a meaning.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
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
    return encode_basestring(text)  # what json.dumps(text, ensure_ascii=False) calls, without an encoder for each text


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


ITEM_COLUMNS = ("item_id", "label", "cluster_id", "stratum")
"""What names a row of an evaluation set, in the order it is sorted by."""

BLOCK = 65_536
"""Rows that are digested together."""


def data_digest(items: pa.Table | Iterable[pa.RecordBatch]) -> str:
    """64 hex of the SHA-256 over the evaluation set of one run: its rows (item id, label, cluster, stratum), sorted.

    Other columns are left out; the four hold text or null. Rows are sorted by the four in order, text by its UTF-8
    bytes, nulls last; neither their order on arrival nor their batches matter. Each block of 65,536 rows is written as
    its row count (int64), then per column the byte length of every row (int32, -1 for null) and the bytes of all rows,
    little-endian. Lengths come before bytes, so no two sets of rows share an encoding. Takes about 0.7 s per million.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    batches = items.to_batches() if isinstance(items, pa.Table) else list(items)
    if not batches:
        return digest_of_blocks([])
    rows = _texts(pa.Table.from_batches(batches))
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ITEM_COLUMNS])
    return digest_of_blocks(rows.take(order.slice(start, BLOCK)) for start in range(0, len(rows), BLOCK))


def digest_of_blocks(blocks: Iterable[pa.Table]) -> str:
    """`data_digest` of rows that are in order already, in blocks of BLOCK rows, the last one shorter."""
    digest = hashlib.sha256(b"evalframe data_digest 1\n")
    for block in blocks:
        digest.update(struct.pack("<q", len(block)))
        for column in _texts(block).itercolumns():
            for part in _lengths_and_bytes(column.combine_chunks()):
                digest.update(part)
    return digest.hexdigest()


def _texts(rows: pa.Table) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: _as_text(name, rows[name]) for name in ITEM_COLUMNS})


def _as_text(name: str, column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    texts = (pa.types.is_large_string, pa.types.is_string, pa.types.is_string_view, pa.types.is_null)
    if not any(is_text(kind) for is_text in texts):
        raise ValueError(f"{name} of an evaluation set is text, not {kind}")
    return column.cast(pa.large_string()).combine_chunks()  # offsets of 8 bytes: the text may be longer than 2 GiB


def _lengths_and_bytes(column: pa.Array) -> tuple[memoryview, memoryview]:
    import pyarrow.compute as pc

    lengths = pc.binary_length(column).fill_null(-1).to_numpy().astype("<i4")
    # Arrow leaves the bytes under a null unspecified; a filled copy has none there.
    filled = column.fill_null("") if column.null_count else column
    _, offsets, data = filled.buffers()
    ends = memoryview(offsets).cast("B").cast("q")  # one more than there are rows
    first, end = ends[filled.offset], ends[filled.offset + len(filled)]
    return lengths.data, memoryview(data)[first:end] if data is not None else memoryview(b"")
