"""`audit values`: numbers that cannot be, from result tables alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.values import Finding, findings
from evalframe.audit.values_csv import read_records
from evalframe.audit.values_identities import IDENTITIES
from evalframe.audit.values_tables import bin_findings, confusion_findings, records
from evalframe.errors import ExitCode
from evalframe.store import Store
from evalframe.store.places import is_uri
from evalframe.verbs.naming import listed
from evalframe.verbs.outputs import to_json
from evalframe.verbs.results import Rows

_SCHEMA = pa.schema(
    [
        (name, pa.int64() if name == "row" else pa.large_string())
        for name in ("identity", "source", "row", "run", "place", "metric", "found", "expected")
    ]
)
_TABLES = ("class_confusion_by_cluster", "choice_bins")


@dataclass(frozen=True, repr=False)
class Impossible(Rows):
    """One row per identity that does not hold. n_records, n_numbers: how many places and numbers were looked at."""

    n_records: int
    n_numbers: int

    @property
    def exit_code(self) -> ExitCode:
        """0, or 5 where anything was found."""
        return ExitCode.MISMATCH if len(self.table) else ExitCode.OK

    def headlines(self) -> list[str]:
        """How much was looked at, and what that means."""
        looked = f"{self.n_numbers} numbers in {self.n_records} places against {len(IDENTITIES)} identities"
        return [f"{looked}: {len(self.table)} cannot be" if len(self.table) else f"{looked}: none is impossible"]

    def body(self) -> dict[str, Any]:
        """What --json says."""
        return {
            "findings": self.to_pylist(),
            "n_records": self.n_records,
            "n_numbers": self.n_numbers,
            "identities": {each.name: each.sentence for each in IDENTITIES},
            "ok": not len(self.table),
            "scope": "Numbers that agree with one another may still be wrong: nothing was recomputed from predictions.",
        }

    def to_json(self) -> str:
        """The one JSON object of --json."""
        return to_json("audit values", self.body())


def audit_values(source: Path | str, *, runs: Sequence[str] | str | None = None) -> Impossible:
    """Check a store's result tables (a folder) or a CSV file of results.

    runs: of the store, default all. Raises InputError for a file that cannot be read or reports nothing that is known.
    """
    if is_uri(source) or Path(source).is_dir():
        return _of_store(Store.open(source), None if runs is None else listed(runs))
    return _of_file(Path(source))


def _of_file(path: Path) -> Impossible:
    made, own = read_records(path)
    return _impossible([*own, *findings(made, IDENTITIES)], len(made), sum(len(record.numbers) for record in made))


def _of_store(store: Store, runs: Sequence[str] | None) -> Impossible:
    values = store.read("metric_values", runs=runs)
    made = list(records(values))
    found = list(findings(made, IDENTITIES))
    found += confusion_findings(store.read("class_confusion_by_cluster", runs=runs), values)
    found += bin_findings(store.read("choice_bins", runs=runs), values)
    return _impossible(found, len(made), sum(len(record.numbers) for record in made))


def _impossible(found: Iterable[Finding], n_records: int, n_numbers: int) -> Impossible:
    return Impossible(pa.Table.from_pylist([asdict(each) for each in found], schema=_SCHEMA), n_records, n_numbers)
