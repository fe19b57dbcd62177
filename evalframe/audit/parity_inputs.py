"""What both sides of a parity check are given: seeded batches, one JSON object of fields each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from evalframe.sources.choice_rows import CLEAN, DEFAULT_QUESTION, ChoiceRow, checked_row

Batch = Mapping[str, Any]
"""Fields by name. What a pinned function is called with is named by them; our side is computed from the same."""

BOUNDARIES = (0.0, 1.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
"""Probabilities of the second option in the first rows of a batch; the tenth takes 0.95 and 0.99 in turn. With their
complements they meet every edge of ten bins, the cut-offs of the metrics, and one another: confidences tie."""

_SHARES_RIGHT = (0.6, 0.9, 0.96)
"""How often the first maximum is the right option, batch by batch: an error budget of 5 % has to be met exactly."""

_TYPES = ("choice", "noul", "score")


def choice_batches(
    seed: int, batches: int, rows: int, options: int | None = None, boundaries: bool | Literal["half"] = True
) -> tuple[list[Batch], Batch]:
    """(`batches` batches of `rows` choice questions, one batch of ten pairs) from `default_rng(seed)`.

    Rows mix the three types with 2 to 10 options, or `options` alone; probabilities are Dirichlet's, sharp and flat.
    The first ten rows of a batch (`half`: of every other one) have two options at BOUNDARIES. Five pairs change the
    right option, five do not.
    """
    rng = np.random.default_rng(seed)
    made: list[Batch] = []
    for batch in range(batches):
        tenth = (0.95, 0.99)[batch % 2]
        edges = (*BOUNDARIES, tenth) if boundaries is True or (boundaries == "half" and batch % 2) else ()
        right = _SHARES_RIGHT[batch % 3]
        first = [_boundary(rng, f"{batch}/{row}", edge, row, right) for row, edge in enumerate(edges[:rows])]
        others = [_drawn(rng, f"{batch}/{row}", options, right) for row in range(len(first), rows)]
        made.append(choice_fields([*first, *others]))
    return made, choice_fields(row for pair in range(10) for row in _pair(rng, pair, changed=pair < 5))


def choice_fields(rows: Iterable[Mapping[str, Any]]) -> Batch:
    """`rows` (as they are stored, labelled ones alone) with what functions of arrays ask for.

    probabilities: one list a row; labels: index of the right option; confidences: largest probability; correct: whether
    the first option that has it is the right one.
    """
    checked = [checked_row(row, place, "parity") for place, row in enumerate(rows)]
    kept = [row for row in checked if row.label is not None and row.p is not None and row.source != "unknowable"]
    chances = [row.p or [] for row in kept]
    return {
        "rows": [_as_reference(row) for row in kept],
        "probabilities": chances,
        "labels": [row.label for row in kept],
        "confidences": [max(p) for p in chances],
        "correct": [p.index(max(p)) == row.label for p, row in zip(chances, kept, strict=True)],
    }


def _as_reference(row: ChoiceRow) -> dict[str, Any]:
    """The row as reference code meets it: stored probabilities, and two fields that are counted from them."""
    fields = {name: getattr(row, name) for name in ChoiceRow.__slots__ if name not in ("p_sum", "error")}
    p = row.p or []
    return {**fields, "keys": list(row.keys), "raw_probability_sum": row.p_sum, "zero_count": p.count(0.0)}


def _row(name: str, kind: str, keys: Sequence[str], p: Sequence[float], label: int, **more: str) -> dict[str, Any]:
    row = {"id": name, "question": DEFAULT_QUESTION, "source": "parity", "task": f"{kind} questions", "type": kind}
    return {**row, "group": name, "variant": CLEAN, "keys": list(keys), "p": list(p), "label": label, **more}


def _keys(kind: str, options: int) -> list[str]:
    if kind == "noul":
        return ["false", "true"]
    return [f"option {index}" if kind == "choice" else str(index) for index in range(options)]


def _boundary(rng: np.random.Generator, name: str, chance: float, place: int, right: float) -> dict[str, Any]:
    kind = _TYPES[place % 3]
    p = (1.0 - chance, chance)
    return _row(name, kind, _keys(kind, 2), p, _label(rng, p, right))


def _drawn(rng: np.random.Generator, name: str, options: int | None, right: float) -> dict[str, Any]:
    kind = _TYPES[int(rng.integers(3))] if options is None else "choice"
    size = options or (2 if kind == "noul" else int(rng.integers(2, 11)))
    p = rng.dirichlet(np.full(size, (0.2, 1.0, 5.0)[int(rng.integers(3))])).tolist()
    return _row(name, kind, _keys(kind, size), p, _label(rng, p, right))


def _label(rng: np.random.Generator, p: Sequence[float], right: float) -> int:
    return p.index(max(p)) if rng.random() < right else int(rng.integers(len(p)))


def _pair(rng: np.random.Generator, pair: int, *, changed: bool) -> list[dict[str, Any]]:
    """Two siblings with the same options in opposite order, so that what is compared by position shows."""
    size = int(rng.integers(2, 5))
    keys = _keys("choice", size)
    first = int(rng.integers(size))
    second = (first + 1) % size if changed else first
    rows = []
    for sibling, label, order in (("a", first, 1), ("b", second, -1)):
        p = rng.dirichlet(np.ones(size)).tolist()
        shown = keys[::order]
        name = f"pair {pair}/{sibling}"
        rows.append(_row(name, "choice", shown, p, shown.index(keys[label]), pair_id=f"pair {pair}", sibling=sibling))
    return rows


def window_batches(seed: int, batches: int, rows: int, classes: int) -> list[Batch]:
    """Windows of `classes` classes: y_true and y_pred as indices, labels their range. Every third batch lacks some."""
    rng = np.random.default_rng(seed)
    made: list[Batch] = []
    for batch in range(batches):
        met = classes if batch % 3 else max(1, classes - 2)
        truth = rng.integers(met, size=rows)
        predicted = np.where(rng.random(rows) < 0.6, truth, rng.integers(met, size=rows))
        made.append({"y_true": truth.tolist(), "y_pred": predicted.tolist(), "labels": list(range(classes))})
    return made


def failure_batches(seed: int, batches: int, rows: int) -> list[Batch]:
    """Trajectories: y_true says whether one failed, y_score how likely that was thought; every other batch has ties."""
    rng = np.random.default_rng(seed)
    made: list[Batch] = []
    for batch in range(batches):
        failed = rng.random(rows) < 0.3
        failed[:2] = (True, False)
        score = np.clip(rng.normal(0.4 + 0.2 * failed, 0.25), 0.0, 1.0)
        if batch % 2:
            score = np.round(score, 1)
        made.append({"y_true": failed.tolist(), "y_score": score.tolist()})
    return made
