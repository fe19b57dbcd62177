"""Runs of one protocol in order: one value each by authority, ranked only among those that answer one question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from evalframe.compare.cells import Cell, cell_of
from evalframe.compare.sides import FROZEN
from evalframe.errors import ResultsMissing
from evalframe.relations import plan
from evalframe.relations.plan import literal

if TYPE_CHECKING:
    from evalframe.engines.duckdb import DuckDB
    from evalframe.relations import Catalogue, Relation
    from evalframe.store import Store

_VALUES = "authoritative_values"
_COLUMNS = (
    "run_id",
    "protocol",
    "protocol_fingerprint",
    "metric_fingerprint",
    "data_digest",
    "stratum",
    "horizon_s",
    "recall",
    "step",
    "value",
    "status",
    "reason",
    "tainted",
    "n_items",
    "origin",
)


@dataclass(frozen=True)
class Entry:
    """The value of one run. metric_fingerprint and data_digest are those of its computed value, also where a recorded
    one is the authority; None where it was never computed."""

    run_id: str
    cell: Cell
    value: float | None
    status: str
    reason: str | None
    origin: str
    protocol: str | None
    metric_fingerprint: str | None
    data_digest: str | None
    n_items: int | None


@dataclass
class Board:
    """Entries of one cell that answer one question: one metric fingerprint over one evaluation set."""

    cell: Cell
    metric_fingerprint: str | None
    data_digest: str | None
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True)
class Boards:
    """Boards, the largest first, always in one order. n_tainted: runs left out since the protocol was bent for them."""

    boards: tuple[Board, ...]
    n_tainted: int


def boards(
    engine: DuckDB,
    store: Store,
    catalogue: Catalogue,
    label: str,
    relation: Relation,
    stratum: str,
    runs: Iterable[str],
) -> Boards:
    """Boards of the metric `relation` in one stratum under protocol `label` (name/version) for `runs`.

    Of several results of a run those under a fingerprint count that every run of the same data and settings has.
    Raises ResultsMissing (hint rescore) where there is none.
    """
    wanted = frozenset(runs)
    computed, recorded = _rows(engine, store, catalogue, label, relation.published, stratum)
    computed = [row for row in computed if row["run_id"] in wanted]
    tainted = {row["run_id"] for row in computed if row["tainted"]}
    computed = [row for row in computed if row["run_id"] not in tainted]
    frozen = {(row["run_id"], cell_of(row)): row for row in recorded if row["run_id"] in wanted - tainted}
    found: dict[tuple[Any, ...], Board] = {}
    seen = set()
    for row in _current(store, catalogue, relation.name, computed):
        authority = frozen.get((row["run_id"], cell_of(row)), row)
        seen.add((row["run_id"], cell_of(row)))
        _add(found, _entry(authority, row))
    for key, row in frozen.items():
        if key not in seen:
            _add(found, _entry(row, row))
    ordered = sorted(found.values(), key=_board_order)
    return Boards(tuple(ordered), len(tainted))


def _add(found: dict[tuple[Any, ...], Board], entry: Entry) -> None:
    key = (entry.cell, entry.metric_fingerprint, entry.data_digest)
    board = found.setdefault(key, Board(entry.cell, entry.metric_fingerprint, entry.data_digest))
    board.entries.append(entry)


def _entry(authority: Mapping[str, Any], computed: Mapping[str, Any]) -> Entry:
    return Entry(
        run_id=authority["run_id"],
        cell=cell_of(dict(authority)),
        value=authority["value"],
        status=authority["status"],
        reason=authority["reason"],
        origin=authority["origin"],
        protocol=authority["protocol"],
        metric_fingerprint=computed["metric_fingerprint"],
        data_digest=computed["data_digest"],
        n_items=computed["n_items"],
    )


def _rows(
    engine: DuckDB, store: Store, catalogue: Catalogue, label: str, metric: str, stratum: str
) -> tuple[list[Any], list[Any]]:
    """Computed rows of the metric under the protocol, and recorded ones that are an authority."""
    needed = plan(catalogue, [_VALUES], style="ctes")
    for name in {*needed.sources, "metric_values"}:
        engine.bind(name, store.files(name))
    engine.view(_VALUES, needed.query(_VALUES))
    condition = f"metric = {literal(metric)} AND stratum = {literal(stratum)}"
    columns = ", ".join(_COLUMNS)
    computed = engine.query(
        f"SELECT {columns} FROM metric_values WHERE {condition} AND protocol = {literal(label)}"
        f" AND metric_fingerprint IS NOT NULL ORDER BY ALL"
    )
    recorded = engine.query(
        f"SELECT {columns} FROM {_VALUES} WHERE {condition} AND origin = {literal(FROZEN)}"
        f" AND coalesce(claimed_protocol, {literal(label)}) = {literal(label)} ORDER BY ALL"
    )
    return computed.to_pylist(), recorded.to_pylist()


def _current(store: Store, catalogue: Catalogue, metric: str, rows: Sequence[Any]) -> list[Any]:
    """Of each run and cell the row under the newest metric fingerprint that all of its kind have.

    Of one kind are runs over the same data under the same settings, as far as the metric reads them.
    """
    settings = _settings(store, catalogue.parameters(metric), {row["protocol_fingerprint"] for row in rows})
    kinds: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        kinds.setdefault((row["data_digest"], settings[row["protocol_fingerprint"]]), []).append(row)
    made: dict[tuple[str, str], datetime] = {}
    kept: list[Any] = []
    for kind in kinds.values():
        chosen = kind[0]["metric_fingerprint"]
        if any(row["metric_fingerprint"] != chosen for row in kind):
            made = made or _scored_at(store, {row["run_id"] for row in rows})
            chosen = _newest_shared(store, kind, made)
        kept += {(row["run_id"], cell_of(row)): row for row in kind if row["metric_fingerprint"] == chosen}.values()
    return kept


def _scored_at(store: Store, runs: set[str]) -> dict[tuple[str, str], datetime]:
    return {(row["run_id"], row["protocol_fingerprint"]): row["created_at"] for row in store.scored(runs).to_pylist()}


def _newest_shared(store: Store, rows: Sequence[Any], made: Mapping[tuple[str, str], datetime]) -> str:
    having: dict[str, set[str]] = {}
    newest: dict[str, datetime] = {}
    for row in rows:
        fingerprint, at = row["metric_fingerprint"], made[row["run_id"], row["protocol_fingerprint"]]
        having.setdefault(fingerprint, set()).add(row["run_id"])
        newest[fingerprint] = max(at, newest.get(fingerprint, at))
    runs = {row["run_id"] for row in rows}
    shared = [fingerprint for fingerprint, holders in having.items() if holders == runs]
    if shared:
        return max(shared, key=lambda fingerprint: newest[fingerprint])
    most = max(having, key=lambda fingerprint: (len(having[fingerprint]), newest[fingerprint]))
    lacking = sorted(runs - having[most])
    from evalframe.store.refusals import command

    raise ResultsMissing(
        "the runs were scored under different definitions of the metric",
        expected="all runs under one metric fingerprint",
        found=f"{len(lacking)} of {len(runs)} under another: {', '.join(lacking[:5])}",
        where=str(store.path),
        hint=command("rescore --store", store.path),
    )


def _settings(
    store: Store, names: Sequence[str], fingerprints: set[str]
) -> dict[str, tuple[tuple[str, str | None], ...]]:
    """The settings that matter to a metric, by protocol fingerprint."""
    values: dict[str, dict[str, str]] = {fingerprint: {} for fingerprint in fingerprints}
    for row in store.read("protocol_parameters").to_pylist():
        if row["protocol_fingerprint"] in values:
            values[row["protocol_fingerprint"]][row["name"]] = row["value"]
    return {each: tuple((name, known.get(name)) for name in names) for each, known in values.items()}


def _board_order(board: Board) -> tuple[Any, ...]:
    """The largest first; equal ones by cell, then by the run they begin with."""
    identity = (board.entries[0].run_id, board.metric_fingerprint or "", board.data_digest or "")
    return (-len(board.entries), _cell_order(board.cell), identity)


def _cell_order(cell: Cell) -> tuple[Any, ...]:
    return (cell.stratum, *(-1.0 if value is None else float(value) for value in cell[1:]))
