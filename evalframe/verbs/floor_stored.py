"""Floor events of one run in a store. There may be more of them than memory holds: each look reads them in parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import contract
from evalframe.store import Store
from evalframe.verbs.floor_timelines import KINDS, Event, Tracks, candidates, evaluated

Place = tuple[str, int]
"""Session and boundary row: no two evaluated candidates share them."""

_EVENTS = "floor_events"


class StoredEvents:
    """The evaluated candidates of one run under one protocol fingerprint, with what their timelines are drawn from."""

    def __init__(self, store: Store, run: str, fingerprint: str) -> None:
        self._store, self._run, self._fingerprint = store, run, fingerprint
        self.tracks = Tracks(
            lambda table, where, columns: pa.concat_tables(
                [
                    contract(table).empty().select(list(columns)),
                    *store.parts(table, runs=[run], columns=columns, holding=where),
                ]
            )
        )

    def drawn(self, seed: int, n: int) -> list[Place]:
        """`n` candidates without replacement, or all where there are no more, in the order of sessions and rows."""
        names: dict[int, str] = {}
        sessions, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in self._parts("session_index", "session", "boundary_row", holding={"horizon_steps": 1}):
            sessions.append(part["session_index"].to_numpy().astype(np.int64))
            rows.append(part["boundary_row"].to_numpy())
            found = part.group_by(["session_index", "session"]).aggregate([])
            names.update(zip(found["session_index"].to_pylist(), found["session"].to_pylist(), strict=True))
        # Indices are ranks of names, but of all sessions: names alone say the order.
        ranks = {index: rank for rank, index in enumerate(sorted(names, key=names.__getitem__))}
        session, row = np.concatenate(sessions), np.concatenate(rows)
        order = np.lexsort([row, np.array([ranks[index] for index in session.tolist()], np.int64)])
        chosen = order[sorted(np.random.default_rng(seed).permutation(len(order))[:n].tolist())]
        return [(names[int(session[i])], int(row[i])) for i in chosen]

    def candidates(self, places: Collection[Place]) -> dict[Place, list[Event]]:
        """The candidates at these places as their events by horizon; no entry where there is none."""
        found = candidates(self._at(places))
        by_place = {(one[0]["session"], one[0]["boundary_row"]): one for one in found}
        return {place: by_place[place] for place in places if place in by_place}

    def telling(self) -> list[Place]:
        """Of each kind the first candidate with an outcome and without, rather one with a competing boundary.

        Then the first that is not scored at its longest horizon: a forecast on the way is not valid, or it ends unseen.
        """
        longest = max((pc.max(part["horizon_steps"]).as_py() for part in self._parts("horizon_steps")), default=0)
        wanted = [(kind, outcome, "scored") for kind in KINDS for outcome in (True, False)]
        best: dict[tuple[str, bool, str] | None, tuple[bool, Place]] = {}
        shown = ("session", "boundary_row", "kind", "outcome", "state", "competing_row")
        for part in self._parts(*shown, holding={"horizon_steps": longest}):
            scored = pc.equal(part["state"], "scored")
            masks: list[tuple[Any, Any]] = [
                (
                    key,
                    pc.and_(scored, pc.and_(pc.equal(part["kind"], key[0]), pc.equal(part["outcome"], key[1]))),
                )
                for key in wanted
            ]
            for key, mask in [*masks, (None, pc.invert(scored))]:
                if first := _first(part.filter(mask), prefer_competing=key is not None):
                    best[key] = min(best.get(key, first), first)
        return [best[key][1] for key in (*wanted, None) if key in best]

    def _at(self, places: Collection[Place]) -> Iterator[pa.Table]:
        sessions = pa.array(sorted({session for session, _ in places}), pa.large_string())
        rows = pa.array(sorted({row for _, row in places}), pa.int64())
        for part in self._store.parts(_EVENTS, runs=[self._run], fingerprints=[self._fingerprint]):
            part = part.filter(pc.is_in(part["boundary_row"], rows))
            yield part.filter(pc.is_in(part["session"], sessions))

    def _parts(self, *columns: str, holding: dict[str, int] | None = None) -> Iterator[pa.Table]:
        """Evaluated rows in some columns."""
        read = list(dict.fromkeys([*columns, *(holding or {}), "role"]))
        parts = self._store.parts(_EVENTS, [self._run], [self._fingerprint], read, holding)
        return (rows for part in parts if len(rows := evaluated(part)))


def _first(rows: pa.Table, prefer_competing: bool) -> tuple[bool, Place] | None:
    """The first in order, rather one with a competing boundary if that is preferred: (lacks one, place)."""
    lacks = pc.is_null(rows["competing_row"]) if prefer_competing else pa.array([False] * len(rows))
    rows = rows.append_column("lacks", lacks)
    order = [(name, "ascending") for name in ("lacks", "session", "boundary_row")]
    for row in rows.sort_by(order).slice(0, 1).to_pylist():
        return row["lacks"], (row["session"], row["boundary_row"])
    return None
