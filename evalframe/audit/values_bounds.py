"""How numbers are called and what they can be at all: from the units of the metrics, and usual names beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache

from evalframe.relations import catalogue

Bounds = tuple[float, float]

_OF_UNIT: Mapping[str, Bounds] = {
    "proportion": (0.0, 1.0),
    "probability": (0.0, 1.0),
    "correlation": (-1.0, 1.0),
    "squared probability": (0.0, 1.0),
}
_SPECIAL: Mapping[str, Bounds] = {
    "confidence_bias": (-1.0, 1.0),
    "brier": (0.0, 2.0),
    "objective": (-math.inf, 0.0),
}
_USUAL = {
    *("precision", "recall", "f1", "sensitivity", "specificity", "auc", "roc_auc", "auroc", "ap", "average_precision"),
    *(
        "micro_f1",
        "weighted_f1",
        "macro_precision",
        "macro_recall",
        "best_class_f1",
        "balanced_accuracy",
        "top_1",
        "top_5",
        "mean_confidence",
    ),
}
_ALIASES = {
    "acc": "accuracy",
    "mean_conf": "mean_confidence",
    "ranked_probability_score": "rps",
    "f1_score": "f1",
    "f1_macro": "macro_f1",
    "brier_score": "brier",
    "coverage_at_1pct_error": "coverage_at_error_0.01",
    "coverage_at_5pct_error": "coverage_at_error_0.05",
    "log_loss": "nll",
}

COUNTED = frozenset(
    {
        *("accuracy", "recall", "failure_accuracy", "failure_precision", "failure_recall", "confident_error_rate"),
        *("coverage_at_0_9", "accuracy_at_0_9", "error_rate_at_0_9", "error_rate_at_0_95", "error_rate_at_0_99"),
        *("coverage_at_error_0.01", "coverage_at_error_0.05", "flip_rate", "both_correct_rate", "invariance_rate"),
        *("invariant_both_correct_rate", "control_both_correct_rate", "perturbation_flip_rate"),
        *("selective_coverage_0.5", "selective_coverage_0.8", "selective_accuracy_0.5", "selective_accuracy_0.8"),
        *("response_recall", "yield_recall", "response_recall_full_horizon", "yield_recall_full_horizon"),
        *(
            f"{name}_rate_at_recall{part}"
            for name in ("no_response_trigger", "short_resume_trigger", "continue_false_stop")
            for part in ("", "_full_horizon")
        ),
    }
)
"""Shares of a number of items: times that number they are whole."""

_FLOOR_RATE = re.compile(r"(response|yield)_recall_[\d.]+|\w+_rate_at_recall_[\d.]+")
_FLOOR_COUNT = re.compile(r"n_\w+|\w+_count_at_recall_[\d.]+")


def name_of(column: str) -> str:
    """The one name of a metric that is written in several ways."""
    plain = re.sub(r"[\s\-]+", "_", column.strip().lower())
    stem, error = re.fullmatch(r"(.*?)((?:_(?:se|sem|stderr|std_error|standard_error))?)", plain, re.S).groups()  # type: ignore[union-attr]
    return _ALIASES.get(stem, stem) + ("_stderr" if error else "")


def is_count(name: str) -> bool:
    """Whether the name is that of a number of things."""
    return name in ("n", "support", "predicted", "tp", "fp", "fn", "tn") or bool(_FLOOR_COUNT.fullmatch(name))


def bounds(name: str) -> Bounds | None:
    """The smallest and largest value that the number can have; None for a name that nothing is known of."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in _USUAL or _FLOOR_RATE.fullmatch(name):
        return (0.0, 1.0)
    if is_count(name):
        return (0.0, math.inf)
    unit = _units().get(name)
    return None if unit is None else _OF_UNIT.get(unit, (0.0, math.inf))


@cache
def _units() -> dict[str, str]:
    return {each.published: each.unit or "" for each in catalogue().of_layer("metric")}
