"""Random choice questions that visit every corner: ties, exact 0 and 1, decimal edges, failures, missing fields."""

from __future__ import annotations

from typing import Any

import numpy as np

Rows = list[dict[str, Any]]

_EDGES = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.9, 0.95, 0.99, 1.0)
_VARIANTS = ("clean", "clean", "clean", "reversed", "wrapped")


def world(seed: int, max_rows: int = 60) -> Rows:
    """Rows of one run. What belongs together (pair, parent, control) shares a group, so that groups can go apart."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([0, 1, 2, int(rng.integers(3, max_rows))], p=[0.05, 0.1, 0.1, 0.75]))
    sparse, coarse = rng.random() < 0.3, rng.random() < 0.5
    rows: Rows = []
    while len(rows) < n:
        group = f"g{len(rows)}"
        for _ in range(int(rng.integers(1, 5))):
            rows.append(_row(rng, len(rows), group, rows, sparse, coarse))
    return [rows[i] for i in rng.permutation(len(rows))]


def _row(rng: np.random.Generator, number: int, group: str, before: Rows, sparse: bool, coarse: bool) -> dict[str, Any]:
    kin = [row for row in before if row["group"] == group]
    k = int(rng.integers(2, 12))
    kind = str(rng.choice(["choice", "noul", "score"]))
    row: dict[str, Any] = {
        "id": f"q{number}",
        "group": group,
        "question": "decision",
        "type": kind,
        "keys": [f"k{i}" for i in rng.permutation(k)],
        "label": None if rng.random() < 0.1 else int(rng.integers(0, k)),
        "variant": str(rng.choice(_VARIANTS)),
    }
    if not sparse:
        row["task"] = rng.choice(["t1", "t2", ""]) or None
        row["source"] = rng.choice(["s1", "unknowable", ""]) or None
        row["family"] = rng.choice(["f", ""]) or None
    if kin and rng.random() < 0.6:
        other = kin[int(rng.integers(len(kin)))]
        row["keys"] = list(rng.permutation(other["keys"])) if rng.random() < 0.8 else row["keys"]
        k = len(row["keys"])
        row["label"] = None if row["label"] is None else row["label"] % k
        row["parent"], row["control_id"] = other["id"], other["id"] if rng.random() < 0.5 else "nobody"
    _pair(rng, row, kin)
    if rng.random() < 0.1:
        row |= {"p": None, "error": "timeout"}
    else:
        row["p"] = _probabilities(rng, len(row["keys"]), coarse)
    return row


def _pair(rng: np.random.Generator, row: dict[str, Any], kin: Rows) -> None:
    if rng.random() < 0.5:
        taken = [other for other in kin if other.get("pair_id") and other["variant"] == "clean"]
        side = "ab"[len(taken)] if len(taken) < 2 else None
        if side or row["variant"] != "clean":
            row |= {"pair_id": row["group"], "sibling": side or "a"}
            if taken:
                row["keys"] = list(taken[0]["keys"])
                row["label"] = None if row["label"] is None else row["label"] % len(row["keys"])


def _probabilities(rng: np.random.Generator, k: int, coarse: bool) -> list[float]:
    shape = rng.random()
    if shape < 0.1:
        p = [0.0] * k
        p[int(rng.integers(k))] = 1.0
        return p
    if shape < 0.4:
        top = float(rng.choice(_EDGES))
        rest = (1.0 - top) / (k - 1)
        p = [rest] * k
        p[int(rng.integers(k))] = top
        return p
    if coarse:
        parts = rng.multinomial(20, np.ones(k) / k)
        return [int(part) / 20 for part in parts]
    p = rng.dirichlet(np.full(k, 0.5))
    return [float(x) for x in p]
