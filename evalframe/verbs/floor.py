"""Floor events: saved forecasts of two or more models -> false entries and false stops at matched recall, and files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.contracts.shards import holding
from evalframe.errors import UsageError
from evalframe.protocols.easycom_floor import PRE, TIMINGS, by_timing
from evalframe.protocols.easycom_floor.recalls import read_recalls
from evalframe.protocols.easycom_floor.times import microseconds
from evalframe.relations import catalogue
from evalframe.store import Store
from evalframe.store.layout import refuse_no_text
from evalframe.underway import counted
from evalframe.verbs import drawing
from evalframe.verbs.arguments import loosely
from evalframe.verbs.floor_files import REPORT, RunRows, table_of
from evalframe.verbs.floor_inputs import Asked, Question, ask, calibration_of, folders_of
from evalframe.verbs.floor_timelines import ORDER, Tracks, first_candidates, timeline
from evalframe.verbs.naming import listed, named, none_or_more, said_once
from evalframe.verbs.outputs import to_json, write_texts
from evalframe.verbs.results import Rows
from evalframe.verbs.score import Run, Scored, score
from evalframe.verbs.spooling import spooled

if TYPE_CHECKING:
    from evalframe.engines.base import Answers

DEFAULT_RECALLS = ("0.7", "0.8", "0.9")
_COMMAND = "floor evaluate"


@dataclass(frozen=True, repr=False)
class Evaluated(Rows):
    """A row per run and horizon (events.csv), with the other files' rows, the scored runs and printed timelines."""

    question: Question
    rows_outside: Mapping[str, int]
    target_files: Mapping[str, str]
    asked: tuple[Asked, ...]
    scored: tuple[Scored, ...]
    rows: tuple[RunRows, ...]
    provenance: str | None
    timelines: tuple[str, ...]

    def headlines(self) -> list[str]:
        """Every run with the protocol, and what makes the numbers no result, if anything does."""
        lines = [line for one in self.scored for line in one.headlines()]
        return lines + ([f"TAINTED: {self.question.calibration.taint}"] if self.question.calibration.taint else [])

    def shown(self) -> pa.Table:
        """Denominators, rankings and the rates at one recall: 0.8 where it is wanted, else the first."""
        labels = [recall.label for recall in self.question.recalls]
        q = next((r.label for r in self.question.recalls if float(r.exact) == 0.8), labels[0])
        columns = ("run", "horizon_s", "n_response", "n_no_response", "response_ap", f"response_recall_{q}")
        rates = (f"no_response_trigger_rate_at_recall_{q}", f"short_resume_trigger_rate_at_recall_{q}")
        stops = ("n_yield", "n_continue", "yield_ap", f"yield_recall_{q}", f"continue_false_stop_rate_at_recall_{q}")
        return self.table.select([*columns, *rates, *stops])

    def body(self) -> dict[str, Any]:
        """What OUT.json says, without the protocol."""
        calibration, protocol = self.question.calibration, self.question.protocol
        parameters = dict(self.scored[0].identity.parameters)
        return {
            "parameters": parameters,
            "readings": [
                {"name": p.name, "value": parameters[p.name], "meaning": p.meaning}
                for p in protocol.parameters
                if p.reading
            ],
            "sessions": list(calibration.evaluated),
            "rows_outside_segments": dict(self.rows_outside),
            "target_files": dict(self.target_files),
            "runs": {
                one.name: {
                    "run_id": one.run_id,
                    "dir": str(one.folders.run),
                    "files": dict(one.sets["run"].digests),
                    "n_valid_not_finite": sum(one_set.n_not_finite for one_set in one.sets.values()),
                    "data_digest": scored.data_digest,
                }
                for one, scored in zip(self.asked, self.scored, strict=True)
            },
            "calibration": {
                "mode": calibration.mode,
                "sessions": list(calibration.sessions),
                "folds": [
                    {"fold": f.name, "evaluate": list(f.evaluate), "calibrate": list(f.calibrate)}
                    for f in calibration.folds
                ],
                "provenance": self.provenance,
                "runs": {one.name: self._calibration_files(one) for one in self.asked},
            },
            "thresholds": [row for one in self.rows for row in one.thresholds()],
            "rows": [row for one in self.rows for row in one.events()],
            "strata": [row for one in self.rows for row in one.strata()],
            "metric_fingerprints": self.scored[0].identity.published_fingerprints,
            "tainted": calibration.taint is not None,
            "taint_reason": calibration.taint,
        }

    def _calibration_files(self, one: Asked) -> dict[str, Any]:
        wanted = {f"{part}/{s}.npy" for part in ("pred", "valid") for s in self.question.calibration.sessions}
        folder = one.sets.get("calibration", one.sets["run"])
        return {
            "dir": str(one.folders.calibration or one.folders.run),
            "files": {path: digest for path, digest in folder.digests.items() if path in wanted},
        }

    def to_json(self) -> str:
        """OUT.json as text."""
        return to_json(_COMMAND, self.body(), self.scored[0].identity.to_json())

    def tables(self) -> dict[str, pa.Table]:
        """The CSV files beside OUT.json, by the end of their names."""
        found = {
            "events": self.table,
            "framewise": table_of([row for one in self.rows for row in one.frames()]),
            "secondary": table_of([row for one in self.rows for row in one.secondary()]),
        }
        if self.question.addressee is not None:
            found["strata"] = table_of([row for one in self.rows for row in one.strata()])
        return found

    def paths(self, output: Path) -> list[Path]:
        """The files that `write` leaves: the CSV files beside OUT.json, and OUT.json."""
        stem = output.name.removesuffix(".json")
        return [*(output.with_name(f"{stem}_{name}.csv") for name in self.tables()), output]

    def write(self, output: Path, *, force: bool = False) -> None:
        """Write the CSV files and then OUT.json, each in one step."""
        texts = [*(drawing.csv(table) for table in self.tables().values()), self.to_json()]
        write_texts(dict(zip(self.paths(output), texts, strict=True)), force=force)


@loosely
def evaluate(
    target_root: Path | str,
    *,
    runs: Mapping[str, Path | str],
    sessions: Sequence[str] | str,
    calibration_runs: Mapping[str, Path | str] | None = None,
    calibration_sessions: Sequence[str] | str = (),
    matched_recalls: Sequence[str] | str = DEFAULT_RECALLS,
    midturn_pause_max_seconds: str | None = None,
    row_seconds: str | None = None,
    decision_timing: str = PRE,
    segments: Path | None = None,
    addressee: Path | None = None,
    cross_fit: Path | None = None,
    allow_in_sample_test_thresholds: bool = False,
    calibration_provenance: str | None = None,
    print_event_timelines: int = 0,
    output: Path | None = None,
    store: Path | str | None = None,
    run_prefix: str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    force: bool = False,
) -> Evaluated:
    """Evaluate the forecasts of `runs` (name -> folder with `pred/` and `valid/`) on `sessions`.

    Thresholds are chosen on `calibration_sessions`, read from `calibration_runs` or else from each run's own folder; by
    folds with `cross_fit`; on the evaluated sessions themselves, and tainted, with `allow_in_sample_test_thresholds`.
    Recalls and seconds are text: they are exact decimals. Nothing is read before the leak guard has passed.
    Raises UsageError or InputError (exit 2), ContractError, ProtocolError or StoreConflict (exit 4).
    """
    if decision_timing not in TIMINGS:
        raise UsageError(
            "there is no such decision timing",
            expected=" or ".join(TIMINGS),
            found=decision_timing,
            where="--decision-timing",
            hint=f"evalframe floor evaluate ... --decision-timing {PRE}",
        )
    none_or_more(
        print_event_timelines,
        "--print-event-timelines",
        "fewer timelines than none cannot be printed",
        "--print-event-timelines 3",
    )
    protocol = by_timing(decision_timing)
    _refuse_derived(settings or {})
    given = {"midturn_pause_max_seconds": midturn_pause_max_seconds, "row_seconds": row_seconds}
    chosen = protocol.settings(said_once(protocol, settings, given))
    for name in given:
        microseconds(chosen[name], f"--{name.replace('_', '-')}")
    folders = folders_of(
        {name: Path(path) for name, path in runs.items()},
        {name: Path(path) for name, path in (calibration_runs or {}).items()},
    )
    calibration = calibration_of(
        listed(sessions),
        listed(calibration_sessions),
        cross_fit,
        allow_in_sample_test_thresholds,
        calibration_runs or (),
        chosen,
    )
    question = Question(
        protocol,
        Path(target_root),
        calibration,
        read_recalls(listed(matched_recalls)),
        segments,
        addressee,
        {**(tags or {}), **({"calibration_provenance": calibration_provenance} if calibration_provenance else {})},
    )
    ids = _run_ids(folders, run_prefix, run_id)
    refuse_no_text(question.tags)
    targets = question.targets()
    with spooled() as spool:
        labels = targets.tables(spool)
        read = [ask(question, targets, labels, name, ids[name], where, spool) for name, where in folders.items()]
        opened = None if store is None else Store.open(store, create=True)
        shown: list[str] = []
        scored = tuple(
            score(
                run,
                protocol,
                {**chosen, **calibration.parameters()},
                store=opened,
                relations=catalogue(relations),
                also=(REPORT, "operating_points"),
                look=partial(_draw, shown, one.name, run, print_event_timelines),
                taint=calibration.taint,
            )
            for one, run in counted("runs", read)
        )
    asked = tuple(one for one, _ in read)
    rows = tuple(RunRows(a.name, s, question.recalls) for a, s in zip(asked, scored, strict=True))
    result = Evaluated(
        table_of([row for one in rows for row in one.events()]),
        question,
        {name: session.n_rows_outside for name, session in targets.sessions.items()},
        targets.digests,
        asked,
        scored,
        rows,
        calibration_provenance,
        tuple(shown),
    )
    if output is not None:
        result.write(output, force=force)
    return result


def _draw(shown: list[str], name: str, run: Run, n: int, answers: Answers) -> None:
    """Append the timelines of the first `n` candidates of each kind."""
    if n > 0:
        tracks = Tracks(lambda table, where, columns: holding(run.tables[table], where, columns))
        found = first_candidates(answers.reader("floor_events", order=ORDER), n)
        shown += [timeline(name, one, tracks) for one in found]


def _refuse_derived(settings: Mapping[str, str]) -> None:
    """Who calibrates follows from the sessions that are read; a setting that says otherwise would be a false label."""
    for name in ("calibration_mode", "calibration_sessions"):
        if name in settings:
            raise UsageError(
                f"{name} follows from the calibration options",
                expected="--calibration-sessions, --cross-fit or --allow-in-sample-test-thresholds",
                found=f"{name}={settings[name]}",
                where="--set",
                hint="evalframe floor evaluate ... --calibration-sessions Session_12",
            )


def _run_ids(names: Collection[str], prefix: str | None, run_id: str | None) -> dict[str, str]:
    """The id in a store of each named run: its name, below `prefix` if there is one."""
    if run_id is not None:
        if len(names) > 1 or prefix:
            raise UsageError(
                "--run-id names one run",
                expected="one --run and no --run-prefix",
                found=f"{len(names)} runs" + (f" and prefix {prefix}" if prefix else ""),
                where="--run-id",
                hint="leave out --run-id: with --run-prefix P, run ids are P/NAME",
            )
        return dict.fromkeys(names, named(run_id, ""))
    return {name: named(None, f"{prefix}/{name}" if prefix else name) for name in names}
