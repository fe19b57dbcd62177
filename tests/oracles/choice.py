"""Choice questions scored by hand: plain loops over row dicts and exact fractions, written from the text.

A row is the JSON object that a run writes per question. Sums are exact (a float is a fraction; logarithms are rounded
once, then summed exactly) and divided once at the end. Nothing here may be taken from, or shared with, the SQL.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

Row = Mapping[str, Any]
Undefined = Literal["no_items", "no_rows_above_cutoff", "no_pairs"]
Value = float | Undefined


@dataclass(frozen=True)
class Choices:
    """The parameters of the protocol."""

    ties: Literal["prefix", "groups"] = "groups"
    failed: Literal["wrong", "excluded"] = "wrong"
    nll_floor: float = 1e-9
    n_bins: int = 10
    bin_rule: Literal["left_closed", "right_closed", "truncated"] = "left_closed"
    temperature: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """One question and what became of it, worked out once for all populations. confidence is None where it failed."""

    row: Row
    place: int
    labelled: bool
    confidence: float | None
    correct: bool
    p: Sequence[float] | None

    @cached_property
    def brier(self) -> Fraction:
        """Sum over options of (p - 1 where it is the label, else p) squared."""
        assert self.p is not None
        return exact_sum((Fraction(x) - (k == self.row["label"])) ** 2 for k, x in enumerate(self.p))

    @cached_property
    def score_error(self) -> Fraction:
        """Distance of the expected option from the label."""
        assert self.p is not None
        return abs(exact_sum(k * Fraction(x) for k, x in enumerate(self.p)) - self.row["label"])

    @cached_property
    def rps(self) -> Fraction:
        """Mean over thresholds of (probability below it - whether the label is below it) squared."""
        assert self.p is not None
        below, gaps = Fraction(0), []
        for threshold, x in enumerate(self.p[:-1], start=1):
            below += Fraction(x)
            gaps.append((below - (self.row["label"] < threshold)) ** 2)
        return exact_sum(gaps) / len(gaps)


def exact_sum(terms: Iterable[float | Fraction | int]) -> Fraction:
    """The sum, over one denominator: reducing the fraction after each term takes most of the time."""
    ratios = [term.as_integer_ratio() for term in terms]
    whole = math.lcm(*(below for _, below in ratios))
    return Fraction(sum(above * (whole // below) for above, below in ratios), whole)


# ---- ingest ---------------------------------------------------------------------------------------------------------


def ingest(p: Sequence[float]) -> tuple[list[float], float] | None:
    """Probabilities as kept and their sum as given; None where they are refused."""
    if not all(math.isfinite(x) and 0 <= x <= 1 for x in p):
        return None
    total = math.fsum(p)
    if abs(total - 1) > max(1e-5, 0.005 * len(p) + 1e-8) or total < 0.5:
        return None
    return (list(map(float, p)) if abs(total - 1) <= 1e-12 else [x / total for x in p]), total


def tempered(p: Sequence[float], temperature: float) -> list[float]:
    """Softmax of the floored log probabilities over the temperature; at 1 the probabilities as they are.

    Powers are added from the smallest up, so that equal answers with their options in another order stay tied.
    """
    if temperature == 1:
        return list(p)
    z = [math.log(max(x, 1e-9)) for x in p]
    powers = [math.exp((value - max(z)) / temperature) for value in z]
    total = sum(sorted(powers))
    return [power / total for power in powers]


def outcomes(rows: Sequence[Row], choices: Choices = Choices()) -> list[Outcome]:
    """What became of every row, in order."""
    found = []
    for place, row in enumerate(rows):
        labelled = row.get("label") is not None and row.get("source") != "unknowable"
        if row["p"] is None:
            found.append(Outcome(row, place, labelled, None, False, None))
            continue
        kept = ingest(row["p"])
        assert kept is not None
        p = tempered(kept[0], choices.temperature)
        found.append(Outcome(row, place, labelled, max(p), labelled and p.index(max(p)) == row["label"], p))
    return found


# ---- populations ----------------------------------------------------------------------------------------------------


def variant(row: Row) -> str:
    return row.get("variant") or "clean"


def strata(row: Row, fields: Sequence[str]) -> set[str]:
    """Every population that the row belongs to. fields: those of task, type, source that some row of the run has."""
    names = {"all", f"variant={variant(row)}"}
    if variant(row) == "clean":
        names |= {"clean", "unknowable" if row.get("source") == "unknowable" else "headline"}
        names |= {f"{field}={row.get(field) or ''}" for field in fields}
    return names


def populations(found: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Stratum -> its outcomes, in order. The four named populations are there even when empty."""
    members: dict[str, list[Outcome]] = {name: [] for name in ("all", "clean", "headline", "unknowable")}
    fields = [field for field in ("task", "type", "source") if any(o.row.get(field) for o in found)]
    for outcome in found:
        for name in strata(outcome.row, fields):
            members.setdefault(name, []).append(outcome)
    return members


# ---- scalar metrics -------------------------------------------------------------------------------------------------


def mean(values: Sequence[float | Fraction | int]) -> Value:
    if not values:
        return "no_items"
    return float(exact_sum(values) / len(values))


def in_order(items: Sequence[Outcome], choices: Choices) -> list[list[Outcome]]:
    """Labelled answers by falling confidence, in the groups that are accepted together."""
    answered = [o for o in items if o.labelled and o.confidence is not None]
    by_row = choices.ties == "prefix"
    keyed: dict[tuple[float, int], list[Outcome]] = defaultdict(list)
    for outcome in answered:
        assert outcome.confidence is not None
        keyed[-outcome.confidence, outcome.place if by_row else 0].append(outcome)
    return [keyed[key] for key in sorted(keyed)]


def counted(items: Sequence[Outcome], choices: Choices) -> int:
    """Labelled rows in the denominator: failed ones too, unless they are excluded."""
    return sum(o.labelled and (o.confidence is not None or choices.failed == "wrong") for o in items)


def metrics(items: Sequence[Outcome], choices: Choices = Choices()) -> dict[str, Value]:
    """Every metric of one population. score_mae and rps are absent where no row has type score."""
    labelled = [o for o in items if o.labelled]
    answered = [o for o in labelled if o.confidence is not None]
    sure = [o for o in answered if o.confidence is not None and o.confidence >= 0.9]
    n = counted(items, choices)
    n_all = sum(o.confidence is not None or choices.failed == "wrong" for o in items)
    hits = sum(o.correct for o in answered)

    def share(part: int, whole: int, empty: Undefined = "no_items") -> Value:
        return float(Fraction(part, whole)) if whole else empty

    unreached: Undefined = "no_rows_above_cutoff" if n else "no_items"
    bias = [Fraction(o.confidence or 0.0) - o.correct for o in answered]
    out: dict[str, Value] = {
        "accuracy": share(hits, n),
        "mean_confidence": mean([o.confidence for o in items if o.confidence is not None]),
        "confidence_bias": mean(bias),
        "nll": mean([-math.log(max(_at_label(o), choices.nll_floor)) for o in answered]),
        "brier": mean([o.brier for o in answered]),
        "ece": _ece(answered, choices),
        "confident_error_rate": share(sum(not o.correct for o in sure), n),
        "coverage_at_0_9": share(sum(o.confidence is not None and o.confidence >= 0.9 for o in items), n_all),
        "accuracy_at_0_9": share(sum(o.correct for o in sure), len(sure), unreached),
        "coverage_at_error_0.01": _coverage(items, choices, Fraction(1, 100)),
        "coverage_at_error_0.05": _coverage(items, choices, Fraction(5, 100)),
        "aurc": _aurc(items, choices),
    }
    for name, cut in (("0_9", 0.9), ("0_95", 0.95), ("0_99", 0.99)):
        above = [o for o in answered if o.confidence is not None and o.confidence >= cut]
        out[f"error_rate_at_{name}"] = share(sum(not o.correct for o in above), len(above), unreached)
    for name, fraction in (("0.5", Fraction(1, 2)), ("0.8", Fraction(4, 5))):
        out[f"selective_coverage_{name}"], out[f"selective_accuracy_{name}"] = _selective(items, choices, fraction)
    scale = [o for o in items if o.row["type"] == "score"]
    if scale:
        scored = [o for o in scale if o.labelled and o.p is not None]
        out["score_mae"] = mean([o.score_error for o in scored])
        out["rps"] = mean([o.rps for o in scored])
    return out


def _at_label(o: Outcome) -> float:
    assert o.p is not None
    return o.p[o.row["label"]]


def bin_of(confidence: float, n_bins: int = 10, rule: str = "left_closed") -> int:
    """The bin of a confidence, counted along the edges linspace(0, 1, n + 1)."""
    if rule == "truncated":
        return min(int(confidence * n_bins), n_bins - 1)
    edges = [*(i * (1.0 / n_bins) for i in range(n_bins)), 1.0]
    below = sum(edge <= confidence if rule == "left_closed" else edge < confidence for edge in edges)
    return min(max(below, 1), n_bins) - 1


def bins(items: Sequence[Outcome], choices: Choices = Choices()) -> list[tuple[int, int, Fraction]]:
    """Per bin: rows, right ones, exact sum of confidences; of labelled answers."""
    table: list[list[tuple[bool, float]]] = [[] for _ in range(choices.n_bins)]
    for o in items:
        if o.labelled and o.confidence is not None:
            table[bin_of(o.confidence, choices.n_bins, choices.bin_rule)].append((o.correct, o.confidence))
    return [(len(one), sum(right for right, _ in one), exact_sum(sure for _, sure in one)) for one in table]


def _ece(answered: Sequence[Outcome], choices: Choices) -> Value:
    if not answered:
        return "no_items"
    gaps = [abs(right - total) for _, right, total in bins(answered, choices)]  # n_b/n * |right/n_b - total/n_b|
    return float(exact_sum(gaps) / len(answered))


def _coverage(items: Sequence[Outcome], choices: Choices, budget: Fraction) -> Value:
    n = counted(items, choices)
    if n == 0:
        return "no_items"
    accepted = errors = best = 0
    for group in in_order(items, choices):
        accepted += len(group)
        errors += sum(not o.correct for o in group)
        if errors * budget.denominator <= budget.numerator * accepted:
            best = accepted
    return float(Fraction(best, n))


def _aurc(items: Sequence[Outcome], choices: Choices) -> Value:
    """Whole tie groups, whatever the policy of the coverages: a tied order would be the rows' order."""
    n = counted(items, choices)
    groups = in_order(items, Choices(failed=choices.failed))
    if not groups:
        return "no_rows_above_cutoff" if n else "no_items"
    accepted = errors = 0
    area = []
    for group in groups:
        accepted += len(group)
        errors += sum(not o.correct for o in group)
        area.append(len(group) * Fraction(errors, accepted))
    return float(exact_sum(area) / n)


def _selective(items: Sequence[Outcome], choices: Choices, fraction: Fraction) -> tuple[Value, Value]:
    """Coverage and accuracy above the max(1, ceil(f n))-th largest confidence, ties included."""
    n = counted(items, choices)
    if n == 0:
        return "no_items", "no_items"
    wanted = max(1, math.ceil(fraction * n))
    ranked = sorted((o.confidence for o in items if o.labelled and o.confidence is not None), reverse=True)
    if not ranked:
        return "no_rows_above_cutoff", "no_rows_above_cutoff"
    cutoff = ranked[min(wanted, len(ranked)) - 1]
    above = [o for o in items if o.labelled and o.confidence is not None and o.confidence >= cutoff]
    return float(Fraction(len(above), n)), float(Fraction(sum(o.correct for o in above), len(above)))


# ---- pairs, perturbations, controls, families -----------------------------------------------------------------------


def prediction(o: Outcome) -> str | None:
    """The key of the first largest probability."""
    return None if o.p is None else o.row["keys"][o.p.index(max(o.p))]


def truth(o: Outcome) -> str | None:
    return o.row["keys"][o.row["label"]] if o.labelled else None


def _question(row: Row) -> str:
    return row.get("question") or "decision"


def pairs(found: Sequence[Outcome], choices: Choices = Choices()) -> dict[str, Value]:
    """Contrastive pairs over clean rows; a failed side predicts nothing, so it neither flips nor holds."""
    sides: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for o in found:
        if variant(o.row) == "clean" and o.row.get("pair_id"):
            sides[o.row["pair_id"], _question(o.row)].append(o)
    complete = [pair for pair in sides.values() if len(pair) == 2 and all(truth(o) is not None for o in pair)]
    relevant = [pair for pair in complete if truth(pair[0]) != truth(pair[1])]
    invariant = [pair for pair in complete if truth(pair[0]) == truth(pair[1])]

    def both_predict(pair: Sequence[Outcome]) -> bool:
        return all(prediction(o) is not None for o in pair)

    def rate(kind: Sequence[Sequence[Outcome]], holds: Callable[[Sequence[Outcome]], bool]) -> Value:
        chosen = [pair for pair in kind if choices.failed == "wrong" or both_predict(pair)]
        return float(Fraction(sum(map(holds, chosen)), len(chosen))) if chosen else "no_pairs"

    def flipped(pair: Sequence[Outcome]) -> bool:
        return both_predict(pair) and prediction(pair[0]) != prediction(pair[1])

    def held(pair: Sequence[Outcome]) -> bool:
        return both_predict(pair) and prediction(pair[0]) == prediction(pair[1])

    def right(pair: Sequence[Outcome]) -> bool:
        return all(o.correct for o in pair)

    return {
        "pairs": float(len(relevant)),
        "flip_rate": rate(relevant, flipped),
        "both_correct_rate": rate(relevant, right),
        "invariant_pairs": float(len(invariant)),
        "invariance_rate": rate(invariant, held),
        "invariant_both_correct_rate": rate(invariant, right),
        "incomplete_pairs": float(len(sides) - len(complete)),
    }


def perturbations(found: Sequence[Outcome], of: str | None = None) -> dict[str, Value]:
    """Perturbed rows, of one variant or of all, against the row they were made from, options aligned by key."""
    by_name = {(o.row["id"], _question(o.row)): o for o in found}
    changes, flips = [], []
    for o in found:
        parent = by_name.get((o.row.get("parent"), _question(o.row)))
        if of is not None and variant(o.row) != of:
            continue
        if variant(o.row) == "clean" or parent is None or parent is o or o.p is None or parent.p is None:
            continue
        before = dict(zip(parent.row["keys"], parent.p, strict=True))
        after = dict(zip(o.row["keys"], o.p, strict=True))
        if before.keys() == after.keys():
            changes.append(max(abs(after[key] - before[key]) for key in before))
            flips.append(prediction(o) != prediction(parent))
    if not changes:
        return dict.fromkeys(
            ("perturbation_change", "largest_perturbation_change", "perturbation_flip_rate"), "no_pairs"
        )
    return {
        "perturbation_change": mean(changes),
        "largest_perturbation_change": max(changes),
        "perturbation_flip_rate": float(Fraction(sum(flips), len(flips))),
    }


def controls(found: Sequence[Outcome], choices: Choices = Choices()) -> dict[str, Value]:
    """Rows against the row whose id is their control_id."""
    by_name = {(o.row["id"], _question(o.row)): o for o in found}
    named = [o for o in found if o.row.get("control_id")]
    matched = [(o, by_name[key]) for o in named if (key := (o.row["control_id"], _question(o.row))) in by_name]
    judged = [pair for pair in matched if all(truth(o) is not None for o in pair)]
    predicted = [pair for pair in matched if all(prediction(o) is not None for o in pair)]
    if choices.failed == "excluded":
        judged = [pair for pair in judged if pair in predicted]
    return {
        "control_pairs": float(len(matched)),
        "incomplete_control_pairs": float(len(named) - len(matched)),
        "control_both_correct_rate": float(Fraction(sum(a.correct and b.correct for a, b in judged), len(judged)))
        if judged
        else "no_pairs",
        "control_flip_rate": float(Fraction(sum(prediction(a) != prediction(b) for a, b in predicted), len(predicted)))
        if predicted
        else "no_pairs",
    }


def family_balanced_accuracy(items: Sequence[Outcome], choices: Choices = Choices()) -> Value:
    """Plain mean over families of the mean recall over the gold keys that occur."""
    hits: dict[str, dict[str | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for o in items:
        if o.labelled and (o.confidence is not None or choices.failed == "wrong"):
            hits[o.row.get("family") or o.row.get("task") or ""][truth(o)].append(o.correct)
    recalls = [
        exact_sum(Fraction(sum(right), len(right)) for right in keys.values()) / len(keys) for keys in hits.values()
    ]
    return mean(recalls)


def objective(found: Sequence[Outcome], choices: Choices = Choices()) -> Value:
    """Minus the plain mean over tasks of the nll of their clean labelled rows."""
    losses: dict[str, list[float]] = defaultdict(list)
    for o in found:
        if variant(o.row) == "clean" and o.labelled and o.p is not None:
            losses[o.row.get("task") or ""].append(-math.log(max(_at_label(o), choices.nll_floor)))
    means = [exact_sum(part) / len(part) for part in losses.values()]
    value = mean(means)
    return value if isinstance(value, str) else -value
