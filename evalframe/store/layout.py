"""Where things lie in a store. Ids are encoded into paths and never read back from them.

    <table>/part_run=r-<run>/part-<n>.parquet                                  predictions and labels of a run
    <table>/part_protocol=p-<protocol>/part_run=r-<run>/<16 hex>-<n>.parquet   results of a run
    <table>/part_record=r-<record>/part-<n>.parquet                            comparisons, findings, imported records
    .seals/<kind>/<2 hex>/<key>.<16 hex>.json                                  what exists
    .writers/                                                                  what is being written, and by whom
    .catalogue/                                                                compaction, rebuildable

Partition keys begin with `part_` and their values with a letter: a path key silently overrides a column of its name,
and a value that looks like a number is read as one. A seal's name ends with the start of its digest, so a name never
stands for two contents and a listing of names alone tells whether anything changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from evalframe.errors import UsageError

SEALS, WRITERS, CATALOGUE = ".seals", ".writers", ".catalogue"
RUNS, RESULTS, RECORDS, WITHDRAWN = "runs", "results", "records", "withdrawn"
KINDS = (RUNS, RESULTS, RECORDS, WITHDRAWN)

NAMED, UNNAMED, STAGED, LEASED = ".json", ".new", ".staged", ".lease"
"""Ends of the names in `.writers/`: a journal, one not yet complete, a file that is to be published whole, a claim."""

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST, _KEPT, _HASHED = 150, 100, 32
_FINGERPRINT = re.compile(r"[a-z]+[0-9]+-([0-9a-f]{64})")
_PART = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*/"
    r"(?:part_run=r-[^/]*/part|part_record=r-[^/]*/part|part_protocol=p-[^/]*/part_run=r-[^/]*/[0-9a-f]{16})"
    r"-[0-9]+\.parquet"
)
_DIGEST = 16
_TAIL = 1 + _DIGEST + len(".json")


def encode(text: str) -> str:
    """`text` as part of a file name: percent-encoded outside [A-Za-z0-9._-], cut and hashed when over 150 bytes.

    The cut form has a `~`, which no encoded text has. Raises UsageError for a lone surrogate, which is not text.
    """
    raw = utf8(text)
    spelled = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    if len(spelled) <= _LONGEST:
        return spelled
    return f"{spelled[:_KEPT]}~{hashlib.sha256(raw).hexdigest()[:_HASHED]}"


def run_stem(table: str, run_id: str) -> tuple[str, str]:
    """Folder and start of the file names that hold `table` of a run."""
    return f"{table}/part_run=r-{encode(run_id)}", "part"


def result_stem(table: str, run_id: str, protocol: str, fingerprint: str) -> tuple[str, str]:
    """Folder and start of the file names that hold `table` of a run's results."""
    return f"{table}/part_protocol=p-{encode(protocol)}/part_run=r-{encode(run_id)}", short(fingerprint)


def record_stem(table: str, record_id: str) -> tuple[str, str]:
    """Folder and start of the file names that hold one record of `table`."""
    return f"{table}/part_record=r-{encode(record_id)}", "part"


def is_part(path: str) -> bool:
    """Whether a path inside the store has the form of a file that a writer makes."""
    return _PART.fullmatch(path) is not None


def kinds_in(names: Iterable[str]) -> set[str]:
    """The kinds of seal that the entries of a table's folder belong to."""
    kinds = {"part_run": RUNS, "part_protocol": RESULTS, "part_record": RECORDS}
    return {kinds[head] for head in {name.partition("=")[0] for name in names} if head in kinds}


def short(fingerprint: str) -> str:
    """16 hex: the start of a fingerprint's own digest, or of the SHA-256 of a text of any other form."""
    found = _FINGERPRINT.fullmatch(fingerprint)
    return (found.group(1) if found else hashlib.sha256(utf8(fingerprint)).hexdigest())[:16]


def run_key(run_id: str) -> str:
    """`<2 hex>/r-<run>`: what the seals of one run are filed under. 64 folders keep a look-up and a listing short."""
    return f"{_shard(run_id)}/r-{encode(run_id)}"


def result_key(run_id: str, fingerprint: str) -> str:
    """Key of a result's seal: the run's key, then the fingerprint."""
    return f"{run_key(run_id)}.{short(fingerprint)}"


def record_key(table: str, record_id: str) -> str:
    """Key of a record's seal."""
    return f"{_shard(record_id)}/{table}.r-{encode(record_id)}"


def seal_name(slot: str, digest: str) -> str:
    """Name of a seal below `.seals/`. slot: `<kind>/<key>`, which no two seals share."""
    return f"{slot}.{digest[:_DIGEST]}.json"


def kind_of(name: str) -> str:
    """Kind of a seal, from its name."""
    return name.partition("/")[0]


def slot_of(name: str) -> str:
    """Kind and key of a seal, from its name."""
    return name[:-_TAIL]


def run_key_of(name: str) -> str | None:
    """Key of the run that a seal belongs to, from its name; None for a record."""
    kind, _, rest = name.partition("/")
    if kind == RECORDS:
        return None
    return rest[: -_TAIL - 17] if kind == RESULTS else rest[:-_TAIL]


def is_seal(name: str) -> bool:
    """Whether a path below `.seals/` has the form of a seal's name."""
    return re.fullmatch(rf"(?:{'|'.join(KINDS)})/[0-9a-f]{{2}}/[^/]+\.[0-9a-f]{{16}}\.json", name) is not None


def _shard(text: str) -> str:
    return f"{hashlib.sha256(utf8(text)).digest()[0] % 64:02x}"


def refuse_no_text(tags: Mapping[str, str]) -> None:
    """Raise UsageError where a tag has a lone surrogate."""
    for text in (part for pair in tags.items() for part in pair):
        utf8(text, "a tag")


def utf8(text: str, what: str = "an id") -> bytes:
    """The bytes of a name. Raises UsageError for a lone surrogate, which is not text. what: what is named."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as broken:
        raise UsageError(
            f"{what} is not text",
            expected="Unicode text",
            found=ascii(text[:80]),
            hint="name it without lone surrogates",
        ) from broken
