"""Two exports of one data set, aspect by aspect: signals, participants, labels, order within participants, time values.

Times may be seconds in one and ordinals in the other. What a sequence decoder uses is the order they give, so the
permutation is an aspect that decides and the values are one that is only told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalframe.sources.signals import LabelledWindows

ASPECTS = ("signals", "participants", "labels", "permutation", "time")
DECIDING = ("signals", "participants", "labels", "permutation")


@dataclass(frozen=True)
class Aspect:
    """One finding. equal: None where it could not be compared. n_different: of n_compared windows. reason: in words."""

    name: str
    equal: bool | None
    n_compared: int | None = None
    n_different: int | None = None
    reason: str | None = None

    @property
    def decides(self) -> bool:
        """Whether a difference makes two exports unequal."""
        return self.name in DECIDING


def compare_windows(a: LabelledWindows, b: LabelledWindows) -> tuple[Aspect, ...]:
    """The five findings, in the order of ASPECTS. Windows are compared where they stand in the files."""
    return (_signals(a, b), _participants(a, b), _labels(a, b), _permutation(a, b), _time(a, b))


def are_equal(aspects: tuple[Aspect, ...]) -> bool:
    """Whether nothing that decides differs, and signals, participants and labels were compared."""
    return all(aspect.equal is not False for aspect in aspects if aspect.decides)


def _signals(a: LabelledWindows, b: LabelledWindows) -> Aspect:
    x, y = a.signals, b.signals
    if x.dtype != y.dtype or x.shape != y.shape:
        return Aspect("signals", False, reason=f"{x.dtype} {list(x.shape)} against {y.dtype} {list(y.shape)}")
    if x.size == 0:
        return Aspect("signals", True, len(x), 0)
    # Bytes, so that -0.0 is not 0.0: the same input and not an equal one.
    rows = [np.ascontiguousarray(each).reshape(len(each), -1).view(np.uint8) for each in (x, y)]
    return _counted("signals", (rows[0] != rows[1]).any(axis=1))


def _participants(a: LabelledWindows, b: LabelledWindows) -> Aspect:
    if len(a.participants) != len(b.participants):
        return _lengths("participants", a, b)
    return _counted("participants", np.asarray(a.participants != b.participants, bool))


def _labels(a: LabelledWindows, b: LabelledWindows) -> Aspect:
    if a.classes != b.classes:
        return Aspect("labels", False, reason=f"classes {', '.join(a.classes)} against {', '.join(b.classes)}")
    x, y = (each.tables["class_labels"]["class_index"].to_numpy() for each in (a, b))
    return _lengths("labels", a, b) if len(x) != len(y) else _counted("labels", x != y)


def _permutation(a: LabelledWindows, b: LabelledWindows) -> Aspect:
    """The stable chronological order within each participant, as places in the file."""
    if len(a.participants) != len(b.participants):
        return _lengths("permutation", a, b)
    orders = [chronological_ranks(each) for each in (a, b)]
    if orders[0] is None or orders[1] is None:
        if orders[0] is None and orders[1] is None:
            return Aspect("permutation", None, reason="neither export gives times")
        return Aspect("permutation", False, reason=f"only {(a if orders[1] is None else b).where} gives times")
    return _counted("permutation", orders[0] != orders[1])


def chronological_ranks(windows: LabelledWindows) -> NDArray[np.int64] | None:
    """Rank of each window in its participant's stable chronological order; None without times."""
    if windows.times is None:
        return None
    order = np.lexsort((np.arange(len(windows.times)), windows.times))
    ranks = np.zeros(len(order), np.int64)
    seen: dict[Any, int] = {}
    for row in order:
        participant = windows.participants[row]
        ranks[row] = seen.get(participant, 0)
        seen[participant] = ranks[row] + 1
    return ranks


def _time(a: LabelledWindows, b: LabelledWindows) -> Aspect:
    x, y = a.times, b.times
    if x is None or y is None:
        told = "neither export gives times" if x is y else "only one export gives times"
        return Aspect("time", None, reason=told)
    return _lengths("time", a, b) if len(x) != len(y) else _counted("time", x != y)


def _counted(name: str, different: NDArray[np.bool_]) -> Aspect:
    n = int(different.sum())
    reason = f"{n} of {len(different)} windows differ, the first is {int(different.argmax())} (from 0)" if n else None
    return Aspect(name, n == 0, len(different), n, reason)


def _lengths(name: str, a: LabelledWindows, b: LabelledWindows) -> Aspect:
    return Aspect(name, False, reason=f"{len(a.signals)} windows against {len(b.signals)}")
