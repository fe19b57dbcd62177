"""Inspect evaluation logs (`.json`, and `.eval`, a ZIP of the same documents) -> marked answers and published values.

A log says how each sample was scored and nothing of how sure the model was, so that marks are all that is taken. A
score that is neither right nor wrong is refused: what part of it would be right is not ours to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from evalframe.errors import UsageError
from evalframe.identity import sha256_text
from evalframe.sources.documents import Limits, Part, read_document, spelled
from evalframe.sources.json_archive import JsonArchive, open_archive
from evalframe.sources.marks import ERROR_LENGTH, Mark
from evalframe.sources.recorded import Published, Result

FORMAT = "inspect"
KNOWN = ("eval", "plan")
"""Keys by which a document is known to be one of these."""

SUFFIX = ".eval"
ACCURACY, MEAN = "accuracy", "mean"

_HEADER = "header.json"
_SAMPLES = "samples/"
_MARKS: Mapping[object, bool] = {
    "C": True, "I": False, "N": False, "yes": True, "true": True, "no": False, "false": False, "1": True, "0": False,
    1: True, 0: False,
}  # fmt: skip
"""What the tool's own accuracy counts as 1 and as 0; N is no answer. True and False are 1 and 0."""


@dataclass(frozen=True)
class Log:
    """One log. scorer: whose scores the marks are, null where no sample was kept. invalidated: by its owner. accuracy:
    as published for the scorer, as its metric `metric` (accuracy or mean), attempts reduced by `reducer`."""

    path: Path
    published: Published
    marks: Sequence[Mark]
    scorer: str | None
    invalidated: bool
    accuracy: float | None
    metric: str | None
    reducer: str | None


def read_log(path: Path, scorer: str | None = None, limits: Limits | None = None) -> Log:
    """A log of an evaluation that ran to its end.

    scorer: whose scores are meant, where samples have several. Raises InputError (unreadable, damaged), UsageError (the
    scorer has to be named) or ContractError (unfinished, or a score that is neither right nor wrong).
    """
    if path.suffix == SUFFIX:
        with open_archive(path, limits) as archive:
            return _Reader(archive.read(_HEADER), archive.sha256, path, scorer).read(_members(archive))
    document, digest = read_document(path, limits)
    return log_of(document, path, digest, scorer)


def log_of(document: Any, path: Path, sha256: str, scorer: str | None = None) -> Log:
    """`read_log` for a `.json` log that is in memory already."""
    reader = _Reader(document, sha256, path, scorer)
    return reader.read(part.value for part in reader.whole.at("samples").parts())


def _members(archive: JsonArchive) -> Iterator[Any]:
    for name in archive.names:
        if name.startswith(_SAMPLES) and name.endswith(".json"):
            yield archive.read(name)


class _Reader:
    """Takes one log apart."""

    def __init__(self, head: Any, sha256: str, path: Path, scorer: str | None) -> None:
        hint = "inspect eval-retry LOG  # and import the finished log"
        self.whole = Part(head, "", str(path), hint)
        self.path, self.sha256, self.scorer = path, sha256, scorer
        self.task = self.whole.at("eval").at("task").name()
        self.names: set[str] = set()
        self.n_without_error = self.n_scored = 0

    def read(self, samples: Iterable[Any]) -> Log:
        status = self.whole.at("status")
        if status.name() != "success":
            status.refuse("success", what="the log is of an evaluation that did not run to its end")
        marks = [self.mark(value, place) for place, value in enumerate(samples)]
        if self.names and self.scorer not in self.names:
            self.refuse_scorer(self.names, self.scorer)
        completed = self.whole.at("results").at("completed_samples")
        if marks and completed.count() not in (None, self.n_without_error, self.n_scored):
            completed.refuse(f"{self.n_without_error}, as many samples as did not fail", what="the log is not whole")
        accuracy, metric, reducer = self.accuracy()
        return Log(
            self.path,
            self.published(),
            marks,
            self.scorer if marks else None,
            bool(self.whole.at("invalidated").truth()),
            accuracy,
            metric,
            reducer,
        )

    def mark(self, value: Any, place: int) -> Mark:
        """How one sample was scored by the one scorer."""
        sample = Part(value, f"samples[{place}]", str(self.path), self.whole.hint)
        scores = sample.at("scores")
        names = scores.names()
        if self.scorer is None and names:
            if len(names) > 1:
                self.refuse_scorer(names, None)
            self.scorer = names[0]
        self.names.update(names)
        self.n_scored += bool(names)
        self.n_without_error += sample.at("error").value is None
        target = sample.at("target").value
        score = scores.at(self.scorer or "").at("value")
        correct = self.correct(score)
        return Mark(
            sample.at("id").identifier(),
            sample.at("epoch").count() or 1,
            self.task,
            None if target is None else sha256_text(spelled(target)),
            f"{FORMAT}/{self.scorer or ''}",
            correct,
            self.error(sample) if correct is None else None,
        )

    def correct(self, score: Part) -> bool | None:
        """Right, wrong, or not scored (null, NaN)."""
        value = score.value
        if value is None or value != value:
            return None
        mark = value if isinstance(value, str | int | float) else object()
        known = _MARKS.get(mark, _MARKS.get(mark.lower()) if isinstance(mark, str) else None)
        if known is None:
            score.refuse("C, I, N, or 1 and 0: right or wrong", what="a score is neither right nor wrong")
        return known

    def error(self, sample: Part) -> str | None:
        """Why the sample has no score, where it says so."""
        error = sample.at("error")
        if error.value is None:
            return None
        return (error.at("message").text() or "an error without a message")[:ERROR_LENGTH]

    def refuse_scorer(self, names: Iterable[str], found: str | None) -> NoReturn:
        known = sorted(names)
        raise UsageError(
            "whose scores are meant has to be named",
            expected="--scorer " + " or ".join(known),
            found=found or "nothing, and several scorers",
            where=str(self.path),
            hint=f"--scorer {known[0]}",
        )

    def accuracy(self) -> tuple[float | None, str | None, str | None]:
        """(the accuracy or else the mean that the log gives for the scorer, which of the two it is, how several
        attempts were reduced to one)."""
        for score in self.whole.at("results").at("scores").parts():
            metrics = score.at("metrics")
            named = [name for name in (ACCURACY, MEAN) if name in metrics.fields()]
            if score.at("name").text() == self.scorer and named:
                return _value(metrics.at(named[0])), named[0], score.at("reducer").text()
        return None, None, None

    def published(self) -> Published:
        about = self.whole.at("eval")
        tags = {
            "model": about.at("model").text(),
            "task": self.task,
            "dataset": about.at("dataset").at("name").text(),
        }
        results = [r for s in self.whole.at("results").at("scores").parts() for r in _results(s, self.task)]
        head = {
            "eval_id": about.at("eval_id").text(),
            "created": about.at("created").text(),
            "packages": about.at("packages").value,
            "task_version": about.at("task_version").value,
            "invalidated": self.whole.at("invalidated").truth(),
        }
        return Published(
            self.path.name,
            self.sha256,
            FORMAT,
            results,
            tags={name: value for name, value in tags.items() if value is not None},
            head={name: value for name, value in head.items() if value is not None},
        )


def _results(score: Part, task: str) -> Iterator[Result]:
    """One per metric, named scorer/metric, with the reducer where one is named."""
    name, reducer = score.at("name").name(), score.at("reducer").text()
    metrics = score.at("metrics")
    spread = _value(metrics.at("stderr")) if "stderr" in metrics.fields() else None
    for metric in metrics.names():
        yield Result(
            metric=f"{name}/{metric}" if reducer is None else f"{name}[{reducer}]/{metric}",
            stratum="all",
            value=_value(metrics.at(metric)),
            details=spelled({**score.fields(), "metrics": {metric: metrics.at(metric).value}}),
            evaluation=task,
            standard_error=spread if metric in (ACCURACY, MEAN) else None,
            n_samples=score.at("scored_samples").count(),
        )


def _value(metric: Part) -> float | None:
    """A finite number; NaN is none."""
    value = metric.at("value")
    return None if value.value != value.value else value.number()
