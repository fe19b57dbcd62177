"""lm-evaluation-harness into a store: the samples of one model are one run, and what was published stands beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from evalframe.errors import RecordRefused, UsageError
from evalframe.sources import lm_eval, lm_eval_results
from evalframe.sources.choice import rows_run
from evalframe.underway import counted
from evalframe.verbs.import_answers import Asked, row_of, score_marks
from evalframe.verbs.import_detecting import Found
from evalframe.verbs.import_published import check_published, seal_published
from evalframe.verbs.kev import policy_of
from evalframe.verbs.naming import named
from evalframe.verbs.score import Run, score
from evalframe.verbs.spooling import spooled


def import_lm_eval(told: Sequence[Found], options: lm_eval.Options, asked: Asked) -> list[dict[str, Any]]:
    """One row per file. Raises as `import_files` does; nothing is sealed before every file is read and checked."""
    results = [lm_eval_results.read_results(one.document, one.path, one.sha256) for one in told if not one.is_lines]
    delimiters = {task: text for one in results for task, text in one.delimiters.items()}
    options = lm_eval.Options(options.normalisation, options.filter, options.metric, delimiters)
    lines = [one.path for one in told if one.is_lines]
    samples = [lm_eval.read_samples(path, options) for path in counted("files of samples", lines)]
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
    asked: Asked,
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
        protocol = policy_of(asked.policy)
        with spooled() as spool:
            run = rows_run((row for one in samples for row in one.rows), name, where, spool)
            scored = score(
                Run(name, protocol.system, run.dataset_id, run.tables, inputs, tags),
                protocol,
                asked.settings,
                store=asked.store,
            )
    else:
        marks = [mark for one in samples for mark in one.marks]
        scored = score_marks(marks, name, where, inputs, tags, asked)
    rows = []
    for one in samples:
        published = [harness.value(one.task, one.metric, one.filter) for harness in results]
        known = next((value for value in published if value is not None), None)
        row = row_of(one.path, scored, f"task={one.task}", one.n)
        rows.append({**row, "published_as": None if known is None else one.metric, "published": known})
    return rows


def normalisation_of(given: str | None) -> lm_eval.Normalisation:
    """The normalisation by its name; the first one where none is named."""
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


def _run_id(told: Sequence[Found], asked: Asked) -> str:
    stems = [one.path.stem for one in told if one.is_lines] or [one.path.stem for one in told]
    if asked.run_id is None and len(stems) > 1:
        raise UsageError(
            "the run that these files make has to be named",
            expected="--run-id ID",
            found=f"{len(stems)} files",
            where="--run-id",
            hint=f"--run-id {stems[0]}",
        )
    return named(asked.run_id, stems[0])


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
