"""Window classification counted by hand: plain loops and exact fractions, written from the text of the definitions.

A window is (participant, true class, predicted class); classes are positions in the vocabulary, a predicted class of
None is a window on which the model failed. Nothing here may be taken from, or shared with, the SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Policy = Literal["wrong", "excluded"]


@dataclass(frozen=True)
class Window:
    """One evaluated window."""

    participant: str
    target: int
    predicted: int | None


@dataclass(frozen=True)
class ClassScore:
    """What one class comes to. precision, recall: None where nothing was predicted, or nothing was there."""

    support: int
    predicted: int
    hits: int
    precision: Fraction | None
    recall: Fraction | None
    f1: Fraction

    @property
    def seen(self) -> bool:
        """The class occurs among the labels or among the predictions."""
        return self.support > 0 or self.predicted > 0


def scored(windows: Sequence[Window], policy: Policy) -> list[Window]:
    """The windows that count. `wrong` keeps a failed window: its class was missed, and no class was predicted."""
    if policy == "wrong":
        return list(windows)
    return [window for window in windows if window.predicted is not None]


def class_score(windows: Sequence[Window], c: int) -> ClassScore:
    """True positives, false positives and false negatives of class `c`, counted one window at a time."""
    tp = fp = fn = 0
    for window in windows:
        if window.target == c and window.predicted == c:
            tp += 1
        elif window.predicted == c:
            fp += 1
        elif window.target == c:
            fn += 1
    return ClassScore(
        support=tp + fn,
        predicted=tp + fp,
        hits=tp,
        precision=Fraction(tp, tp + fp) if tp + fp else None,
        recall=Fraction(tp, tp + fn) if tp + fn else None,
        f1=Fraction(2 * tp, 2 * tp + fp + fn) if tp + fp + fn else Fraction(0),
    )


def per_class(windows: Sequence[Window], classes: int, policy: Policy = "wrong") -> list[ClassScore]:
    """Every class of the vocabulary, also those that nobody did and nobody predicted."""
    counted = scored(windows, policy)
    return [class_score(counted, c) for c in range(classes)]


def confusion(windows: Sequence[Window], classes: int) -> list[list[int]]:
    """Rows are true classes, columns predicted ones. Failed windows stand in no cell."""
    matrix = [[0] * classes for _ in range(classes)]
    for window in windows:
        if window.predicted is not None:
            matrix[window.target][window.predicted] += 1
    return matrix


def n_failed(windows: Sequence[Window]) -> int:
    """Windows without a prediction, whatever the policy."""
    return sum(window.predicted is None for window in windows)


def accuracy(windows: Sequence[Window], classes: int, policy: Policy = "wrong") -> Fraction | None:
    """Correctly classified windows divided by all evaluated windows; None without windows."""
    counted = scored(windows, policy)
    if not counted:
        return None
    return Fraction(sum(window.target == window.predicted for window in counted), len(counted))


def macro_f1(windows: Sequence[Window], classes: int, policy: Policy = "wrong") -> Fraction | None:
    """Average F1 over classes observed in the ground truth or the predictions."""
    return mean([score.f1 for score in per_class(windows, classes, policy) if score.seen])


def balanced_accuracy(windows: Sequence[Window], classes: int, policy: Policy = "wrong") -> Fraction | None:
    """Mean recall over classes present in the ground truth."""
    return mean([score.recall for score in per_class(windows, classes, policy) if score.recall is not None])


def worst_class_f1(windows: Sequence[Window], classes: int, policy: Policy = "wrong") -> Fraction | None:
    """Minimum F1 over the complete vocabulary; an absent class has F1 zero. None without windows."""
    if not scored(windows, policy):
        return None
    return min(score.f1 for score in per_class(windows, classes, policy))


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """The exact mean; None of nothing."""
    return sum(values, Fraction(0)) / len(values) if values else None


METRICS = {
    "macro_f1": macro_f1,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "worst_class_f1": worst_class_f1,
}


def item_ids(
    participants: Sequence[str], times: Sequence[float | None], sample_ids: Sequence[str | None]
) -> list[str | None]:
    """The name of each window across runs: its sample id, else its rank in its participant's time, else none.

    Either every window has one kind of name or none has: a half-named set would pair some windows and drop others.
    Windows at equal times keep the order of the rows.
    """
    if all(sample is not None for sample in sample_ids):
        return list(sample_ids)
    if any(time is None for time in times):
        return [None] * len(participants)
    names: list[str | None] = [None] * len(participants)
    for person in set(participants):
        rows = [row for row, who in enumerate(participants) if who == person]
        rows.sort(key=lambda row: times[row])  # Python's sort is stable
        for rank, row in enumerate(rows):
            names[row] = f"{person}#{rank}"
    return names
