"""One JSON row of a choice question -> its checked values: the question, and how a run answered it.

Every refusal names the row, from 0, and its id. What a number may be is decided here, before anything is added up.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from evalframe.errors import ChoiceRowRefused
from evalframe.sources.values import shown

TYPES = ("choice", "noul", "score")
DEFAULT_QUESTION = "decision"
CLEAN = "clean"

_MAX_OPTIONS = 32_767  # a label is an int16
_UNCHANGED = 1e-12  # a sum this close to 1 is round-off of a normalised vector, and dividing again would not be stable


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One row as it will be stored. p is None where the model failed, and then `error` says why."""

    id: str
    question: str
    group: str | None
    source: str | None
    task: str | None
    type: str
    variant: str
    keys: tuple[str, ...]
    label: int | None
    pair_id: str | None
    sibling: str | None
    control_id: str | None
    parent: str | None
    family: str | None
    p: list[float] | None
    p_sum: float | None
    error: str | None

    @property
    def item_id(self) -> str:
        """The id, as the tables of answers call it."""
        return self.id

    @property
    def cluster_id(self) -> str:
        """The group, or the row's own id where it has none."""
        return self.id if self.group is None else self.group


def checked_row(row: Mapping[str, Any], place: int, where: str) -> ChoiceRow:
    """The row's values, or ChoiceRowRefused naming row `place`. Fields that no metric reads are passed over."""
    return _Reader(row, place, where).read()


def kept_probabilities(p: list[float]) -> tuple[list[float], float] | None:
    """(probabilities as kept, their sum as given); None where the sum is too far from 1 to be one of rounding.

    The sum is correctly rounded. Within 1e-12 of 1 the values stay as they are, so that writing and reading a stored
    run changes no bit; else they are divided by it.
    """
    total = math.fsum(p)
    if abs(total - 1.0) > max(1e-5, 0.005 * len(p) + 1e-8) or total < 0.5:
        return None
    return (p if abs(total - 1.0) <= _UNCHANGED else [x / total for x in p]), total


class _Reader:
    """Takes one row apart, field by field."""

    def __init__(self, row: Mapping[str, Any], place: int, where: str) -> None:
        self.row, self.place, self.where = row, place, where

    def read(self) -> ChoiceRow:
        keys = self.keys()
        p, p_sum, error = self.answer(len(keys))
        return ChoiceRow(
            id=self.text("id") or self.refuse("id", "a name for the row", "nothing"),
            question=self.text("question") or DEFAULT_QUESTION,
            group=self.text("group"),
            source=self.text("source"),
            task=self.text("task"),
            type=self.type(),
            variant=self.text("variant") or CLEAN,
            keys=keys,
            label=self.label(len(keys)),
            pair_id=self.text("pair_id"),
            sibling=self.text("sibling"),
            control_id=self.text("control_id"),
            parent=self.text("parent"),
            family=self.text("family"),
            p=p,
            p_sum=p_sum,
            error=error,
        )

    def text(self, field: str) -> str | None:
        """Text in normal form; integers as their digits; missing, null and empty alike are nothing."""
        value = self.row.get(field)
        if value is None:
            return None
        if type(value) is str and value.isascii():  # nearly always, and cheaper than asking the rest
            return value or None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.normalised(field, value) or None

    def normalised(self, field: str, value: Any) -> str:
        if not isinstance(value, str):
            self.refuse(field, "text", shown(value))
        if value.isascii():
            return value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.refuse(field, "Unicode text", shown(value))
        return unicodedata.normalize("NFC", value)

    def type(self) -> str:
        value = self.row.get("type")
        if value not in TYPES:
            self.refuse("type", " or ".join(TYPES), "nothing" if value is None else shown(value))
        return str(value)

    def keys(self) -> tuple[str, ...]:
        value = self.row.get("keys")
        if not isinstance(value, list):
            self.refuse("keys", "a list of option names", "nothing" if value is None else shown(value))
        keys = tuple(self.normalised("keys", key) for key in value)
        if not 2 <= len(keys) <= _MAX_OPTIONS:
            self.refuse("keys", f"2 to {_MAX_OPTIONS} options", f"{len(keys)}")
        if len(set(keys)) < len(keys):
            repeated = next(key for key in keys if keys.count(key) > 1)
            self.refuse("keys", "every option once", f"{shown(repeated)} twice")
        return keys

    def label(self, n_keys: int) -> int | None:
        value = self.row.get("label")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse("label", "an index into keys, or null", shown(value))
        if not 0 <= value < n_keys:
            self.refuse("label", f"an index from 0 to {n_keys - 1}", shown(value))
        return value

    def answer(self, n_keys: int) -> tuple[list[float] | None, float | None, str | None]:
        error = self.text("error")
        if "p" not in self.row:
            self.refuse("p", "a list of probabilities, or null with an error", "nothing")
        if self.row["p"] is None:
            if error is None:
                self.refuse("p", "an error that says why there are no probabilities", "null and no error")
            return None, None, error
        if error is not None:
            self.refuse("p", "probabilities or an error, not both", f"both, error {shown(error)}")
        p = self.probabilities(n_keys)
        kept = kept_probabilities(p)
        if kept is None:
            self.refuse("p", "probabilities that add up to 1, rounding apart", f"a sum of {math.fsum(p)!r}")
        return *kept, None

    def probabilities(self, n_keys: int) -> list[float]:
        value = self.row["p"]
        if not isinstance(value, list):
            self.refuse("p", "a list of probabilities", shown(value))
        if len(value) != n_keys:
            self.refuse("p", f"one probability for each of {n_keys} keys", f"{len(value)}")
        for x in value:
            # `type`, not isinstance: true is no probability. A NaN fails the comparison.
            if type(x) not in (int, float) or not 0 <= x <= 1:
                self.refuse("p", "finite numbers from 0 to 1", shown(x))
        return [abs(float(x)) for x in value]  # -0.0 is 0

    def refuse(self, field: str, expected: str, found: str) -> NoReturn:
        raise ChoiceRowRefused(
            f"{field} of a row cannot be used",
            expected=f"{field}: {expected}",
            found=f"{found} in row {self.place} (from 0), id {shown(self.row.get('id'))}",
            where=self.where,
            hint="evalframe explain choice_questions",
        )
