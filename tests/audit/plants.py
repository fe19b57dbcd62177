"""What is planted in the sidecars of a release: one cause each, with what an audit must say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.audit.releases import CLASSES, Release, scores


@dataclass(frozen=True)
class Plant:
    """A change of the sidecar of `model`, and what is to be found: metric, status, a part of each explanation told."""

    model: str
    metric: str
    status: str
    told: tuple[str, ...]
    put: Callable[[Release], object]


def all_plants() -> list[Plant]:
    """One of each cause, each on a model of its own; the two swapped runs are one plant each."""
    return [
        Plant("random-ADL-Wrist-f0-s0", "macro_f1", "explained", ("classes: vocabulary",), _universe),
        Plant("random-ADL-Wrist-f0-s1", "macro_f1", "explained", ("classes: vocabulary + 0/0 is 1",), _zero_division),
        Plant("random-ADL-Wrist-f1-s0", "macro_f1", "explained", ("rounded",), _rounded),
        Plant("random-ADL-Wrist-f1-s1", "accuracy", "explained", ("truncated",), _truncated),
        Plant("random-ADL-Wrist-f1-s2", "balanced_accuracy", "explained", ("float32",), _float32),
        Plant("random-ADL-Wrist-f2-s0", "macro_f1", "explained", ("per cent",), _per_cent),
        Plant("random-ADL-Wrist-f2-s1", "macro_f1", "explained", ("per cent + rounded",), _per_cent_rounded),
        Plant("random-ADL-Wrist-f2-s2", "macro_f1", "explained", ("without the last window",), _short),
        Plant("random-PPG-f1-s0", "macro_f1", "explained", ("swapped with run random-PPG-f1-s1",), _swapped),
        Plant("random-PPG-f1-s1", "macro_f1", "explained", ("swapped with run random-PPG-f1-s0",), lambda _: None),
        Plant("evolution-PPG-f1-s0", "macro_f1", "explained", ("partition off by one: fold 2",), _next_fold),
        Plant("evolution-PPG-f1-s1", "accuracy", "ambiguous", ("rounded",), _two_digits),
        Plant("evolution-PPG-f2-s0", "macro_f1", "unexplained", (), _drifted),
        Plant("evolution-PPG-f2-s1", "worst_class_f1", "unexplained", (), _not_a_number),
        Plant(
            COINCIDENCE, "macro_f1", "ambiguous", ("0/0 is left out", "partition without the last window"), _coincidence
        ),
    ]


COINCIDENCE = "coincidence"


def _value(release: Release, model: str, metric: str) -> float:
    return float(release.frozen[model][metric])


def _put(release: Release, model: str, metric: str, value: object) -> None:
    release.sidecars[model][metric] = value


def _universe(release: Release) -> None:
    model = "random-ADL-Wrist-f0-s0"
    _put(release, model, "macro_f1", _value(release, model, "macro_f1") * (len(CLASSES) - 1) / len(CLASSES))


def _zero_division(release: Release) -> None:
    model = "random-ADL-Wrist-f0-s1"
    mean, seen = _value(release, model, "macro_f1"), len(CLASSES) - 1
    _put(release, model, "macro_f1", (mean * seen + 1) / len(CLASSES))


def _rounded(release: Release) -> None:
    model = "random-ADL-Wrist-f1-s0"
    _put(release, model, "macro_f1", round(_value(release, model, "macro_f1"), 5))


def _truncated(release: Release) -> None:
    model = "random-ADL-Wrist-f1-s1"
    value = _value(release, model, "accuracy")
    cut = {digits: int(value * 10**digits) / 10**digits for digits in range(5, 10)}
    _put(release, model, "accuracy", next(each for digits, each in cut.items() if _is_cut(each, value, digits)))


def _is_cut(cut: float, value: float, digits: int) -> bool:
    """Another number than rounding gives, written with all its digits: a last 0 would not be written."""
    return cut != round(value, digits) and len(repr(cut)) == digits + 2


def _float32(release: Release) -> None:
    model = "random-ADL-Wrist-f1-s2"
    _put(release, model, "balanced_accuracy", float(np.float32(_value(release, model, "balanced_accuracy"))))


def _per_cent(release: Release) -> None:
    model = "random-ADL-Wrist-f2-s0"
    _put(release, model, "macro_f1", 100 * _value(release, model, "macro_f1"))


def _per_cent_rounded(release: Release) -> None:
    model = "random-ADL-Wrist-f2-s1"
    _put(release, model, "macro_f1", round(100 * _value(release, model, "macro_f1"), 3))


def _short(release: Release) -> None:
    model = "random-ADL-Wrist-f2-s2"
    truth, guess = release.windows[model]
    _put(release, model, "macro_f1", scores(truth[:-1], guess[:-1], len(CLASSES))["macro_f1"])


def _swapped(release: Release) -> None:
    a, b = "random-PPG-f1-s0", "random-PPG-f1-s1"
    release.sidecars[a], release.sidecars[b] = dict(release.frozen[b]), dict(release.frozen[a])


def _next_fold(release: Release) -> None:
    _put(release, "evolution-PPG-f1-s0", "macro_f1", _value(release, "evolution-PPG-f2-s0", "macro_f1"))


def _two_digits(release: Release) -> None:
    model = "evolution-PPG-f1-s1"
    _put(release, model, "accuracy", round(_value(release, model, "accuracy"), 2))


def _drifted(release: Release) -> None:
    model = "evolution-PPG-f2-s0"
    _put(release, model, "macro_f1", _value(release, model, "macro_f1") + 0.0123456789)


def _not_a_number(release: Release) -> None:
    _put(release, "evolution-PPG-f2-s1", "worst_class_f1", float("nan"))


def _coincidence(release: Release) -> None:
    """The last window alone is of class `run`, and alone is taken for `row`: without it neither class is there, and
    with 0/0 left out neither is counted. The other classes score the same."""
    truth = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 3])
    guess = np.array([0, 1, 2, 0, 2, 2, 0, 1, 1, 6])
    release.add(COINCIDENCE, truth, guess, ["p"] * 10, method="m", dataset="alone", fold="0", seed="0")
    release.sidecars[COINCIDENCE]["macro_f1"] = scores(truth[:-1], guess[:-1], len(CLASSES))["macro_f1"]
