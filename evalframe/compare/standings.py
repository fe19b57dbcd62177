"""The rows of one board: runs, or the values of a tag, in order with their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalframe.compare.leaderboard import Board, Entry
    from evalframe.relations import Relation


def ranked(board: Board, relation: Relation) -> list[dict[str, Any]]:
    """One row per run."""
    rows = [
        {
            "name": entry.run_id,
            "value": entry.value,
            "status": entry.status,
            "reason": entry.reason,
            "n_runs": 1,
            "n_undefined": int(entry.value is None),
            "n_items": entry.n_items,
            "origin": entry.origin,
        }
        for entry in board.entries
    ]
    return _in_order(rows, relation)


def averaged(board: Board, relation: Relation, tags: Mapping[str, Mapping[str, str]], by: str) -> list[dict[str, Any]]:
    """One row per value of the tag: the mean over its runs that have a value. Runs without the tag are one group."""
    groups: dict[str | None, list[Entry]] = {}
    for entry in board.entries:
        groups.setdefault(tags[entry.run_id].get(by), []).append(entry)
    rows = []
    for name, entries in groups.items():
        values = [entry.value for entry in entries if entry.value is not None]
        origins = {entry.origin for entry in entries}
        rows.append(
            {
                "name": name,
                "value": sum(values) / len(values) if values else None,
                "status": "ok" if values else "undefined",
                "reason": None if values else entries[0].reason,
                "n_runs": len(entries),
                "n_undefined": len(entries) - len(values),
                "n_items": entries[0].n_items,
                "origin": origins.pop() if len(origins) == 1 else None,
            }
        )
    return _in_order(rows, relation)


def _in_order(rows: list[dict[str, Any]], relation: Relation) -> list[dict[str, Any]]:
    """Best first, equal values at one rank, undefined ones last and without a rank; names decide among equals."""
    sign = 1.0 if relation.better == "lower" else -1.0
    defined = sorted((r for r in rows if r["value"] is not None), key=lambda r: (sign * r["value"], r["name"] or ""))
    rank = 0
    for place, row in enumerate(defined, start=1):
        rank = rank if place > 1 and row["value"] == defined[place - 2]["value"] else place
        row["rank"], row["from_best"] = rank, row["value"] - defined[0]["value"]
    undefined = sorted((r for r in rows if r["value"] is None), key=lambda r: r["name"] or "")
    return [*defined, *({**row, "rank": None, "from_best": None} for row in undefined)]


def place(board: Board, relation: Relation) -> dict[str, Any]:
    """What all rows of a board share."""
    return {
        "metric": relation.published,
        "unit": relation.unit,
        "better": relation.better,
        **board.cell._asdict(),
        "metric_fingerprint": board.metric_fingerprint,
        "data_digest": board.data_digest,
    }
