"""Progress, failure and filtering by plain loops over exact fractions, written from the text of the protocol.

Every number goes in as a `Fraction` (decimals of few digits), decisions are made on exact values, and one division in
double stands at the end. Nothing here knows how the product computes anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

WINDOW = 5
SCORES = ("pearson", "final", "delta", "slope", "late_mean_delta")


@dataclass(frozen=True)
class Point:
    """One prediction: the frame it was made at, progress and success probability, or neither where the model failed."""

    frame: int
    progress: Fraction | None
    success: Fraction | None


@dataclass(frozen=True)
class Trajectory:
    """One trajectory with its label, its target per frame, and its trace per query task."""

    id: str
    task: str
    outcome: str
    targets: Mapping[int, Fraction]
    traces: Mapping[str, Sequence[Point]] = field(default_factory=dict)

    @property
    def n_frames(self) -> int:
        return max(self.targets) + 1


def prefix_ends(n_frames: int) -> list[int]:
    if n_frames < 2:
        return []
    n = min(8, n_frames - 1)
    if n == 1:
        return [1]
    return [math.floor(1 + Fraction(i * (n_frames - 2), n - 1)) for i in range(n)]


def status(t: Trajectory) -> str:
    points = t.traces.get(t.task, ())
    if t.n_frames < 2:
        return "too_few_points"
    if not points:
        return "missing"
    return "failed" if any(p.progress is None for p in points) else "scored"


# ---- progress -------------------------------------------------------------------------------------------------------


def _pairs(t: Trajectory) -> list[tuple[Fraction, Fraction]]:
    return [(p.progress, t.targets[p.frame]) for p in t.traces[t.task] if p.progress is not None]


def mse(t: Trajectory) -> Fraction:
    pairs = _pairs(t)
    return sum(((p - q) ** 2 for p, q in pairs), Fraction(0)) / len(pairs)


def mae(t: Trajectory) -> Fraction:
    pairs = _pairs(t)
    return sum((abs(p - q) for p, q in pairs), Fraction(0)) / len(pairs)


def average_ranks(values: Sequence[Fraction]) -> list[Fraction]:
    ordered = sorted(values)
    ranks = []
    for v in values:
        places = [i + 1 for i, other in enumerate(ordered) if other == v]
        ranks.append(Fraction(sum(places), len(places)))
    return ranks


def spearman(t: Trajectory) -> float | None:
    pairs = _pairs(t)
    if len(pairs) < 2:
        return None
    a, b = average_ranks([p for p, _ in pairs]), average_ranks([q for _, q in pairs])
    if len(set(a)) == 1 or len(set(b)) == 1:
        return None
    mean = Fraction(len(pairs) + 1, 2)
    product = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    square = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return float(product) / math.sqrt(float(square))


# ---- failure --------------------------------------------------------------------------------------------------------


def trend_and_spread(v: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Covariance sum of v with its index, and (index spread x value spread): r = trend / sqrt(spread)."""
    k = len(v)
    middle, mean = Fraction(k - 1, 2), sum(v, Fraction(0)) / k
    trend = sum(((i - middle) * x for i, x in enumerate(v)), Fraction(0))
    return trend, sum((i - middle) ** 2 for i in range(k)) * sum((x - mean) ** 2 for x in v)


def pearson_at_most(v: Sequence[Fraction], limit: Fraction) -> bool:
    """r <= limit for limit <= 0, exactly: a constant sequence has r = 0."""
    trend, spread = trend_and_spread(v)
    if spread == 0:
        return limit >= 0
    if limit == 0:
        return trend <= 0
    return trend < 0 and trend * trend >= limit * limit * spread


def windows(t: Trajectory) -> list[list[Fraction]]:
    v = [p.progress for p in t.traces[t.task] if p.progress is not None]
    return [v[i : i + WINDOW] for i in range(len(v) - WINDOW + 1)]


def call(t: Trajectory, rule: str, which: str) -> dict[str, object] | None:
    """The failure call and what made it; None where the trajectory is left out."""
    truth = t.outcome == "failure"
    if status(t) in ("too_few_points", "missing"):
        return None
    if status(t) == "failed":
        return {"called": not truth, "fired_window": None, "because": "model_failed"}
    last = t.traces[t.task][-1]
    assert last.progress is not None
    assert last.success is not None
    looked_at = list(enumerate(windows(t)))
    if which == "last":
        looked_at = looked_at[-1:]
    limit = Fraction(0) if rule == "ind" else Fraction(-1, 5)
    fired = [i for i, w in looked_at if pearson_at_most(w, limit)]
    final = last.success <= Fraction(1, 2) if rule == "ind" else last.progress < Fraction(1, 2)
    called = bool(fired) and final if rule == "ind" else bool(fired) or final
    because = {(True, True): "window_and_final", (True, False): "window", (False, True): "final"}
    return {
        "called": called,
        "fired_window": fired[0] if fired else None,
        "because": because.get((bool(fired), final), "neither"),
    }


def failure_scores(trajectories: Sequence[Trajectory]) -> list[tuple[bool, Fraction]]:
    """(is failure, 1 - final success probability) of the scored trajectories."""
    scored = [t for t in trajectories if status(t) == "scored"]
    finals = [t.traces[t.task][-1].success for t in scored]
    return [(t.outcome == "failure", 1 - s) for t, s in zip(scored, finals, strict=True) if s is not None]


def roc_auc(scores: Sequence[tuple[bool, Fraction]]) -> float | None:
    positive = [s for truth, s in scores if truth]
    negative = [s for truth, s in scores if not truth]
    if not positive or not negative:
        return None
    half_wins = sum(2 if p > n else 1 if p == n else 0 for p in positive for n in negative)
    return half_wins / (2 * len(positive) * len(negative))


def average_precision(scores: Sequence[tuple[bool, Fraction]]) -> float | None:
    n_positive = sum(truth for truth, _ in scores)
    if not n_positive:
        return None
    area, seen = Fraction(0), 0
    for threshold in sorted({s for _, s in scores}, reverse=True):
        accepted = [truth for truth, s in scores if s >= threshold]
        area += Fraction(sum(accepted) - seen, n_positive) * Fraction(sum(accepted), len(accepted))
        seen = sum(accepted)
    return float(area)


# ---- filtering ------------------------------------------------------------------------------------------------------


def signed_square(value: Fraction, spread: Fraction) -> Fraction:
    """Orders like value / sqrt(spread) without a root."""
    return abs(value) * value / spread


def filter_scores(trace: Sequence[Point]) -> dict[str, Fraction | None]:
    """What ranks a candidate, per score, in exact terms; the final point is not used."""
    undefined: dict[str, Fraction | None] = dict.fromkeys(SCORES)
    if any(p.progress is None for p in trace):
        return undefined
    v = [p.progress for p in trace if p.progress is not None][:-1]
    k = len(v)
    if k >= 1:
        undefined["final"] = v[-1]
    if k >= 2:
        trend, spread = trend_and_spread(v)
        undefined["delta"] = v[-1] - v[0]
        undefined["slope"] = trend / sum((i - Fraction(k - 1, 2)) ** 2 for i in range(k))
        late = v[k - math.ceil(k / 2) :]
        undefined["late_mean_delta"] = (sum(late, Fraction(0)) / len(late) + v[-1] - v[0]) / 2
        if spread:
            undefined["pearson"] = signed_square(trend, spread)
    return undefined


def top_k(trajectories: Sequence[Trajectory], query_task: str, score: str, k: int) -> Fraction:
    """Share of correct items among the top k of one query task, ties at the cut sharing the places left."""
    pool = [t for t in trajectories if t.traces.get(query_task)]
    ranked = [(filter_scores(t.traces[query_task])[score], t) for t in pool]
    groups: list[list[Trajectory]] = [
        [t for s, t in ranked if s == value] for value in sorted({s for s, _ in ranked if s is not None}, reverse=True)
    ]
    groups.append([t for s, t in ranked if s is None])
    free, correct = k, Fraction(0)
    for group in groups:
        hits = sum(t.task == query_task and t.outcome == "success" for t in group)
        if group and free > 0:
            taken = min(free, len(group))
            correct += Fraction(taken * hits, len(group))
            free -= taken
    return correct / k
