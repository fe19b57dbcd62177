"""The small lattice of conventions by which the same predictions give other numbers. None of them is used for scoring.

How metrics are defined stands in sql/. This says how they are commonly got wrong, so that a recorded number can be
recognised: another class universe, another value for 0/0, a window more or less, another run, fewer bits, per cent,
fewer digits. Each is one step away from the definition.

A class falls into one of four cells by whether it occurs in the truth and among the predictions. Where it occurs in
both, its score is never in doubt; a convention is what it makes of the other three.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Treatment = Literal["zero", "one", "out"]
"""What a class counts as: 0, 1, or not at all."""

Treatments = tuple[Treatment, Treatment, Treatment]
"""For classes in the truth only, among the predictions only, in neither."""

Width = Literal["float64", "float32", "float16"]
Digits = Literal["all", "rounded", "truncated"]

UNIVERSES: Mapping[str, tuple[bool, bool, bool]] = {
    "vocabulary": (True, True, True),
    "observed": (True, True, False),
    "truth": (True, False, False),
    "predicted": (False, True, False),
}
"""Which classes are averaged: all; those in the truth or among the predictions; those in the truth; the predicted."""

DIVISIONS = ("0", "1", "left out")
DROPS: Mapping[str, slice] = {
    "": slice(None),
    "without the first window": slice(1, None),
    "without the last window": slice(None, -1),
}
_BASE_UNIVERSE = {
    "macro_f1": "observed",
    "balanced_accuracy": "truth",
    "worst_class_f1": "vocabulary",
}


@dataclass(frozen=True)
class Counts:
    """Windows per class of one evaluation set: true ones, predicted ones, hits; each [K]."""

    support: NDArray[np.int64]
    predicted: NDArray[np.int64]
    hits: NDArray[np.int64]

    @classmethod
    def of(cls, truth: NDArray[np.int64], guess: NDArray[np.int64], classes: int) -> Counts:
        """Counted from class indices; a guess of -1 is a failed window, a miss of its true class."""
        return cls(
            np.bincount(truth, minlength=classes),
            np.bincount(guess[guess >= 0], minlength=classes),
            np.bincount(truth[truth == guess], minlength=classes),
        )


@dataclass(frozen=True)
class Convention:
    """One definition of one metric, some steps away from the right one. source: whose predictions, "" the model's own.

    names: what each step is called. Equal in all but names is the same definition.
    """

    treatments: Treatments
    source: str = ""
    drop: str = ""
    percent: bool = False
    width: Width = "float64"
    digits: Digits = "all"
    names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What tells definitions apart."""
        return (self.treatments, self.source, self.drop, self.percent, self.width, self.digits)

    @property
    def steps(self) -> int:
        """How far it is from the definition."""
        return len(self.names)


@cache
def class_conventions(metric: str) -> tuple[Convention, ...]:
    """Every way to treat classes that differs for this metric; the first is the definition, with no steps."""
    if metric not in _BASE_UNIVERSE:  # accuracy asks for no class
        return (Convention(("zero", "out", "out")),)
    base = _BASE_UNIVERSE[metric]
    found: dict[Treatments, list[tuple[str, ...]]] = {}
    for universe, division in product(sorted(UNIVERSES, key=lambda name: name != base), DIVISIONS):
        names = tuple(
            name
            for name, moved in (
                (f"classes: {universe}", universe != base),
                (f"0/0 is {division}", division != "0"),
            )
            if moved
        )
        found.setdefault(_treatments(metric, universe, division), []).append(names)
    conventions = []
    for treatments, spelled in found.items():
        fewest = min(len(names) for names in spelled)
        same = [names for names in spelled if len(names) == fewest]
        names = same[0] if fewest != 1 else (" = ".join(name for (name,) in same),)
        conventions.append(Convention(treatments, names=names))
    return tuple(conventions)


def _treatments(metric: str, universe: str, division: str) -> Treatments:
    within = UNIVERSES[universe]
    made: list[Treatment] = []
    for cell, inside in enumerate(within):
        truth_only, absent = cell == 0, cell == 2
        # Recall is 0/0 without truth. F1 is for absent classes alone, but where 0/0 is left out, so is an F1 that is
        # made of it: precision of classes never predicted, recall of classes that never occur.
        recall = metric == "balanced_accuracy"
        undefined = not truth_only if recall else absent or division == "left out"
        treatment: Treatment = "zero"
        if not inside or (undefined and division == "left out"):
            treatment = "out"
        elif undefined and division == "1":
            treatment = "one"
        # A minimum does not see a class that scores 1.
        made.append("out" if metric == "worst_class_f1" and treatment == "one" else treatment)
    return (made[0], made[1], made[2])


def value(metric: str, counts: Counts, treatments: Treatments) -> float | None:
    """The metric of these counts when classes are so treated; None where nothing is left to average."""
    if metric == "accuracy":
        n = int(counts.support.sum())
        return float(counts.hits.sum()) / n if n else None
    scores = class_scores(metric, counts, treatments)
    counted = scores[~np.isnan(scores)]
    if not len(counted):
        return None
    return float(counted.min() if metric == "worst_class_f1" else counted.mean())


def class_scores(metric: str, counts: Counts, treatments: Treatments) -> NDArray[np.float64]:
    """The score of each class as it is counted, NaN for a class that is not: what tells conventions apart on a run."""
    below = counts.support if metric == "balanced_accuracy" else counts.support + counts.predicted
    above = counts.hits if metric == "balanced_accuracy" else 2 * counts.hits
    scores = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
    true, guessed = counts.support > 0, counts.predicted > 0
    for treatment, cell in zip(treatments, (true & ~guessed, ~true & guessed, ~true & ~guessed), strict=True):
        scores[cell] = {"zero": 0.0, "one": 1.0, "out": np.nan}[treatment]
    return scores


def spelled(number: float, convention: Convention) -> tuple[float, ...]:
    """What a program that keeps `number` so would write: as per cent, in fewer bits (whole, or as float32 prints).

    A float16 prints four digits, which is what rounding leaves as well: only its whole value tells it.
    """
    number = number * 100 if convention.percent else number
    if convention.width == "float32":
        return (float(np.float32(number)), float(str(np.float32(number))))
    return (float(np.float16(number)),) if convention.width == "float16" else (number,)


def further(convention: Convention) -> Iterator[Convention]:
    """Conventions one step further, along the axes that are not about classes or runs and are not used yet."""
    if not convention.drop:
        for drop in DROPS:
            if drop:
                yield replace(convention, drop=drop, names=(*convention.names, f"partition {drop}"))
    if not convention.percent:
        yield replace(convention, percent=True, names=(*convention.names, "per cent"))
    if convention.width == "float64":
        yield replace(convention, width="float32", names=(*convention.names, "float32"))
        yield replace(convention, width="float16", names=(*convention.names, "float16"))
    if convention.digits == "all":
        yield replace(convention, digits="rounded", names=(*convention.names, "rounded"))
        yield replace(convention, digits="truncated", names=(*convention.names, "truncated"))
