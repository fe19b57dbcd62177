"""Result tables of any origin, as CSV: long (one metric a line), wide (one run a line), or per class of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evalframe.audit.inventory import text_columns
from evalframe.audit.values import Finding, Record, Reported
from evalframe.audit.values_bounds import bounds, name_of
from evalframe.contracts import Contract, read_table
from evalframe.errors import MissingField

_RUN = ("run_id", "model_id", "run", "model", "name", "method", "system")
_ITEMS = ("n", "n_items", "n_windows", "n_test", "count", "total", "n_samples", "n_trajectories")
_CLASS = ("class", "label", "class_name")
_PLACE = ("stratum", "dataset", "fold", "seed", "split", "setting", "step", "horizon_s", "decision_timing", "protocol",
          "protocol_fingerprint", "origin", "source_digest", "recall")  # fmt: skip
"""What a line is about. Where lines are runs or classes, the last one is a result."""
_COUNTS = ("numerator", "denominator", "n_items", "n_excluded", "n_failed")
_SUMMARIES = {"macro avg": "macro_", "weighted avg": "weighted_", "micro avg": "micro_", "accuracy": "overall_"}
_AS_WRITTEN = Contract("results", "", "", columns=(), key=(), references=())

Line = Mapping[str, str]


def read_lines(path: Path) -> tuple[list[str], list[Line]]:
    """Column names as written, and every line as text by name. Raises InputError for a file that cannot be read."""
    names = list(read_table(_AS_WRITTEN, path).column_names)
    cells = text_columns(path, names)
    rows = len(cells[names[0]]) if names else 0
    return names, [{name: cells[name][row] for name in names} for row in range(rows)]


def read_records(path: Path) -> tuple[list[Record], list[Finding]]:
    """The records of a CSV file, and what its confusion matrix says against its own supports.

    Raises MissingField where no column has a name that any identity knows.
    """
    names, lines = read_lines(path)
    plain = {name: name_of(name) for name in names}
    if {"metric", "value"} <= set(plain.values()):
        return list(_long(path.name, [{plain[name]: cell for name, cell in line.items()} for line in lines])), []
    per_class = next((name for name in names if plain[name] in _CLASS), None)
    known = [name for name in names if bounds(plain[name]) is not None or "stderr" in plain[name]]
    matrix = [] if per_class is None else [name for name in names if name in {line[per_class] for line in lines}]
    if not known and not matrix:
        raise MissingField(
            f"{path.name} reports nothing that an identity is known for",
            expected="columns metric and value, or metrics by name: accuracy, macro_f1, precision, recall, f1, ece ...",
            found=", ".join(names) or "nothing",
            where=str(path),
            hint="evalframe explain metric_values",
        )
    # A class may be called `run`: its column is a column of the matrix, not the name of a run.
    named = {name: plain[name] for name in names if name not in matrix}
    made = [_wide(path.name, row, line, named, per_class) for row, line in enumerate(lines, 1)]
    if per_class is None:
        return made, []
    extra = list(_over_classes(made, [line[per_class] for line in lines]))
    return [*made, *extra], list(_matrix(path.name, made, lines, per_class, matrix))


def _long(source: str, lines: Sequence[Line]) -> Iterator[Record]:
    groups: dict[tuple[tuple[str, str], ...], dict[str, Reported]] = defaultdict(dict)
    runs: dict[tuple[tuple[str, str], ...], str] = {}
    for row, line in enumerate(lines, 1):
        counts = {name: _number(line.get(name, "")) for name in _COUNTS}
        whole = {name: int(x) if x is not None and name.startswith("n_") else x for name, x in counts.items()}
        if whole["n_items"] is None and (n := next((_number(line[name]) for name in _ITEMS if name in line), None)):
            whole["n_items"] = int(n)
        number = Reported.written(line["value"], row, **whole)
        key = tuple((name, line[name]) for name in (*_RUN, *_PLACE) if line.get(name))
        if number is not None:
            groups[key][name_of(line["metric"])] = number
            runs[key] = _run(line)
    for key, numbers in groups.items():
        place = " ".join(f"{name}={text[:20]}" for name, text in key if name in _PLACE)
        yield Record(source, runs[key], place, numbers)


def _wide(source: str, row: int, line: Line, plain: Mapping[str, str], per_class: str | None) -> Record:
    named = {plain[name]: line[name] for name in plain}
    # A summary line averages the other lines: what holds of a class need not hold of its means.
    prefix = _SUMMARIES.get(line[per_class].lower(), "") if per_class else ""
    numbers = {}
    for name, text in named.items():
        number = Reported.written(text, row) if name not in (*_PLACE[:-1], *_RUN, *_CLASS) else None
        if number is not None:
            numbers[prefix + name] = number
    sized = ("support", *_ITEMS) if per_class else _ITEMS
    n = next((_number(named[name]) for name in sized if named.get(name)), None)
    parts = [f"{name}={named[name]}" for name in (*_PLACE[:-1], *_CLASS) if named.get(name)]
    return Record(source, _run(named), " ".join(parts), numbers, n=None if n is None else int(n), row=row)


def _over_classes(made: Sequence[Record], classes: Sequence[str]) -> Iterator[Record]:
    """A line that sums up (`macro avg`) beside the worst and best of the class lines of its run."""
    by_run: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    for label, record in zip(classes, made, strict=True):
        by_run[record.run].append((label, record))
    for run, lines in by_run.items():
        scores = [r.numbers["f1"] for label, r in lines if label.lower() not in _SUMMARIES and "f1" in r.numbers]
        macro = next((r.numbers["macro_f1"] for _, r in lines if "macro_f1" in r.numbers), None)
        if scores and macro is not None:
            worst, best = min(scores, key=lambda s: s.value), max(scores, key=lambda s: s.value)
            numbers = {"macro_f1": macro, "worst_class_f1": worst, "best_class_f1": best}
            yield Record(lines[0][1].source, run, "over its classes", numbers, row=macro.row)


def _matrix(
    source: str, made: Sequence[Record], lines: Sequence[Line], per_class: str, matrix: Sequence[str]
) -> Iterator[Finding]:
    """Columns named like the classes are a confusion matrix: rows are truth, columns prediction."""
    if len(matrix) < 2:
        return
    by_run: dict[str, list[tuple[int, Line, Record]]] = defaultdict(list)
    for row, (line, record) in enumerate(zip(lines, made, strict=True), 1):
        if line[per_class] in matrix:
            by_run[record.run].append((row, line, record))
    for run, members in by_run.items():
        columns = {name: sum(_number(line[name]) or 0 for _, line, _ in members) for name in matrix}
        for row, line, record in members:
            told = {"support": sum(_number(line[name]) or 0 for name in matrix), "predicted": columns[line[per_class]]}
            for name, total in told.items():
                number = record.numbers.get(name)
                if number is not None and number.value != total:
                    place, found = f"class={line[per_class]}", f"{number.value:g}"
                    yield Finding(
                        "confusion_sums", source, row, run, place, name, found, f"{total:g} in the confusion matrix"
                    )
            hits = _number(line[line[per_class]]) or 0
            recall = record.numbers.get("recall")
            if recall is not None and told["support"] and not recall.near(hits / told["support"]):
                place, expected = f"class={line[per_class]}", f"{hits:g} / {told['support']:g}"
                yield Finding("confusion_sums", source, row, run, place, "recall", repr(recall.value), expected)


def _run(line: Line) -> str:
    return next((line[name] for name in _RUN if line.get(name)), "")


def _number(text: str) -> float | None:
    number = Reported.written(text)
    return None if number is None else number.value
