"""Files of other evaluation tools into a store. `evalframe import` and `Store.import_files` call this.

Answers are scored under our own protocols; what the tool published of them is sealed beside, as its word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from evalframe.errors import RecordRefused, UsageError
from evalframe.protocols import protocol as protocol_of
from evalframe.sources import every_eval_ever, inspect_log, lm_eval, lm_eval_results
from evalframe.sources.choice import rows_run
from evalframe.sources.marks import Mark, mark_tables
from evalframe.store import Store
from evalframe.verbs.import_detecting import INSPECT, LM_EVAL, Found, found
from evalframe.verbs.import_published import check_published, seal_published
from evalframe.verbs.kev import DEFAULT_POLICY
from evalframe.verbs.results import Rows
from evalframe.verbs.score import Run, Scored, score

ANSWERS = "kev-answers/1"
INVALIDATED = "invalidated by the owner of the log"

_SCHEMA = pa.schema(
    [
        ("source", pa.large_string()),
        ("format", pa.large_string()),
        ("run_id", pa.large_string()),
        ("protocol", pa.large_string()),
        ("stratum", pa.large_string()),
        ("n", pa.int64()),
        ("accuracy", pa.float64()),
        ("published_as", pa.large_string()),
        ("published", pa.float64()),
        ("outcome", pa.large_string()),
    ]
)


@dataclass(frozen=True, repr=False)
class Imported(Rows):
    """One row per file. n: answers, or published values; accuracy: as counted here; published: as the tool has it."""

    def differing(self) -> list[str]:
        """Where an accuracy that was counted here is not the one the tool published."""
        return [
            f"{row['source']}: accuracy {row['accuracy']} here, {row['published_as']} {row['published']} published"
            for row in self.to_pylist()
            if None not in (row["accuracy"], row["published"]) and abs(row["accuracy"] - row["published"]) > 1e-12
        ]

    def headlines(self) -> list[str]:
        """What does not agree."""
        return self.differing()


@dataclass(frozen=True)
class _Asked:
    """What holds for the whole import."""

    store: Store
    run_id: str | None
    tags: Mapping[str, str]
    settings: Mapping[str, str]
    policy: str


def import_files(
    files: Sequence[Path | str],
    *,
    store: Store | Path | str,
    format: str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    normalisation: str | None = None,
    filter: str | None = None,
    metric: str | None = None,
    scorer: str | None = None,
    policy: str = DEFAULT_POLICY,
    settings: Mapping[str, str] | None = None,
) -> Imported:
    """Import files of one tool: `every-eval-ever`, `lm-eval` or `inspect`; told by their content without `format`.

    lm-eval: samples (JSON lines) make one run, results beside them say what was published. normalisation: how
    log-likelihoods become probabilities (total, characters, bytes). filter: whose answers. metric: a column of 1 and 0
    to take as right or wrong. inspect: each log is a run; scorer: whose scores. every-eval-ever: each record's values
    belong to the run it names. policy: protocol for choices with probabilities. settings: protocol parameters.
    Raises InputError or UsageError (exit 2), ContractError or StoreConflict (exit 4).
    """
    told = found([Path(path) for path in files], format)
    kind = told[0].format
    chosen = {"normalisation": normalisation, "filter": filter, "metric": metric, "scorer": scorer}
    _refuse_options(kind, {name for name, value in chosen.items() if value is not None})
    if run_id is not None and kind != LM_EVAL and len(told) > 1:
        raise UsageError(
            "one name cannot be given to several runs",
            expected="one file with --run-id",
            found=f"{len(told)} files",
            where="--run-id",
            hint="leave out --run-id, or import the files one by one",
        )
    asked = _Asked(_opened(store), run_id, tags or {}, settings or {}, policy)
    if kind == LM_EVAL:
        options = lm_eval.Options(_normalisation(normalisation), filter, metric)
        rows = _lm_eval(told, options, asked)
    elif kind == INSPECT:
        rows = _logs(told, scorer, asked)
    else:
        rows = _records(told, asked)
    return Imported(pa.Table.from_pylist([{**row, "format": kind} for row in rows], schema=_SCHEMA))


def _opened(store: Store | Path | str) -> Store:
    return store if isinstance(store, Store) else Store.open(store, create=True)


def _records(told: Sequence[Found], asked: _Asked) -> list[dict[str, Any]]:
    read = [every_eval_ever.record_of(one.document, one.path, one.sha256) for one in told]
    for published in read:
        check_published(published, alone=True)
    rows = []
    for published in read:
        name = published.run_id if asked.run_id is None else asked.run_id
        outcome = seal_published(asked.store, published, name or "", asked.tags, named=asked.run_id is not None)
        rows.append({"source": published.source, "run_id": name, "n": len(published.results), "outcome": outcome})
    return rows


def _logs(told: Sequence[Found], scorer: str | None, asked: _Asked) -> list[dict[str, Any]]:
    read = [
        inspect_log.read_log(one.path, scorer)
        if one.document is None
        else inspect_log.log_of(one.document, one.path, one.sha256, scorer)
        for one in told
    ]
    for log in read:
        check_published(log.published, alone=not log.marks)
    return [_log(log, asked) for log in read]


def _log(log: inspect_log.Log, asked: _Asked) -> dict[str, Any]:
    name = log.path.stem if asked.run_id is None else asked.run_id
    row = {"source": log.path.name, "run_id": name, "n": len(log.published.results)}
    if log.marks:
        inputs = {"inspect": {"sha256": log.published.sha256, "scorer": log.scorer}}
        taint = INVALIDATED if log.invalidated else None
        scored = _score_marks(
            log.marks, name, str(log.path), inputs, {**log.published.tags, **asked.tags}, asked, taint
        )
        row = {
            **_row(log.path, scored, "all", len(log.marks)),
            "published_as": f"{log.scorer}/{log.metric}" if log.metric is not None else None,
            "published": log.accuracy if log.reducer in (None, inspect_log.MEAN) else None,
        }
    outcome = seal_published(asked.store, log.published, name, asked.tags)
    return {"outcome": outcome, **row}


def _lm_eval(told: Sequence[Found], options: lm_eval.Options, asked: _Asked) -> list[dict[str, Any]]:
    results = [lm_eval_results.read_results(one.document, one.path, one.sha256) for one in told if not one.is_lines]
    delimiters = {task: text for one in results for task, text in one.delimiters.items()}
    options = lm_eval.Options(options.normalisation, options.filter, options.metric, delimiters)
    samples = [lm_eval.read_samples(one.path, options) for one in told if one.is_lines]
    for one in samples:
        _refuse_part(one, results)
    for harness in results:
        check_published(harness.published, alone=not samples)
    name = _run_id(told, asked)
    rows = _score_samples(samples, results, name, options, asked) if samples else []
    for harness in results:
        outcome = seal_published(asked.store, harness.published, name, asked.tags)
        n = len(harness.published.results)
        rows.append({"source": harness.published.source, "run_id": name, "n": n, "outcome": outcome})
    return rows


def _score_samples(
    samples: Sequence[lm_eval.Samples],
    results: Sequence[lm_eval_results.Harness],
    name: str,
    options: lm_eval.Options,
    asked: _Asked,
) -> list[dict[str, Any]]:
    if len({bool(one.rows) for one in samples}) > 1:
        raise UsageError(
            "some tasks have log-likelihoods of options and others do not",
            expected="tasks of one kind in one run",
            found=", ".join(f"{one.task}: {'options' if one.rows else 'right or wrong'}" for one in samples[:5]),
            hint="import them as two runs, or all with --metric",
        )
    has_options = bool(samples[0].rows)
    told = {"normalisation": options.normalisation} if has_options else {"metrics": {s.task: s.metric for s in samples}}
    inputs = {
        "lm_eval": {
            "samples": {one.task: one.sha256 for one in samples},
            "filters": {one.task: one.filter for one in samples},
            **told,
        }
    }
    tags = {name: value for one in results for name, value in one.published.tags.items()} | dict(asked.tags)
    where = ", ".join(str(one.path) for one in samples)
    if has_options:
        run = rows_run((row for one in samples for row in one.rows), name, where)
        protocol = protocol_of(asked.policy)
        scored = score(
            Run(name, protocol.system, run.dataset_id, run.tables, inputs, tags),
            protocol,
            asked.settings,
            store=asked.store,
        )
    else:
        marks = [mark for one in samples for mark in one.marks]
        scored = _score_marks(marks, name, where, inputs, tags, asked, None)
    rows = []
    for one in samples:
        published = [harness.value(one.task, one.metric, one.filter) for harness in results]
        known = next((value for value in published if value is not None), None)
        row = _row(one.path, scored, f"task={one.task}", one.n)
        rows.append({**row, "published_as": None if known is None else one.metric, "published": known})
    return rows


def _score_marks(
    marks: Sequence[Mark],
    name: str,
    where: str,
    inputs: Mapping[str, Any],
    tags: Mapping[str, str],
    asked: _Asked,
    taint: str | None,
) -> Scored:
    protocol = protocol_of(ANSWERS)
    dataset_id, tables = mark_tables(marks, name, where)
    run = Run(name, protocol.system, dataset_id, tables, inputs, tags)
    return score(run, protocol, asked.settings, store=asked.store, taint=taint)


def _row(path: Path, scored: Scored, stratum: str, n: int) -> dict[str, Any]:
    return {
        "source": path.name,
        "run_id": scored.run_id,
        "protocol": scored.identity.protocol.label,
        "stratum": stratum,
        "n": n,
        "accuracy": scored.value("accuracy", stratum),
        "outcome": scored.outcome,
    }


def _run_id(told: Sequence[Found], asked: _Asked) -> str:
    named = [one.path.stem for one in told if one.is_lines] or [one.path.stem for one in told]
    if asked.run_id is None and len(named) > 1:
        raise UsageError(
            "the run that these files make has to be named",
            expected="--run-id ID",
            found=f"{len(named)} files",
            where="--run-id",
            hint=f"--run-id {named[0]}",
        )
    return named[0] if asked.run_id is None else asked.run_id


def _refuse_part(samples: lm_eval.Samples, results: Sequence[lm_eval_results.Harness]) -> None:
    for harness in results:
        wanted = harness.n_samples.get(samples.task)
        if wanted is not None and wanted != samples.n:
            raise RecordRefused(
                f"the samples of {samples.task} are not those of the results",
                expected=f"{wanted} samples, as {harness.published.source} says",
                found=f"{samples.n} samples",
                where=str(samples.path),
                hint="import the files of one evaluation together, each whole",
            )


def _refuse_options(kind: str, given: set[str]) -> None:
    known = {LM_EVAL: {"normalisation", "filter", "metric"}, INSPECT: {"scorer"}}.get(kind, set())
    if strange := sorted(given - known):
        raise UsageError(
            f"--{strange[0]} says nothing about files of {kind}",
            expected=", ".join(f"--{name}" for name in sorted(known)) or "no such option",
            found=f"--{strange[0]}",
            where=f"--{strange[0]}",
            hint=f"leave out --{strange[0]}",
        )


def _normalisation(given: str | None) -> lm_eval.Normalisation:
    for known in get_args(lm_eval.Normalisation):
        if given in (None, known):
            chosen: lm_eval.Normalisation = known
            return chosen
    raise UsageError(
        "there is no such normalisation",
        expected=", ".join(get_args(lm_eval.Normalisation)),
        found=repr(given),
        where="--normalisation",
        hint="--normalisation characters",
    )
