"""The identities that one record is held to. Each yields (metric, found, expected) for what cannot be."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from evalframe.audit.values import Identity, Record, Reported
from evalframe.audit.values_bounds import COUNTED, bounds, is_count

Faults = Iterator[tuple[str, str, str]]


def _in_range(record: Record) -> Faults:
    for name, number in record.numbers.items():
        limits = bounds(name)
        if limits is not None and not number.near(*limits):
            yield name, repr(number.value), f"{limits[0]:g} to {limits[1]:g}"


def _whole_counts(record: Record) -> Faults:
    for name, number in record.numbers.items():
        if is_count(name) and number.value != math.floor(number.value):
            yield name, repr(number.value), "a whole number"


def _quotient(record: Record) -> Faults:
    for name, number in record.numbers.items():
        top, bottom = number.numerator, number.denominator
        if top is None or bottom is None:
            continue
        if bottom == 0:
            yield name, f"{number.value!r} over a denominator of 0", "no value: nothing was divided"
        elif not number.near(top / bottom):
            yield name, repr(number.value), f"{top:g} / {bottom:g} = {top / bottom!r}"
        elif name in COUNTED and not 0 <= top <= bottom:
            yield name, f"{top:g} of {bottom:g}", "a part of the denominator"


def _share_of_items(record: Record) -> Faults:
    for name, number in record.numbers.items():
        n = record.items(name) if name in COUNTED else None
        if n is None or n <= 0 or number.slack * n >= 0.5:
            continue
        nearest = round(number.value * n)
        if not number.near(nearest / n):
            yield name, f"{number.value!r} x {n} = {number.value * n:.6g}", "a whole number of items, within rounding"


def _exclusions(record: Record) -> Faults:
    for name, number in record.numbers.items():
        for part in ("n_excluded", "n_failed"):
            count = getattr(number, part)
            if count is not None and number.n_items is not None and not 0 <= count <= number.n_items:
                yield name, f"{part} {count} of {number.n_items} items", "a part of the items"


def _macro_between(record: Record) -> Faults:
    macro = record.numbers.get("macro_f1")
    worst, best = record.numbers.get("worst_class_f1"), record.numbers.get("best_class_f1")
    if macro is None:
        return
    if worst is not None and macro.high < worst.low:
        yield "macro_f1", repr(macro.value), f"at least the worst class's F1, {worst.value!r}"
    if best is not None and macro.low > best.high:
        yield "macro_f1", repr(macro.value), f"at most the best class's F1, {best.value!r}"


def _harmonic_mean(record: Record) -> Faults:
    for prefix in ("", "failure_"):
        precision, recall, f1 = (record.numbers.get(prefix + name) for name in ("precision", "recall", "f1"))
        if precision is None or recall is None or f1 is None:
            continue
        low = _f1(max(precision.low, 0.0), max(recall.low, 0.0))
        high = _f1(precision.high, recall.high)
        if not f1.near(low, high):
            expected = f"{_f1(precision.value, recall.value):.6g} from precision and recall"
            yield prefix + "f1", repr(f1.value), expected


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _counts_of_calls(record: Record) -> Faults:
    numbers = record.numbers
    if not {"tp", "fp", "fn"} <= set(numbers):
        return
    tp, fp, fn = (numbers[name].value for name in ("tp", "fp", "fn"))
    for name, top, bottom in (
        ("precision", tp, tp + fp),
        ("recall", tp, tp + fn),
        ("f1", 2 * tp, 2 * tp + fp + fn),
        ("support", tp + fn, 1),
        ("predicted", tp + fp, 1),
    ):
        if name in numbers and bottom > 0 and not numbers[name].near(top / bottom):
            yield name, repr(numbers[name].value), f"{top / bottom:.6g} from tp, fp and fn"


def _standard_error(record: Record) -> Faults:
    for name, number in record.numbers.items():
        given = record.numbers.get(f"{name}_stderr")
        n = record.items(name)
        if given is None or bounds(name) != (0.0, 1.0) or n is None or n < 2:
            continue
        low, high = _variance_range(number)
        # Both divisors are in use; what is neither is of another n, another p or another thing.
        if not any(given.near(math.sqrt(low / d), math.sqrt(high / d)) for d in (n, n - 1)):
            expected = f"{math.sqrt(number.value * (1 - number.value) / n):.6g} for {number.value!r} of {n}"
            yield f"{name}_stderr", repr(given.value), expected


def _variance_range(number: Reported) -> tuple[float, float]:
    ends = [min(max(p, 0.0), 1.0) for p in (number.low, number.high)]
    spread = [p * (1 - p) for p in ends]
    return min(spread), 0.25 if ends[0] <= 0.5 <= ends[1] else max(spread)


def _calibration(record: Record) -> Faults:
    numbers = record.numbers
    ece, bias = numbers.get("ece"), numbers.get("confidence_bias")
    accuracy, confidence = numbers.get("accuracy"), numbers.get("mean_confidence")
    same = accuracy is not None and confidence is not None and _of_same_items(accuracy, confidence)
    if accuracy is not None and confidence is not None and same:
        low, high = confidence.low - accuracy.high, confidence.high - accuracy.low
        if bias is not None and not bias.near(low, high):
            yield (
                "confidence_bias",
                repr(bias.value),
                f"{confidence.value - accuracy.value:.6g}: confidence less accuracy",
            )
        if bias is None and ece is not None and ece.high < max(low, -high) - 1e-12:
            yield (
                "ece",
                repr(ece.value),
                f"at least |confidence - accuracy| = {abs(confidence.value - accuracy.value):.6g}",
            )
    if ece is not None and bias is not None and ece.high < abs(bias.value) - bias.slack - 1e-12:
        yield "ece", repr(ece.value), f"at least |confidence_bias| = {abs(bias.value):.6g}"


def _of_same_items(one: Reported, other: Reported) -> bool:
    if one.n_items is None or other.n_items is None:
        return True
    return one.n_items == other.n_items and not one.n_failed and not one.n_excluded and not other.n_excluded


def _complement(record: Record) -> Faults:
    right, wrong = record.numbers.get("accuracy_at_0_9"), record.numbers.get("error_rate_at_0_9")
    if right is not None and wrong is not None and not wrong.near(1 - right.high, 1 - right.low):
        yield "error_rate_at_0_9", repr(wrong.value), f"{1 - right.value:.6g}: what accuracy_at_0_9 leaves"


def _selective(record: Record) -> Faults:
    numbers = record.numbers
    tight, loose = numbers.get("coverage_at_error_0.01"), numbers.get("coverage_at_error_0.05")
    if tight is not None and loose is not None and tight.low > loose.high:
        yield "coverage_at_error_0.05", repr(loose.value), f"at least that of the smaller budget, {tight.value!r}"
    for share in ("0.5", "0.8"):
        covered = numbers.get(f"selective_coverage_{share}")
        # A row on which the model failed is never accepted, so that failures may leave less to accept.
        if covered is not None and not covered.n_failed and covered.high < float(share):
            yield f"selective_coverage_{share}", repr(covered.value), f"at least {share}"


_SUMS = {
    "n_response_candidates": (
        *("n_response", "n_no_response", "n_response_censored", "n_response_invalid", "n_response_empty_window"),
    ),
    "n_yield_candidates": (*("n_yield", "n_continue", "n_yield_censored", "n_yield_invalid", "n_yield_empty_window"),),
}
_PARTS = {
    "n_short_resume": "n_no_response",
    "n_response_truncated": "n_response",
    "n_yield_truncated": "n_yield",
}
_TRIGGERS = {
    "no_response_trigger": "n_no_response",
    "short_resume_trigger": "n_short_resume",
    "continue_false_stop": "n_continue",
}
_RECALLS = {"response": "n_response", "yield": "n_yield"}


def _candidates(record: Record) -> Faults:
    numbers = record.numbers
    for total, parts in _SUMS.items():
        if total in numbers and all(part in numbers for part in parts):
            added = sum(numbers[part].value for part in parts)
            if added != numbers[total].value:
                yield total, repr(numbers[total].value), f"{added:g}: the sum of {', '.join(parts)}"
    for part, whole in _PARTS.items():
        if part in numbers and whole in numbers and numbers[part].value > numbers[whole].value:
            yield part, repr(numbers[part].value), f"at most {whole}, {numbers[whole].value:g}"


def _triggers(record: Record) -> Faults:
    numbers = record.numbers
    for name, number in numbers.items():
        if match := re.fullmatch(r"(\w+)_count_at_recall_([\d.]+)", name):
            whole = numbers.get(_TRIGGERS.get(match[1], ""))
            rate = numbers.get(f"{match[1]}_rate_at_recall_{match[2]}")
            if whole is None:
                continue
            if number.value > whole.value:
                yield name, repr(number.value), f"at most {_TRIGGERS[match[1]]}, {whole.value:g}"
            elif rate is not None and whole.value > 0 and not rate.near(number.value / whole.value):
                expected = f"{number.value:g} / {whole.value:g} = {number.value / whole.value:.6g}"
                yield f"{match[1]}_rate_at_recall_{match[2]}", repr(rate.value), expected
        elif match := re.fullmatch(r"(response|yield)_recall_[\d.]+", name):
            whole = numbers.get(_RECALLS[match[1]])
            if whole is not None and whole.value > 0 and number.slack * whole.value < 0.5:
                nearest = round(number.value * whole.value)
                if not number.near(nearest / whole.value):
                    found = f"{number.value!r} x {whole.value:g} = {number.value * whole.value:.6g}"
                    yield name, found, f"a whole number of {_RECALLS[match[1]]}"


IDENTITIES = (
    Identity(
        "in_range",
        "A proportion lies in [0, 1], a correlation in [-1, 1], a class-sum Brier score in [0, 2].",
        _in_range,
    ),
    Identity("whole_counts", "Counts are whole numbers.", _whole_counts),
    Identity("value_is_quotient", "A value is its numerator over its denominator, and a share is a part.", _quotient),
    Identity(
        "share_of_items", "A share of n items times n is whole, within the digits it is written with.", _share_of_items
    ),
    Identity("exclusions_within_items", "What is left out or failed is part of the items.", _exclusions),
    Identity("macro_between_classes", "Macro-F1 lies between the worst and the best class.", _macro_between),
    Identity("f1_is_harmonic_mean", "F1 is the harmonic mean of precision and recall.", _harmonic_mean),
    Identity(
        "rates_follow_from_counts", "Precision, recall, F1 and supports follow from tp, fp and fn.", _counts_of_calls
    ),
    Identity("standard_error", "The standard error of a proportion is that of its p and n.", _standard_error),
    Identity("calibration", "Bias is confidence less accuracy, and ECE is at least its size.", _calibration),
    Identity("complement", "Accuracy and error rate over the same rows add up to 1.", _complement),
    Identity(
        "selective_order", "A larger error budget covers no less; a share f of the rows covers at least f.", _selective
    ),
    Identity("candidates_add_up", "Every candidate is scored, censored, invalid or without a window.", _candidates),
    Identity("triggers_within_events", "Trigger counts and recalls are parts of the events they are about.", _triggers),
)
