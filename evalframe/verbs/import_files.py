"""Files of other evaluation tools into a store. `evalframe import` and `Store.import_files` call this.

Answers are scored under our own protocols; what the tool published of them is sealed beside, as its word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.errors import UsageError
from evalframe.sources import every_eval_ever, inspect_log, lm_eval
from evalframe.store import Store
from evalframe.store.refusals import naming
from evalframe.underway import counted
from evalframe.verbs.arguments import loosely
from evalframe.verbs.import_answers import Asked, row_of, score_marks
from evalframe.verbs.import_detecting import INSPECT, LM_EVAL, Found, found
from evalframe.verbs.import_lm_eval import import_lm_eval, normalisation_of
from evalframe.verbs.import_published import check_published, seal_published
from evalframe.verbs.kev import DEFAULT_POLICY
from evalframe.verbs.naming import listed, named
from evalframe.verbs.results import Rows

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


@loosely
def import_files(
    files: Sequence[Path | str] | Path | str,
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
    with naming(store.path if isinstance(store, Store) else store):
        named(run_id, "", tags)
        told = found([Path(path) for path in listed(files)], format)
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
        asked = Asked(_opened(store), run_id, tags or {}, settings or {}, policy)
        if kind == LM_EVAL:
            options = lm_eval.Options(normalisation_of(normalisation), filter, metric)
            rows = import_lm_eval(told, options, asked)
        elif kind == INSPECT:
            rows = _logs(told, scorer, asked)
        else:
            rows = _records(told, asked)
        return Imported(pa.Table.from_pylist([{**row, "format": kind} for row in rows], schema=_SCHEMA))


def _opened(store: Store | Path | str) -> Store:
    return store if isinstance(store, Store) else Store.open(store, create=True)


def _records(told: Sequence[Found], asked: Asked) -> list[dict[str, Any]]:
    read = [every_eval_ever.record_of(one.document, one.path, one.sha256) for one in counted("records", told)]
    for published in read:
        check_published(published, alone=True)
    rows = []
    for published in read:
        name = published.run_id if asked.run_id is None else asked.run_id
        outcome = seal_published(asked.store, published, name or "", asked.tags, named=asked.run_id is not None)
        rows.append({"source": published.source, "run_id": name, "n": len(published.results), "outcome": outcome})
    return rows


def _logs(told: Sequence[Found], scorer: str | None, asked: Asked) -> list[dict[str, Any]]:
    read = [
        inspect_log.read_log(one.path, scorer)
        if one.document is None
        else inspect_log.log_of(one.document, one.path, one.sha256, scorer)
        for one in counted("logs", told)
    ]
    for log in read:
        check_published(log.published, alone=not log.marks)
    return [_log(log, asked) for log in read]


def _log(log: inspect_log.Log, asked: Asked) -> dict[str, Any]:
    name = named(asked.run_id, log.path.stem)
    row = {"source": log.path.name, "run_id": name, "n": len(log.published.results)}
    if log.marks:
        inputs = {"inspect": {"sha256": log.published.sha256, "scorer": log.scorer}}
        taint = INVALIDATED if log.invalidated else None
        scored = score_marks(log.marks, name, str(log.path), inputs, {**log.published.tags, **asked.tags}, asked, taint)
        row = {
            **row_of(log.path, scored, "all", len(log.marks)),
            "published_as": f"{log.scorer}/{log.metric}" if log.metric is not None else None,
            "published": log.accuracy if log.reducer in (None, inspect_log.MEAN) else None,
        }
    outcome = seal_published(asked.store, log.published, name, asked.tags)
    return {"outcome": outcome, **row}


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
