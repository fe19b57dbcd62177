"""Values that others recorded: the frozen catalogue run_results.csv and the JSON sidecars beside checkpoints.

Nothing here is edited or corrected. A value is kept with the text it was written as: how many digits it has decides
what may be said of it.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.audit.inventory import Model, model_ids, text_columns
from evalframe.contracts import contract, from_rows
from evalframe.errors import FileUnreadable, InventoryRefused
from evalframe.sources.fields import file_sha256
from evalframe.sources.npz import told_by
from evalframe.underway import counted

FROZEN, SIDECAR = "frozen_catalogue", "sidecar"


@dataclass(frozen=True)
class Recorded:
    """One number as it was written. value: None for what is no finite number (`NaN`)."""

    text: str
    value: float | None

    @classmethod
    def of(cls, text: str) -> Recorded:
        """The number that `text` spells. Raises ValueError for what is no number at all."""
        value = float(text)
        return cls(text, value if math.isfinite(value) else None)

    @property
    def decimals(self) -> int:
        """Digits after the decimal point."""
        exponent = self._decimal().as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0

    @property
    def significant(self) -> int:
        """Digits from the first that is not zero; written zeros at the end count."""
        return len(self._decimal().as_tuple().digits) if self._decimal() else 0

    def _decimal(self) -> Decimal:
        try:
            return Decimal(self.text)
        except InvalidOperation:
            return Decimal("NaN")


@dataclass(frozen=True)
class Record:
    """What one file says of one model, by metric. claimed: the protocol it says it follows, if it names one."""

    model_id: str
    values: Mapping[str, Recorded]
    source: str
    sha256: str
    claimed: str | None = None


@dataclass(frozen=True)
class Sidecars:
    """The sidecars of an inventory. missing: models without one. unreadable: models and what is wrong with theirs."""

    records: Mapping[str, Record]
    missing: tuple[str, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)


def read_frozen(path: Path, metrics: Sequence[str]) -> dict[str, Record]:
    """The catalogue by model: a column model_id, one per metric, optionally `protocol`; an empty cell records nothing.

    Raises InputError (unreadable, a column is missing), InventoryRefused naming the line (a cell that is no finite
    number), DuplicateItem.
    """
    cells = text_columns(path, ("model_id", *metrics), ("protocol",))
    digest = file_sha256(path)
    records = {}
    for row, model_id in enumerate(model_ids(cells["model_id"], path)):
        values = {m: _frozen_cell(cells[m][row], m, row + 2, path) for m in metrics if cells[m][row]}
        records[model_id] = Record(model_id, values, path.name, digest, cells["protocol"][row] or None)
    return records


def _frozen_cell(text: str, metric: str, line: int, path: Path) -> Recorded:
    try:
        recorded = Recorded.of(text)
    except ValueError:
        recorded = Recorded(text, None)
    if recorded.value is None:
        raise InventoryRefused(
            f"the frozen catalogue has no number for {metric}",
            expected="a finite number, or an empty cell where nothing is recorded",
            found=f"{text!r} in line {line}",
            where=str(path),
            hint=f"sed -n {line}p {shlex.quote(str(path))}",
        )
    return recorded


def read_sidecars(models: Iterable[Model], metrics: Sequence[str]) -> Sidecars:
    """The sidecar of every model. One that is not there or cannot be read is told, and stops nothing."""
    records: dict[str, Record] = {}
    missing: list[str] = []
    unreadable: dict[str, str] = {}
    for model in counted("sidecars", models):
        if model.sidecar is None or not model.sidecar.exists():
            missing.append(model.model_id)
            continue
        try:
            records[model.model_id] = _sidecar(model.model_id, model.sidecar, metrics)
        except (ValueError, OSError, RecursionError, FileUnreadable) as error:
            unreadable[model.model_id] = told_by(error)
    return Sidecars(records, tuple(missing), unreadable)


def _sidecar(model_id: str, path: Path, metrics: Sequence[str]) -> Record:
    said = json.loads(
        path.read_bytes(), parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=_object
    )
    if not isinstance(said, dict):
        raise ValueError("no JSON object")
    inner = said.get("metrics", {})
    if not isinstance(inner, dict):
        raise ValueError("`metrics` is no object")
    values = {}
    for metric in metrics:
        found = [place[metric] for place in (said, inner) if place.get(metric) is not None]
        if found and (not all(isinstance(each, _Number) for each in found) or len(set(found)) > 1):
            raise ValueError(f"{metric} is {' and '.join(map(repr, found))}")
        if found:
            values[metric] = Recorded.of(str(found[0]))
    return Record(model_id, values, path.name, file_sha256(path), _claimed(said.get("protocol")))


class _Number(str):
    """A number of a JSON file as it is spelled there."""

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is written twice")
    return made


def _claimed(said: Any) -> str | None:
    if isinstance(said, dict) and isinstance(said.get("name"), str):
        return f"{said['name']}/{said['version']}" if said.get("version") else str(said["name"])
    return said if isinstance(said, str) and said and not isinstance(said, _Number) else None


def recorded_table(records: Iterable[Record], origin: str) -> pa.Table:
    """Table `frozen_results`: one row per recorded number."""
    rows = [
        {
            "run_id": record.model_id,
            "metric": metric,
            "value": recorded.value,
            "origin": origin,
            "claimed_protocol": record.claimed,
            "source": record.source,
            "source_digest": record.sha256,
        }
        for record in records
        for metric, recorded in record.values.items()
    ]
    return from_rows(contract("frozen_results"), rows)
