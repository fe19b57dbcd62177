"""From options to runs: who is evaluated, who calibrates, which folders are read, and the tables that follow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from evalframe.contracts import contract, from_rows
from evalframe.contracts.shards import Rows, Spool
from evalframe.errors import RunNamesDiffer, UsageError
from evalframe.protocols.base import Protocol
from evalframe.protocols.easycom_floor.calibration import (
    Calibration,
    calibrated,
    cross_fitted,
    in_sample,
    official_sessions,
    read_folds,
)
from evalframe.protocols.easycom_floor.recalls import Recall
from evalframe.sources.floor_forecasts import Forecasts, RunFolder, forecasts_table, read_run
from evalframe.sources.floor_sessions import checked_name
from evalframe.sources.floor_targets import Targets, read_targets
from evalframe.verbs.score import Run

RUN, CALIBRATION = "run", "calibration"
"""The two sets of forecasts that one run may bring."""


@dataclass(frozen=True)
class Folders:
    """Where one run's forecasts are. calibration: None where the run's own folder holds the calibration sessions."""

    run: Path
    calibration: Path | None = None


@dataclass(frozen=True)
class Question:
    """What is asked of every run alike. target_root: folder of `<session>.npy`. segments, addressee: CSV files."""

    protocol: Protocol
    target_root: Path
    calibration: Calibration
    recalls: tuple[Recall, ...]
    segments: Path | None = None
    addressee: Path | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def targets(self) -> Targets:
        """The labels of every evaluated and every calibration session."""
        return read_targets(
            self.target_root, (*self.calibration.evaluated, *self.calibration.sessions), self.segments, self.addressee
        )


@dataclass(frozen=True)
class Asked:
    """What one run was read from, by set of forecasts."""

    name: str
    run_id: str
    folders: Folders
    sets: Mapping[str, RunFolder]


def folders_of(runs: Mapping[str, Path], calibration_runs: Mapping[str, Path] | None) -> dict[str, Folders]:
    """The folders of each run by its name. Raises UsageError without a run, RunNamesDiffer where names differ."""
    if not runs:
        raise UsageError(
            "no run is named",
            expected="one or more --run NAME=DIR",
            found="none",
            where="--run",
            hint="evalframe floor evaluate ... --run baseline=DIR --run candidate=DIR",
        )
    if calibration_runs and set(calibration_runs) != set(runs):
        raise RunNamesDiffer(
            "--run and --calibration-run name different runs",
            expected=", ".join(sorted(runs)),
            found=", ".join(sorted(calibration_runs)),
            where="--calibration-run",
            hint=" ".join(
                ["evalframe floor evaluate ...", *(f"--calibration-run {name}=DIR" for name in sorted(runs))]
            ),
        )
    return {name: Folders(path, (calibration_runs or {}).get(name)) for name, path in runs.items()}


def calibration_of(
    sessions: Sequence[str],
    calibration_sessions: Sequence[str],
    cross_fit: Path | None,
    allow_in_sample: bool,
    calibration_runs: Collection[str],
    settings: Mapping[str, str],
) -> Calibration:
    """Who calibrates whom. calibration_runs: names that have a calibration folder of their own.

    Raises UsageError where options exclude one another, and what the leak guard raises.
    """
    evaluated = [checked_name(name, "--sessions") for name in sessions]
    if not evaluated:
        raise UsageError(
            "no session is to be evaluated",
            expected="one or more session names",
            found="none",
            where="--sessions",
            hint="evalframe floor evaluate ... --sessions Session_3 Session_2 Session_1",
        )
    official = official_sessions(settings["official_test_sessions"])
    given = [
        option
        for option, used in (
            ("--calibration-sessions", calibration_sessions),
            ("--calibration-run", calibration_runs),
            ("--cross-fit", cross_fit),
        )
        if used
    ]
    if allow_in_sample:
        if given:
            raise _exclusive("--allow-in-sample-test-thresholds", given)
        return in_sample(evaluated)
    if cross_fit is not None:
        if calibration_sessions:
            raise _exclusive("--cross-fit", ["--calibration-sessions"])
        return cross_fitted(read_folds(cross_fit), evaluated, official)
    return calibrated(
        evaluated, [checked_name(name, "--calibration-sessions") for name in calibration_sessions], official
    )


def ask(
    question: Question,
    targets: Targets,
    labels: Mapping[str, Rows],
    name: str,
    run_id: str,
    folders: Folders,
    spool: Spool,
) -> tuple[Asked, Run]:
    """The run `name` with its tables: labels, forecasts, folds and wanted recalls.

    labels: the tables of `targets`, which all runs share. spool: where forecasts go that do not fit into memory.
    """
    chosen = question.calibration
    own = chosen.evaluated if folders.calibration else (*chosen.evaluated, *chosen.sessions)
    wanted: list[tuple[str, Path, Sequence[str]]] = [(RUN, folders.run, tuple(dict.fromkeys(own)))]
    if folders.calibration:
        wanted.append((CALIBRATION, folders.calibration, chosen.sessions))
    sets = {}
    for forecast_set, folder, sessions in wanted:

        def add(forecasts: Forecasts, forecast_set: str = forecast_set) -> None:
            spool.add("floor_forecasts", forecasts_table(run_id, forecast_set, forecasts))

        sets[forecast_set] = read_run(folder, [targets.sessions[s] for s in sessions], add)
    run = Run(
        run_id=run_id,
        system=question.protocol.system,
        dataset_id=targets.dataset_id,
        tables={
            **labels,
            "floor_forecasts": spool.take("floor_forecasts", contract("floor_forecasts").arrow_schema()),
            "floor_folds": _folds_table(run_id, targets, chosen, CALIBRATION if folders.calibration else RUN),
            "floor_recalls": _recalls_table(run_id, question.recalls),
        },
        inputs={
            "targets": dict(targets.digests),
            "forecasts": {name: dict(one.digests) for name, one in sets.items()},
            "folds": [[f.name, sorted(f.evaluate), sorted(f.calibrate)] for f in chosen.folds],
            "recalls": [recall.label for recall in question.recalls],
        },
        tags=question.tags,
    )
    return Asked(name, run_id, folders, sets), run


def _folds_table(run_id: str, targets: Targets, calibration: Calibration, calibration_set: str) -> pa.Table:
    rows = [
        {
            "run_id": run_id,
            "fold": fold.name,
            "role": role,
            "dataset_id": targets.dataset_id,
            "session_index": targets.sessions[session].index,
            "session": session,
            "forecast_set": forecast_set,
        }
        for fold in calibration.folds
        for role, sessions, forecast_set in (
            ("evaluation", fold.evaluate, RUN),
            ("calibration", fold.calibrate, calibration_set),
        )
        for session in sessions
    ]
    return from_rows(contract("floor_folds"), rows)


def _recalls_table(run_id: str, recalls: Sequence[Recall]) -> pa.Table:
    return from_rows(
        contract("floor_recalls"),
        [
            {
                "run_id": run_id,
                "recall": float(recall.exact),
                "label": recall.label,
                "numerator": recall.exact.numerator,
                "denominator": recall.exact.denominator,
            }
            for recall in recalls
        ],
    )


def _exclusive(option: str, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"{option} excludes {' and '.join(others)}",
        expected=f"{option} alone, or {' and '.join(others)} without it",
        found=f"{option} {' '.join(others)}",
        where=option,
        hint=f"leave out {' and '.join(others)}",
    )
