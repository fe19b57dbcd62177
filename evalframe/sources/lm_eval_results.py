"""lm-evaluation-harness: `results_*.json` -> the values it published, and what tells how its samples are to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.sources.documents import Part, spelled
from evalframe.sources.lm_eval import FORMAT
from evalframe.sources.recorded import Published, Result

KNOWN = ("results", "versions", "config")
"""Keys by which a document is known to be one of these."""

_NO_METRICS = frozenset({"alias", "name", "sample_len", "sample_count"})
_HEAD = (
    "config",
    "lm_eval_version",
    "date",
    "git_hash",
    "model_name",
    "model_source",
    "task_hashes",
    "versions",
    "n-shot",
)
_STDERR = "_stderr"


@dataclass(frozen=True)
class Harness:
    """One results file. delimiters: by task, what stands before an option. n_samples: by task."""

    published: Published
    delimiters: Mapping[str, str]
    n_samples: Mapping[str, int]

    def value(self, task: str, metric: str, filter: str) -> float | None:
        """The published value, null where there is none."""
        name = metric if filter == "none" else f"{metric},{filter}"
        found = [r.value for r in self.published.results if (r.metric, r.stratum) == (name, f"task={task}")]
        return found[0] if found else None


def read_results(document: Any, path: Path, sha256: str) -> Harness:
    """The values of every task and group in a results document. Raises ContractError where one is no number."""
    whole = Part(document, "", str(path), "evalframe import results_DATE.json --format lm-eval --store DIR")
    counts = {task: whole.at("n-samples").at(task).at("effective").count() for task in whole.at("n-samples").names()}
    results = [result for task in whole.at("results").names() for result in _results(whole, task, counts.get(task))]
    model = whole.at("model_name").text()
    published = Published(
        path.name,
        sha256,
        FORMAT,
        results,
        tags={} if model is None else {"model": model},
        head={name: whole.at(name).value for name in _HEAD if whole.at(name).value is not None},
    )
    return Harness(published, dict(_delimiters(whole)), {task: n for task, n in counts.items() if n is not None})


def _delimiters(whole: Part) -> Iterator[tuple[str, str]]:
    """By task; none for a task that was asked through a chat template, which may take the delimiter away."""
    if whole.at("chat_template").value is not None:
        return
    for task in whole.at("configs").names():
        given = whole.at("configs").at(task).at("target_delimiter").value
        if isinstance(given, str):
            yield task, given


def _results(whole: Part, task: str, n_samples: int | None) -> Iterator[Result]:
    values = whole.at("results").at(task)
    for written in values.names():
        name, _, filter = written.partition(",")
        if written in _NO_METRICS or name.endswith(_STDERR):
            continue
        error = f"{name}{_STDERR}" + (f",{filter}" if filter else "")
        higher = whole.at("higher_is_better").at(task).at(name).truth()
        yield Result(
            metric=name if filter in ("", "none") else written,
            stratum=f"task={task}",
            value=_number(values.at(written)),
            details=spelled({key: values.at(key).value for key in (written, error) if key in values.fields()}),
            evaluation=task,
            better={True: "higher", False: "lower", None: "none"}[higher],
            standard_error=_number(values.at(error)),
            n_samples=n_samples,
        )


def _number(value: Part) -> float | None:
    """A finite number; the harness writes N/A, and NaN, where there is none."""
    if isinstance(value.value, str) or value.value != value.value:
        return None
    return value.number()
