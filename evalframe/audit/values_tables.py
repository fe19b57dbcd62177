"""Stored result tables as records, and what ties values to the confusion counts and bins that stand beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from evalframe.audit.values import Finding, Record, Reported

_KEY = ("run_id", "protocol_fingerprint", "origin", "source_digest", "stratum", "horizon_s", "recall", "step")
_COUNTS = ("numerator", "denominator", "n_items", "n_excluded", "n_failed")
_CONFUSION = ("target_index", "predicted_index")

Group = tuple[str, str | None, str]
"""run_id, protocol_fingerprint, stratum."""


def records(values: pa.Table, source: str = "metric_values") -> Iterator[Record]:
    """One record for each run, protocol, origin, stratum, horizon, recall and step of `metric_values`."""
    groups: dict[tuple[Any, ...], dict[str, Reported]] = defaultdict(dict)
    for row in values.to_pylist():
        if row["value"] is not None:
            counts = {name: row[name] for name in _COUNTS}
            groups[tuple(row[name] for name in _KEY)][row["metric"]] = Reported.exact(row["value"], **counts)
    for key, numbers in groups.items():
        yield Record(source, str(key[0]), _place(dict(zip(_KEY, key, strict=True))), numbers)


def confusion_findings(confusion: pa.Table, values: pa.Table) -> Iterator[Finding]:
    """Confusion counts against the values of their run: supports, right predictions, macro-F1 between the classes."""
    source = "class_confusion_by_cluster"
    reported = _by_group(values)
    for group, cells in _grouped(confusion, _CONFUSION, "n").items():
        run, fingerprint, stratum = group
        place = _place({"protocol_fingerprint": fingerprint, "stratum": stratum})

        def told(
            identity: str, metric: str, found: object, expected: str, run: str = run, place: str = place
        ) -> Finding:
            return Finding(identity, source, None, run, place, metric, str(found), expected)

        if negative := [cell for cell, n in cells.items() if n < 0]:
            yield told("whole_counts", "n", f"{cells[negative[0]]} in cell {negative[0]}", "no negative count")
            continue
        values_here = reported.get(group, {})
        total = sum(cells.values())
        right = sum(n for (target, predicted), n in cells.items() if target == predicted)
        accuracy = values_here.get("accuracy")
        if accuracy is None or accuracy.n_failed:
            continue  # whether a failed item counts is a parameter, which these tables do not hold
        if accuracy.denominator is not None and accuracy.denominator != total:
            support = f"{accuracy.denominator:g}: the support"
            yield told("confusion_sums", "accuracy", f"{total} in the confusion matrix", support)
        if total and not accuracy.near(right / total):
            yield told("confusion_sums", "accuracy", accuracy.value, f"{right} / {total} on the diagonal")
        scores = _class_f1(cells)
        macro, worst = values_here.get("macro_f1"), values_here.get("worst_class_f1")
        if scores and macro is not None and not macro.near(min(scores.values()), max(scores.values())):
            low, high = min(scores.values()), max(scores.values())
            yield told("macro_between_classes", "macro_f1", macro.value, f"{low:.6g} to {high:.6g}: the classes' F1")
        if scores and worst is not None and worst.low > min(scores.values()):
            yield told("macro_between_classes", "worst_class_f1", worst.value, f"at most {min(scores.values()):.6g}")


def bin_findings(bins: pa.Table, values: pa.Table) -> Iterator[Finding]:
    """Confidence bins: right answers and confidences fit their bin, and ECE is what they add up to."""
    reported = _by_group(values)
    groups: dict[Group, list[dict[str, Any]]] = defaultdict(list)
    for row in bins.to_pylist():
        groups[row["run_id"], row["protocol_fingerprint"], row["stratum"]].append(row)
    for group, rows in groups.items():
        run, fingerprint, stratum = group
        place = _place({"protocol_fingerprint": fingerprint, "stratum": stratum})
        for row in rows:
            mean = float(row["confidence_sum"]) / row["n"] if row["n"] else row["lo"]
            where = f"{place} bin={row['bin']}"
            if not 0 <= row["correct"] <= row["n"]:
                yield Finding(
                    "bins", "choice_bins", None, run, where, "correct", str(row["correct"]), f"0 to {row['n']}"
                )
            if not row["lo"] - 1e-12 <= mean <= row["hi"] + 1e-12:
                bounds = f"{row['lo']:g} to {row['hi']:g}"
                yield Finding("bins", "choice_bins", None, run, where, "confidence_sum", f"mean {mean!r}", bounds)
        ece, n = reported.get(group, {}).get("ece"), sum(row["n"] for row in rows)
        if ece is not None and n:
            gap = sum(abs(row["correct"] - float(row["confidence_sum"])) for row in rows) / n
            if not ece.near(gap):
                yield Finding("bins", "choice_bins", None, run, place, "ece", repr(ece.value), f"{gap!r} from its bins")


def _by_group(values: pa.Table) -> Mapping[Group, Mapping[str, Reported]]:
    found: dict[Group, dict[str, Reported]] = defaultdict(dict)
    for row in values.to_pylist():
        if row["value"] is not None and row["protocol_fingerprint"] is not None:
            counts = {name: row[name] for name in _COUNTS}
            key = (row["run_id"], row["protocol_fingerprint"], row["stratum"])
            found[key][row["metric"]] = Reported.exact(row["value"], **counts)
    return found


def _grouped(table: pa.Table, columns: tuple[str, ...], n: str) -> dict[Group, dict[tuple[Any, ...], int]]:
    """Summed over clusters."""
    key = ("run_id", "protocol_fingerprint", "stratum")
    summed = table.select([*key, *columns, n]).group_by([*key, *columns]).aggregate([(n, "sum"), (n, "min")])
    found: dict[Group, dict[tuple[Any, ...], int]] = defaultdict(dict)
    for row in summed.to_pylist():
        # A negative count may not hide in the sum of others.
        count = row[f"{n}_min"] if row[f"{n}_min"] < 0 else row[f"{n}_sum"]
        found[row["run_id"], row["protocol_fingerprint"], row["stratum"]][tuple(row[c] for c in columns)] = count
    return found


def _class_f1(cells: Mapping[tuple[Any, ...], int]) -> dict[Any, float]:
    """F1 of every class that is met in truth or prediction."""
    support: dict[Any, int] = defaultdict(int)
    predicted: dict[Any, int] = defaultdict(int)
    for (target, said), n in cells.items():
        support[target] += n
        if said is not None:
            predicted[said] += n
    met = [label for label in {*support, *predicted} if support[label] + predicted[label]]
    return {label: 2 * cells.get((label, label), 0) / (support[label] + predicted[label]) for label in met}


def _place(parts: Mapping[str, Any]) -> str:
    """`stratum=all horizon_s=0.2 ...`; a fingerprint is cut to what tells it from others."""
    cut = {
        name: str(value)[:20] if name.endswith(("fingerprint", "digest")) else value for name, value in parts.items()
    }
    return " ".join(f"{name}={value}" for name, value in cut.items() if value is not None and name != "run_id")
