"""Errata: runs and scorers that are known to be bad. Their records stay where they are and out of every view."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from evalframe.audit.inventory import text_columns
from evalframe.audit.recorded import Record
from evalframe.contracts import contract, from_rows
from evalframe.errors import InventoryRefused

KINDS = ("run", "scorer")


@dataclass(frozen=True)
class Errata:
    """Reasons by name. runs: model ids. scorers: a protocol that a record claims, or the SHA-256 of its file."""

    runs: Mapping[str, str] = field(default_factory=dict)
    scorers: Mapping[str, str] = field(default_factory=dict)

    def of_record(self, record: Record) -> str | None:
        """Why a record does not count; None where it does."""
        if record.model_id in self.runs:
            return self.runs[record.model_id]
        return self.scorers.get(record.sha256) or (self.scorers.get(record.claimed) if record.claimed else None)

    def without(self, records: Mapping[str, Record]) -> tuple[dict[str, Record], dict[str, str]]:
        """The records that count, and for the others the reason, by model."""
        reasons = {name: why for name, record in records.items() if (why := self.of_record(record)) is not None}
        return {name: record for name, record in records.items() if name not in reasons}, reasons

    def table(self) -> pa.Table:
        """Table `known_bad`."""
        rows = [
            {"kind": kind, "name": name, "reason": reason}
            for kind, named in zip(KINDS, (self.runs, self.scorers), strict=True)
            for name, reason in named.items()
        ]
        return from_rows(contract("known_bad"), rows)


def read_errata(path: Path) -> Errata:
    """A text table of kind (run, scorer), name and reason. Raises InputError, or InventoryRefused naming the line."""
    cells = text_columns(path, ("kind", "name", "reason"))
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for line, (kind, name, reason) in enumerate(zip(*cells.values(), strict=True), 2):
        if kind not in KINDS or not name or not reason or name in found[kind]:
            raise InventoryRefused(
                "a line of the errata cannot be meant",
                expected="kind run or scorer, a name that stands once, and a reason",
                found=f"{kind!r}, {name!r}, {reason!r} in line {line}",
                where=str(path),
                hint=f"sed -n {line}p {shlex.quote(str(path))}",
            )
        found[kind][name] = reason
    return Errata(found["run"], found["scorer"])
