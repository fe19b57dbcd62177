"""What a protocol is: choices by name, never formulas. The formulas are relations in `sql/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from evalframe.errors import UnknownName, UsageError

Kind = Literal["text", "integer", "decimal", "boolean"]


@dataclass(frozen=True)
class Parameter:
    """One choice that defines a number. `reading` marks a choice that the source document does not spell out. option:
    what a command calls it that takes it by itself; others take it by `--set NAME=VALUE`."""

    name: str
    default: str
    meaning: str
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    minimum: str | None = None
    maximum: str | None = None
    reading: bool = False
    option: str | None = None

    def canonical(self, text: str) -> str:
        """`text` in the one spelling that enters a fingerprint: decimals without exponent or trailing zeros."""
        value = _CANONICAL[self.kind](text.strip())
        if value is None:
            raise self._refuse(f"{self._a_value()}", text)
        if self.choices and value not in self.choices:
            raise self._refuse(" or ".join(self.choices), text)
        if self.minimum is not None and Decimal(value) < Decimal(self.minimum):
            raise self._refuse(f"at least {self.minimum}", text)
        if self.maximum is not None and Decimal(value) > Decimal(self.maximum):
            raise self._refuse(f"at most {self.maximum}", text)
        return value

    def _a_value(self) -> str:
        return {"text": "text", "integer": "an integer", "decimal": "a decimal number", "boolean": "true or false"}[
            self.kind
        ]

    def _refuse(self, expected: str, found: str) -> UsageError:
        return UsageError(
            f"parameter {self.name} cannot take this value",
            expected=expected,
            found=repr(found),
            where=self.option or f"--set {self.name}",
            hint=f"--set {self.name}={self.default}" if self.option is None else f"{self.option} {self.default}",
        )


@dataclass(frozen=True)
class Protocol:
    """A named, versioned set of choices under which numbers may be compared.

    metrics: metric relations, in the order they are shown. primary: those a verdict and Holm's family start from.
    stored: facts and states kept with the results, for comparison and BI. items: the fact relation that names the
    evaluation set (run_id, item_id, label, cluster_id, stratum). cluster: the field's word for one cluster. paired: a
    metric of right and wrong items, and the relation of sql/compare that says which is which (run_id, stratum, item_id,
    cluster_id, correct), for tests on paired items. by_parts: relations join every row of long tables with others: they
    are answered a part of the rows at a time, since joins of all would be too wide for memory.
    """

    name: str
    version: str
    system: str
    title: str
    metrics: tuple[str, ...]
    primary: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    stored: tuple[str, ...]
    items: str
    cluster: str
    primary_stratum: str = "all"
    primary_recall: str | None = None
    secondary: frozenset[str] = frozenset()
    claims: str = ""
    paired: tuple[str, str] | None = None
    by_parts: bool = False

    @property
    def label(self) -> str:
        """`name/version`: what the `protocol` column of a result row holds."""
        return f"{self.name}/{self.version}"

    def judges_at(self, recall: float | None) -> bool:
        """Whether a value at `recall`, or at none, is one that runs are judged by."""
        return recall is None or self.primary_recall is None or recall == float(self.primary_recall)

    def settings(self, given: Mapping[str, str] | None = None) -> dict[str, str]:
        """Every parameter in canonical text: the defaults with `given` over them. An unknown name is refused."""
        given = dict(given or {})
        chosen = {p.name: p.canonical(given.pop(p.name, p.default)) for p in self.parameters}
        if given:
            raise UnknownName(
                f"protocol {self.label} has no parameter {sorted(given)[0]!r}",
                expected=", ".join(sorted(chosen)) or "no parameters",
                found=", ".join(sorted(given)),
                where="--set",
                hint=f"evalframe explain {self.label}",
            )
        return chosen

    def settings_of(self, stored: Mapping[str, str]) -> dict[str, str]:
        """Settings as a result was sealed with, under the parameters there are now: new ones at their default."""
        names = {parameter.name for parameter in self.parameters}
        return self.settings({name: value for name, value in stored.items() if name in names})


def _text(value: str) -> str | None:
    return value


def _integer(value: str) -> str | None:
    return str(int(value)) if re.fullmatch(r"[+-]?\d{1,18}", value) else None


def _decimal(value: str) -> str | None:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    # Beyond these bounds the plain spelling would run to hundreds of digits and no protocol means such a value.
    if not number.is_finite() or abs(number.adjusted()) > 300:
        return None
    plain = format(number, "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "") else plain


def _boolean(value: str) -> str | None:
    return value.lower() if value.lower() in ("true", "false") else None


_CANONICAL = {"text": _text, "integer": _integer, "decimal": _decimal, "boolean": _boolean}
