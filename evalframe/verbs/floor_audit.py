"""The manual audit before a protocol is frozen: a seeded sample of timelines as a sheet, and the answers read back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.contracts import Column, Contract, contract, from_rows, read_table, validate
from evalframe.errors import ResultsMissing, SheetRefused, UsageError
from evalframe.protocols.easycom_floor import PRE, by_timing
from evalframe.publish.formulas import plain
from evalframe.sources.fields import file_sha256
from evalframe.store import Store
from evalframe.store.refusals import command, naming
from evalframe.verbs import drawing
from evalframe.verbs.arguments import loosely
from evalframe.verbs.floor_stored import Place, StoredEvents
from evalframe.verbs.floor_timelines import Event, timeline
from evalframe.verbs.naming import none_or_more
from evalframe.verbs.outputs import to_json, write_text
from evalframe.verbs.results import Rows

QUESTIONS = {
    "q1": "Is the anchor row the intended aggregate-other boundary?",
    "q2": "Is no outcome at or after C/excluded attributed to the earlier event?",
    "q3": "Do the fixed-source horizon score and the valid mask line up with physical time?",
    "q4": "Do session and recording boundaries create no transitions?",
    "q5": "Are right-censored and invalid counts plausible?",
}
ANSWERS = ("yes", "no", "unsure")


def _text(name: str, meaning: str, required: bool = True) -> Column:
    return Column(name, "utf8", required, meaning)


SHEET = Contract(
    name="sheet.csv",
    version="1.0.0",
    description="A sample of timelines with five open questions each.",
    columns=(
        _text("event_key", "session/kind/boundary row."),
        _text("run", "The run."),
        _text("session", "Session name."),
        _text("kind", "response or yield."),
        Column("boundary_row", "int64", True, "Boundary row.", minimum=0),
        _text("timeline", "The event as text."),
        *(_text(name, question, required=False) for name, question in QUESTIONS.items()),
        _text("reviewer", "Who answered.", required=False),
        _text("note", "Anything else.", required=False),
        _text("protocol", "Protocol name and version."),
        _text("protocol_fingerprint", "Fingerprint of the results that the event was taken from."),
    ),
    key=("event_key",),
    references=(),
)


@dataclass(frozen=True, repr=False)
class Sheet(Rows):
    """The drawn events, a row each, with the five answers open."""

    def shown(self) -> pa.Table:
        """What names the events."""
        return self.table.select(["event_key", "run", "session", "kind", "boundary_row"])


@dataclass(frozen=True, repr=False)
class Freeze(Rows):
    """A row per question with its answers: table `floor_freezes`."""

    sheet: str
    n_notes: int

    def headlines(self) -> list[str]:
        """The run and the protocol that were audited, and by whom."""
        one = self.to_pylist()[0]
        return [f"{one['run_id']}  {one['protocol']}  {one['n_events']} events  by {', '.join(one['reviewers'])}"]

    def shown(self) -> pa.Table:
        """The answers to each question."""
        return self.table.select(["question", "n_yes", "n_no", "n_unsure", "n_events"])

    def to_json(self) -> str:
        """freeze.json as text."""
        rows = self.to_pylist()
        one = rows[0]
        name, version = one["protocol"].rsplit("/", 1)
        body = {
            "run": one["run_id"],
            "data_digest": one["data_digest"],
            "sheet": self.sheet,
            "sheet_sha256": one["sheet_sha256"],
            "n_events": one["n_events"],
            "n_notes": self.n_notes,
            "reviewers": one["reviewers"],
            "answers": {
                row["question"]: {
                    "question": QUESTIONS[row["question"]],
                    **{answer: row[f"n_{answer}"] for answer in ANSWERS},
                }
                for row in rows
            },
        }
        return to_json(
            "floor freeze", body, {"name": name, "version": version, "fingerprint": one["protocol_fingerprint"]}
        )


@loosely
def audit_sheet(
    store: Path | str,
    *,
    run: str,
    events: int,
    seed: int,
    output: Path | None = None,
    decision_timing: str = PRE,
    force: bool = False,
) -> Sheet:
    """Draw `events` candidates of a scored run without replacement, seeded, and lay them out for reviewers.

    All candidates where there are no more. Raises UnknownName for a run that is not there, ResultsMissing for one that
    was not scored under the protocol of that timing.
    """
    if events < 1:
        raise UsageError(
            "an audit needs events",
            expected="--events 1 or more",
            found=str(events),
            where="--events",
            hint="evalframe floor audit-sheet ... --events 30",
        )
    none_or_more(seed, "--seed", "a seed is not negative", "evalframe floor audit-sheet ... --seed 0")
    source = _Stored(Store.open(store), run, by_timing(decision_timing).label)
    rows = [
        {
            "event_key": _key(one[0]),
            "run": run,
            "session": one[0]["session"],
            "kind": one[0]["kind"],
            "boundary_row": one[0]["boundary_row"],
            "timeline": timeline(run, one, source.events.tracks),
            "protocol": source.protocol,
            "protocol_fingerprint": source.fingerprint,
        }
        for one in source.events.candidates(source.events.drawn(seed, events)).values()
    ]
    sheet = Sheet(pa.Table.from_pylist(rows, schema=SHEET.arrow_schema()))
    if output is not None:
        write_text(output, drawing.csv(sheet.table), force=force)
    return sheet


@loosely
def freeze(sheet: Path | str, *, store: Path | str, output: Path | None = None, force: bool = False) -> Freeze:
    """Read an answered sheet back, check it against the results it was drawn from, and record it in the store.

    Raises SheetRefused where an answer or a reviewer is missing, where the sheet mixes runs or protocols, or where an
    event is not one of the stored results or its timeline was changed.
    """
    with naming(store):
        return _frozen(Path(sheet), store, output, force=force)


def _frozen(path: Path, store: Path | str, output: Path | None, *, force: bool) -> Freeze:
    report = validate(SHEET, read_table(SHEET, path))
    report.raise_for_failures(where=str(path))
    rows = [
        {name: plain(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in report.valid.to_pylist()
    ]
    _require_answers(rows, path)
    run, protocol, fingerprint = _one_source(rows, path)
    opened = Store.open(store)
    source = _Stored(opened, run, protocol, fingerprint)
    _require_unchanged(rows, source, path)
    frozen = Freeze(
        _table(rows, source, file_sha256(path)), sheet=path.name, n_notes=sum(bool(row["note"]) for row in rows)
    )
    digest = frozen.to_pylist()[0]["sheet_sha256"]
    opened.write_record("floor_freezes", digest, frozen.table, inputs={"sheet_sha256": digest}, runs=[run])
    if output is not None:
        write_text(output, frozen.to_json(), force=force)
    return frozen


class _Stored:
    """The newest results of one run under one protocol in a store."""

    def __init__(self, store: Store, run: str, protocol: str, fingerprint: str | None = None) -> None:
        self.run, self.protocol = run, protocol
        seals = [
            seal
            for seal in store.results(run)
            if seal.protocol == protocol and fingerprint in (None, seal.protocol_fingerprint)
        ]
        if not seals:
            raise ResultsMissing(
                f"run {run} has no such results",
                expected=f"results under {protocol}" + (f", {fingerprint}" if fingerprint else ""),
                found=", ".join(sorted({seal.protocol for seal in store.results(run)})) or "none",
                where=str(store.path),
                hint=command("runs --store", store.path),
            )
        newest = seals[-1]
        self.fingerprint: str = newest.protocol_fingerprint
        self.data_digest: str = newest.inputs["data_digest"]
        self.events = StoredEvents(store, run, self.fingerprint)


def _key(event: Event) -> str:
    """The item id of a candidate, as `floor_items` has it."""
    return f"{event['session']}/{event['kind']}/{event['boundary_row']}"


def _require_answers(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    if not rows:
        raise _refuse(path, "the sheet holds no event", "one or more rows", "none")
    still_open = [
        f"{row['event_key']} {name}" for row in rows for name in QUESTIONS if _answer(row[name]) not in ANSWERS
    ]
    still_open += [f"{row['event_key']} reviewer" for row in rows if not (row["reviewer"] or "").strip()]
    if still_open:
        shown = ", ".join(still_open[:5]) + (", ..." if len(still_open) > 5 else "")
        raise _refuse(
            path,
            f"{len(still_open)} answers are open",
            f"{', '.join(ANSWERS[:-1])} or {ANSWERS[-1]} to every question, and a reviewer in every row",
            shown,
        )


def _one_source(rows: Sequence[Mapping[str, Any]], path: Path) -> tuple[str, str, str]:
    sources = {(row["run"], row["protocol"], row["protocol_fingerprint"]) for row in rows}
    if len(sources) > 1:
        raise _refuse(
            path, "the sheet mixes results", "one run and one protocol fingerprint", f"{len(sources)} of them"
        )
    return next(iter(sources))


def _require_unchanged(rows: Sequence[Mapping[str, Any]], source: _Stored, path: Path) -> None:
    stored = {_key(one[0]): one for one in source.events.candidates(_places(rows)).values()}
    for row in rows:
        one = stored.get(row["event_key"])
        # A spreadsheet may write other line ends; it must not have written another timeline.
        if one is None or timeline(source.run, one, source.events.tracks).split() != row["timeline"].split():
            raise _refuse(
                path,
                f"event {row['event_key']} is not the stored one",
                "events and timelines as audit-sheet wrote them",
                "no such event" if one is None else "a changed timeline",
            )


def _places(rows: Sequence[Mapping[str, Any]]) -> list[Place]:
    """The places that event keys name; session names hold no `/`."""
    keys = [row["event_key"].split("/") for row in rows]
    return [(key[0], int(key[-1])) for key in keys if re.fullmatch(r"\d{1,18}", key[-1], re.ASCII)]


def _table(rows: Sequence[Mapping[str, Any]], source: _Stored, sheet_sha256: str) -> pa.Table:
    answers = {name: Counter(_answer(row[name]) for row in rows) for name in QUESTIONS}
    made = [
        {
            "protocol": source.protocol,
            "protocol_fingerprint": source.fingerprint,
            "run_id": source.run,
            "data_digest": source.data_digest,
            "sheet_sha256": sheet_sha256,
            "question": name,
            **{f"n_{answer}": counted[answer] for answer in ANSWERS},
            "n_events": len(rows),
            "reviewers": sorted({row["reviewer"].strip() for row in rows}),
        }
        for name, counted in answers.items()
    ]
    return from_rows(contract("floor_freezes"), made)


def _answer(cell: str | None) -> str:
    return (cell or "").strip().lower()


def _refuse(path: Path, what: str, expected: str, found: str) -> SheetRefused:
    return SheetRefused(
        what,
        expected=expected,
        found=found,
        where=str(path),
        hint="evalframe floor audit-sheet --store DIR --run RUN --events 30 --seed 0 --output sheet.csv",
    )
