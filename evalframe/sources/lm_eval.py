"""lm-evaluation-harness: `samples_*.jsonl` -> KEV rows (log-likelihoods of options) or marked answers.

A log-likelihood is no probability of an option: which softmax makes it one is a choice, named here and kept with the
run. What the harness itself calls right is checked row by row against what we make of the row; where the two differ,
the file is refused rather than scored otherwise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

from evalframe.errors import FileFormatUnknown, RecordRefused, UsageError
from evalframe.identity import sha256_text
from evalframe.sources.choice_json import read_objects
from evalframe.sources.documents import Part, spelled
from evalframe.sources.fields import file_sha256
from evalframe.sources.lm_eval_sample import (
    distinct,
    has_options,
    label_of,
    likelihood,
    metrics_of,
    options_asked,
    softmax,
)
from evalframe.sources.marks import Mark
from evalframe.sources.values import shown

FORMAT = "lm-eval"

Normalisation = Literal["total", "characters", "bytes"]
"""softmax over the options of their log-likelihood as it is (total), per character, or per byte of UTF-8.

The most probable option is then the one that the harness scores in acc, acc_norm or acc_bytes.
"""

QUESTION: Mapping[str, str] = {
    "total": "log-likelihood in total",
    "characters": "log-likelihood per character",
    "bytes": "log-likelihood per byte",
}
"""Part of what identifies a row: runs that were normalised differently answer different questions."""

CHECKED_AGAINST: Mapping[str, str] = {"total": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}
DELIMITER = " "
"""What the harness puts before an option where a task does not say otherwise; it does not count as part of it."""

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d{2}-\d{2}T[\d.:\-]+)?")
_HINT = "evalframe import samples_TASK.jsonl --format lm-eval --metric acc --store DIR  # right or wrong alone"
_SHOWN_HASH = 16


@dataclass(frozen=True)
class Options:
    """What the caller chose. filter: whose answers, where a file has those of several. metric: a column of 1 and 0 that
    says right or wrong, in place of log-likelihoods. delimiters: by task, what stands before an option."""

    normalisation: Normalisation = "total"
    filter: str | None = None
    metric: str | None = None
    delimiters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Samples:
    """One file of samples. rows: KEV rows where every sample has log-likelihoods of options; else marks."""

    path: Path
    task: str
    sha256: str
    rows: Sequence[Mapping[str, Any]]
    marks: Sequence[Mark]
    metric: str
    filter: str

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.rows) or len(self.marks)


def task_of(path: Path) -> str:
    """The task that a file's name says. Raises FileFormatUnknown for a name that the harness does not give."""
    found = _NAME.fullmatch(path.stem)
    if found is None:
        raise FileFormatUnknown(
            f"{path.name} does not say which task its samples are of",
            expected="samples_TASK_DATE.jsonl, as --log_samples names it",
            found=path.name,
            where=str(path),
            hint=f"mv {shlex.quote(str(path))} {shlex.quote(str(path.with_name('samples_TASK.jsonl')))}",
        )
    return found["task"]


def read_samples(path: Path, options: Options) -> Samples:
    """The samples of one task, one per document. Raises InputError (unreadable), UsageError (a filter or metric has to
    be named) or ContractError (a sample cannot be taken without a guess), naming the sample."""
    return _Reader(path, options).read()


class _Reader:
    """Takes one file of samples apart."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self.options, self.task = path, options, task_of(path)
        self.filter = options.filter
        self.metric = options.metric

    def read(self) -> Samples:
        rows: list[Mapping[str, Any]] = []
        marks: list[Mark] = []
        for sample in self.samples():
            if not marks and self.options.metric is None and has_options(sample.at("filtered_resps").value):
                rows.append(self.row(sample))
            elif rows:
                sample.refuse(
                    "log-likelihoods of options, as the samples before it have", what="samples differ in kind"
                )
            else:
                marks.append(self.mark(sample))
        if not rows and not marks:
            self.refuse("there are no samples", "one sample a line", "an empty file")
        digest = file_sha256(self.path)
        metric = CHECKED_AGAINST[self.options.normalisation] if rows else self.metric or ""
        return Samples(self.path, self.task, digest, rows, marks, metric, self.filter or "none")

    def samples(self) -> Iterator[Part]:
        """Those of the one filter, each document once."""
        left_out: set[str] = set()
        seen: dict[str, int] = {}
        for place, value in enumerate(read_objects(self.path)):
            sample = Part(value, f"sample {place}", str(self.path), _HINT)
            name = sample.at("filter").text() or "none"
            if self.options.filter is None and self.filter not in (None, name):
                self.refuse_filters({self.filter or "", name})
            if self.options.filter not in (None, name):
                left_out.add(name)
                continue
            self.filter = name
            document = sample.at("doc_id").identifier()
            if document in seen:
                sample.refuse(
                    "every document once",
                    f"doc_id {shown(document)} at {seen[document]} and {place} (from 0)",
                    what="a document has two samples",
                )
            seen[document] = place
            yield sample
        if left_out and not seen:
            self.refuse_filters(left_out)

    def item(self, sample: Part) -> str:
        """task/doc_id/hash of the document: the same item in every run that was asked the same."""
        known = sample.at("doc_hash").text()
        return "/".join(
            [self.task, sample.at("doc_id").identifier(), *([known[:_SHOWN_HASH]] if known is not None else [])]
        )

    def row(self, sample: Part) -> dict[str, Any]:
        """The KEV row of a sample."""
        likelihoods = [likelihood(part) for part in sample.at("filtered_resps").parts()]
        options = options_asked(sample, len(likelihoods))
        likelihoods = likelihoods[: len(options)]
        label = label_of(sample.at("target"), options, self.delimiter())
        scores = self.scaled(sample, likelihoods, options)
        p = softmax(scores)
        if p.index(max(p)) != scores.index(max(scores)):
            sample.refuse("a most likely option", "two that differ by less than a probability can say")
        self.check(sample, p.index(max(p)) == label)
        return {
            "id": self.item(sample),
            "question": QUESTION[self.options.normalisation],
            "task": self.task,
            "type": "choice",
            "keys": distinct(options),
            "label": label,
            "p": p,
        }

    def delimiter(self) -> str:
        return self.options.delimiters.get(self.task, DELIMITER)

    def scaled(self, sample: Part, likelihoods: list[float], options: Sequence[str]) -> list[float]:
        """What the softmax is taken of."""
        if self.options.normalisation == "total":
            return likelihoods
        before = self.delimiter()
        if not all(option.startswith(before) and option != before for option in options):
            sample.refuse(
                f"options that follow {before!r}, whose length is known",
                f"{shown(options[0])}",
                what=f"likelihoods cannot be taken per {self.options.normalisation.removesuffix('s')}",
            )
        texts = [option.removeprefix(before) for option in options]
        lengths = [len(t.encode()) if self.options.normalisation == "bytes" else len(t) for t in texts]
        return [value / length for value, length in zip(likelihoods, lengths, strict=True)]

    def check(self, sample: Part, ours: bool) -> None:
        """The harness says of its own metric what we say of the row, where it says it."""
        name = CHECKED_AGAINST[self.options.normalisation]
        theirs = sample.at(name).number()
        if theirs is not None and theirs != float(ours):
            sample.refuse(
                f"{name} {float(ours)}, as the log-likelihoods and the target have it",
                f"{name} {theirs}",
                what="the task scores its options in a way of its own",
            )

    def mark(self, sample: Part) -> Mark:
        """Right or wrong, as the harness says it."""
        self.metric = self.metric or self.only_metric(sample)
        value = sample.at(self.metric).value
        if self.metric not in sample.fields():
            raise UsageError(
                f"the samples have no metric {self.metric!r}",
                expected=", ".join(metrics_of(sample)) or "a metric",
                found=self.metric,
                where=str(self.path),
                hint=f"--metric {(metrics_of(sample) or ['NAME'])[0]}",
            )
        if value not in (0, 1):  # true and false among them
            sample.at(self.metric).refuse("1 or 0: right or wrong")
        target = sample.at("target_hash").text()
        if target is None and sample.at("target").value is not None:
            target = sha256_text(spelled(sample.at("target").value))
        by = self.metric if self.filter in (None, "none") else f"{self.metric},{self.filter}"
        return Mark(self.item(sample), 1, self.task, target, f"{FORMAT}/{by}", bool(value))

    def only_metric(self, sample: Part) -> str:
        names = metrics_of(sample)
        if len(names) != 1:
            raise UsageError(
                "which metric says right or wrong has to be named",
                expected="--metric NAME",
                found=", ".join(names) or "no metric",
                where=str(self.path),
                hint=f"--metric {names[0] if names else 'NAME'}",
            )
        return names[0]

    def refuse_filters(self, names: Iterable[str]) -> NoReturn:
        known = sorted(names)
        raise UsageError(
            "whose answers are meant has to be named: each filter of the harness gives its own",
            expected="--filter " + " or ".join(known),
            found="nothing" if self.options.filter is None else self.options.filter,
            where=str(self.path),
            hint=f"--filter {known[0]}",
        )

    def refuse(self, what: str, expected: str, found: str) -> NoReturn:
        raise RecordRefused(what, expected=expected, found=found, where=str(self.path), hint=_HINT)
