"""Seals: small JSON files, written last, that say what exists, what it was made from, and the digest of every file.

A seal carries its own digest and its name carries the start of it, so an edited seal is told from a sealed one.
Sameness is what the caller says the content was made from; the bytes of the files never decide it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, ClassVar

from evalframe.identity import canonical_json
from evalframe.store import layout

FORMAT = "evalframe-seal/1"
_BEFORE, _BETWEEN, _AFTER = b'{"seal": ', b', "digest": "', b'"}\n'
_HEX = 64
_NOT_IDENTITY = {"created_at", "files", "contracts"}


@dataclass(frozen=True)
class SealedFile:
    """One Parquet file. path is relative to the store, size in bytes, sha256 64 hex."""

    table: str
    path: str
    rows: int
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Seal:
    """What every seal says.

    created_at: UTC, ISO 8601 with microseconds. contracts: version per table.

    inputs: JSON object of the digests and options the content was made from.
    """

    kind: ClassVar[str]
    created_at: str
    files: tuple[SealedFile, ...] = ()
    contracts: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What the seal is filed under; two seals of one kind never share it."""
        raise NotImplementedError

    @property
    def slot(self) -> str:
        """Kind and key."""
        return f"{self.kind}/{self.key}"

    @property
    def title(self) -> str:
        """What it seals, in words."""
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """What decides whether a second write is the same: everything but time, files and contract versions."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NOT_IDENTITY}


@dataclass(frozen=True, kw_only=True)
class RunSeal(Seal):
    """A run: predictions and labels."""

    kind: ClassVar[str] = layout.RUNS
    run_id: str
    system: str
    dataset_id: str | None
    tags: Mapping[str, str]

    @property
    def key(self) -> str:
        return layout.run_key(self.run_id)

    @property
    def title(self) -> str:
        return f"run {self.run_id!r}"


@dataclass(frozen=True, kw_only=True)
class ResultSeal(Seal):
    """The results of a run under one protocol fingerprint."""

    kind: ClassVar[str] = layout.RESULTS
    run_id: str
    protocol: str
    protocol_fingerprint: str

    @property
    def key(self) -> str:
        return layout.result_key(self.run_id, self.protocol_fingerprint)

    @property
    def title(self) -> str:
        return f"results of run {self.run_id!r} under {self.protocol} {self.protocol_fingerprint[:20]}"


@dataclass(frozen=True, kw_only=True)
class RecordSeal(Seal):
    """Rows of one table that belong to no single run: a comparison, the findings of an audit, an imported catalogue."""

    kind: ClassVar[str] = layout.RECORDS
    table: str
    record_id: str
    runs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return layout.record_key(self.table, self.record_id)

    @property
    def title(self) -> str:
        return f"record {self.record_id!r} of {self.table}"


@dataclass(frozen=True, kw_only=True)
class Tombstone(Seal):
    """A withdrawn run."""

    kind: ClassVar[str] = layout.WITHDRAWN
    run_id: str
    reason: str

    @property
    def key(self) -> str:
        return layout.run_key(self.run_id)

    @property
    def title(self) -> str:
        return f"withdrawal of run {self.run_id!r}"


_CLASSES: Mapping[str, type[Seal]] = {each.kind: each for each in (RunSeal, ResultSeal, RecordSeal, Tombstone)}


class SealDamaged(ValueError):
    """The bytes are not a seal as it was written. The message says what is wrong."""


def now() -> str:
    """The present, as seals write it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def as_inputs(given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` as it will be read back. Raises ValueError or TypeError for what canonical JSON cannot hold."""
    read: dict[str, Any] = json.loads(canonical_json(given))
    return read


def packed(seal: Seal) -> tuple[bytes, str]:
    """The bytes of a seal's file, and its digest (64 hex)."""
    content = {"format": FORMAT, "kind": seal.kind, **asdict(seal)}
    body = json.dumps(content, sort_keys=True, indent=1, allow_nan=False).encode("ascii")
    digest = hashlib.sha256(body).hexdigest()
    return _BEFORE + body + _BETWEEN + digest.encode() + _AFTER, digest


def unpacked(content: bytes, name: str) -> Seal:
    """The seal in `content`, found under `name`. Raises SealDamaged if it is not that seal."""
    end = len(content) - len(_AFTER) - _HEX - len(_BETWEEN)
    if end < len(_BEFORE) or not content.startswith(_BEFORE) or content[end : end + len(_BETWEEN)] != _BETWEEN:
        raise SealDamaged("not a seal")
    body, digest = content[len(_BEFORE) : end], content[-len(_AFTER) - _HEX : -len(_AFTER)].decode("ascii", "replace")
    if hashlib.sha256(body).hexdigest() != digest:
        raise SealDamaged("content differs from its own digest")
    facts = json.loads(body)
    if facts.pop("format", None) != FORMAT:
        raise SealDamaged(f"format is not {FORMAT}")
    kind = layout.kind_of(name)
    if facts.pop("kind", None) != kind:
        raise SealDamaged("among the seals of another kind")
    facts["files"] = tuple(SealedFile(**each) for each in facts["files"])
    if "runs" in facts:
        facts["runs"] = tuple(facts["runs"])
    seal = _CLASSES[kind](**facts)
    if layout.seal_name(seal.slot, digest) != name:
        raise SealDamaged("name and content are of different seals")
    return seal


def differences(sealed: Seal, given: Seal) -> list[str]:
    """What differs between two seals of one key, one sentence a field; empty when they are the same content."""
    return list(_differing("", sealed.identity(), given.identity()))


_ABSENT = object()


def _differing(name: str, sealed: Any, given: Any) -> Iterator[str]:
    if isinstance(sealed, Mapping) and isinstance(given, Mapping):
        for key in sorted({*sealed, *given}):
            inner = f"{name}.{key}" if name else key
            yield from _differing(inner, sealed.get(key, _ABSENT), given.get(key, _ABSENT))
    elif sealed != given:
        yield f"{name}: {_shown(sealed)} is sealed, {_shown(given)} was given"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 90 else f"{text[:80]}…"
