"""Marks beside the numbers of a paper's table, and the legend that says by which method each was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalframe.compare.reading import BETTER, UNCLEAR, WORSE, reading
from evalframe.verbs.drawing import figures

ALPHA = 0.05
TIED = "tied_with_best"
NOT_SEPARABLE = "not separable from the best: the 95 % interval of the difference holds 0"

_SIGNS = {BETTER: "▲", WORSE: "▼", UNCLEAR: "·"}
_TESTS = {
    "swap_exact": "paired cluster swap permutation, all patterns",
    "swap_mc": "paired cluster swap permutation, random patterns",
    "mcnemar_exact": "exact McNemar test on paired items",
    "mcnemar_midp": "mid-p McNemar test on paired items",
    "wilcoxon": "Wilcoxon signed-rank test on paired runs",
}
"""How `method` starts -> what it is called in a paper."""


def of_comparison(rows: Sequence[Mapping[str, Any]], shown: pa.Table, m: int) -> pa.Table:
    """`shown` with the column `marks` behind the change. rows: the full rows of the same comparison."""
    marks = ["".join(mark for mark, applies, _ in _marks(m) if applies(row)) for row in rows]
    place = shown.column_names.index("change") + 1
    return shown.add_column(place, "marks", pa.array(marks, pa.large_string()))


def legend_of_comparison(rows: Sequence[Mapping[str, Any]], m: int, replicates: int) -> list[str]:
    """One line per mark that stands in the table, and how intervals and p-values were made."""
    lines = [f"{mark} {said}" for mark, applies, said in _marks(m) if any(map(applies, rows))]
    tests = sorted({_test(row["method"]) for row in rows if row["p_value"] is not None and row["method"]})
    if tests:
        lines.append(f"p_value: {'; '.join(tests)}")
    units = sorted({f"{row['cluster']} ({row['n_clusters']})" for row in rows if row["ci_low"] is not None})
    if units:
        lines.append(
            "ci_low, ci_high: 95 % percentile interval of the change, paired cluster bootstrap over"
            f" {', '.join(units)}, {replicates} replicates"
        )
    return lines


def for_a_screen(rows: Sequence[Mapping[str, Any]], marks: Sequence[str]) -> dict[str, pa.Array]:
    """Columns for a terminal: how a change reads, the change and its interval, both sides, p, marks, why it is none."""
    changes, lows, highs = _signed([[row[name] for row in rows] for name in ("change", "ci_low", "ci_high")])
    text = {
        "reads": [_read(row) for row in rows],
        "change": changes,
        "95 % interval": _between(lows, highs),
        "p Holm": [_p(row["p_adjusted"]) for row in rows],
        "baseline → candidate": _sides(rows),
        "p": [_p(row["p_value"]) for row in rows],
        "marks": list(marks),
        "reason": [row["reason"] for row in rows],
    }
    return {name: pa.array(column, pa.large_string()) for name, column in text.items()}


def of_leaderboard(shown: pa.Table) -> pa.Table:
    """`shown` with a mark, in place of true and false, for each run that is tied with the best."""
    if TIED not in shown.column_names:
        return shown
    columns = (shown[TIED].to_pylist(), shown["rank"].to_pylist())
    marks = ["=" if tied and rank != 1 else "" for tied, rank in zip(*columns, strict=True)]
    return shown.set_column(shown.column_names.index(TIED), TIED, pa.array(marks, pa.large_string()))


def legend_of_leaderboard(paper: pa.Table, replicates: int) -> list[str]:
    """What the mark means, where one stands in the table."""
    if TIED not in paper.column_names or "=" not in paper[TIED].to_pylist():
        return []
    return [f"= {NOT_SEPARABLE} (paired cluster bootstrap, {replicates} replicates)"]


def _sides(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    texts = figures([row[side] for row in rows for side in ("baseline", "candidate")])
    both = zip(texts[::2], texts[1::2], strict=True)
    return [f"{first or 'none'} → {second or 'none'}" if first or second else "" for first, second in both]


def bounds(lows: Sequence[float | None], highs: Sequence[float | None]) -> pa.Array:
    """Both ends of an interval in one cell."""
    return pa.array(_between(*_signed([lows, highs])), pa.large_string())


def _between(lows: Sequence[str], highs: Sequence[str]) -> list[str]:
    return [f"{low} to {high}" if low else "" for low, high in zip(lows, highs, strict=True)]


def _signed(columns: Sequence[Sequence[float | None]]) -> list[list[str]]:
    """Columns of one kind of number, all with equally many decimals and a sign."""
    values = [value for column in columns for value in column]
    texts = iter(
        f"+{text}" if value and value > 0 else text for value, text in zip(values, figures(values), strict=True)
    )
    return [[next(texts) for _ in column] for column in columns]


def _read(row: Mapping[str, Any]) -> str:
    if row["status"] != "ok":
        return str(row["status"])
    if row["ci_low"] is None:
        return ""
    word = reading(row)
    return f"{_SIGNS[word]} {word}"


def _p(value: float | None) -> str:
    return "" if value is None else "<0.0001" if value < 1e-4 else f"{value:.4f}"


def _marks(m: int) -> list[tuple[str, Any, str]]:
    """(mark, whether a row has it, what it says)."""
    return [
        (
            "*",
            lambda row: row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA,
            f"p below {ALPHA} after Holm's adjustment over {m} tests",
        ),
        ("†", lambda row: "few_clusters" in row["flags"], "few clusters: read the interval with care"),
        ("‡", lambda row: row["status"] == "refused", "refused: the runs answer different questions; see reason"),
        ("§", lambda row: row["status"] == "undefined", "undefined: see reason; not zero"),
        ("¶", lambda row: "tainted" in row["flags"], "tainted: the protocol was bent on request"),
        ("#", lambda row: "differs_from_frozen" in row["flags"], "differs from the recorded value"),
        (
            "↓",
            lambda row: "recall_lost" in row["flags"],
            "reached a lower recall than the baseline: the error rates are not at one recall",
        ),
        ("+", lambda row: "additional" in row["flags"], "additional test on items, outside Holm's family"),
    ]  # fmt: skip


def _test(method: str) -> str:
    head = method.partition(",")[0].strip()
    for name, said in _TESTS.items():
        if head.startswith(name):
            return method.replace(head, said, 1)
    return method
