"""The ordered classes of a run, and labels as positions in them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts.json_values import parse_json
from evalframe.errors import ContractError, InputError, LabelRefused
from evalframe.sources.fields import unreadable
from evalframe.sources.values import first, is_text, normalised, shown

_MOST = 2**15 - 1  # class indices are int16


class Vocabulary:
    """K distinct class names in order. Names are NFC text; `001` and `1` are two classes."""

    def __init__(self, names: Sequence[str], where: str) -> None:
        """Raises LabelRefused: no class, a class named twice (also after normalisation), too many classes."""
        self.names = tuple(normalised(pa.array(names, pa.large_string())).to_pylist())
        self.where = where
        self._index = {name: index for index, name in enumerate(self.names)}
        if not 0 < len(self.names) <= _MOST:
            raise LabelRefused(
                "the vocabulary has no usable size",
                expected=f"1 to {_MOST} classes",
                found=f"{len(self.names)} classes",
                where=where,
                hint="list every class, in the order of the confusion matrix",
            )
        if len(self._index) < len(self.names):
            one = next(i for i, name in enumerate(self.names) if self._index[name] != i)
            raise LabelRefused(
                "the vocabulary names a class twice",
                expected="distinct classes",
                found=f"{self.names[one]!r} at {one} and {self._index[self.names[one]]} (from 0)",
                where=where,
                hint="list every class once, in the order of the confusion matrix",
            )

    @classmethod
    def from_column(cls, column: pa.Array, where: str) -> Vocabulary:
        """The vocabulary in a text column. Raises LabelRefused, also for any other type and for a missing name."""
        if not is_text(column.type) or column.null_count:
            raise LabelRefused(
                "classes are not named",
                expected="text, one name for each class",
                found=f"{column.type}" + (f", {column.null_count} null" if column.null_count else ""),
                where=where,
                hint="numpy.savez(..., classes=numpy.array(names, dtype=str))",
            )
        return cls(column.to_pylist(), where)

    @classmethod
    def from_json(cls, path: Path) -> Vocabulary:
        """The vocabulary in a JSON list of text. Raises InputError (unreadable) or LabelRefused."""
        try:
            names = parse_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise unreadable(path, error) from None
        except (ValueError, RecursionError) as error:
            raise _no_list(path, str(error)) from None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise _no_list(path, shown(names))
        return cls(names, str(path))

    def __len__(self) -> int:
        return len(self.names)

    def indices(
        self, column: pa.Array, name: str, where: str, unused: pa.Array | None = None, start: int = 0
    ) -> pa.Array:
        """Each label as its int16 position; null stays null.

        Integers are positions already, text is looked up. unused: rows (bool) whose value does not count and comes out
        null. start: the row of the file that the column begins at. Raises LabelRefused naming the first row with a
        label outside the vocabulary, ContractError for a column that is neither integers nor text.
        """
        if unused is not None:
            column = pc.if_else(unused, pa.scalar(None, column.type), column)
        if pa.types.is_null(column.type):
            return column.cast(pa.int16())
        if pa.types.is_integer(column.type):
            return self._checked_positions(column, name, where, start)
        if is_text(column.type):
            return self._looked_up(column, name, where, start)
        raise ContractError(
            f"{name} is neither class indices nor class labels",
            expected="integers (positions from 0) or text (labels)",
            found=str(column.type),
            where=where,
            hint=f"{name} = {name}.astype('int64')  # if every value is a whole number",
        )

    def _checked_positions(self, column: pa.Array, name: str, where: str, start: int) -> pa.Array:
        values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        row = first((values < 0) | (values >= len(self)))
        if row is not None:
            raise LabelRefused(
                f"{name} has a class index outside the vocabulary",
                expected=f"0 to {len(self) - 1}, for {len(self)} classes",
                found=f"{values[row]} in row {start + row} (from 0)",
                where=where,
                hint="a window on which the model failed has no class: mark it in a boolean `failed`",
            )
        return pa.array(values.astype(np.int16), mask=np.asarray(column.is_null()))

    def _looked_up(self, column: pa.Array, name: str, where: str, start: int) -> pa.Array:
        coded = normalised(column).dictionary_encode()
        known = [self._index.get(label) for label in coded.dictionary.to_pylist()]
        found = pa.array(known, pa.int16()).take(coded.indices)
        row = first(np.asarray(pc.and_(found.is_null(), column.is_valid())))
        if row is not None:
            raise LabelRefused(
                f"{name} has a label outside the vocabulary",
                expected=f"one of {', '.join(self.names)}",
                found=f"{column[row].as_py()!r} in row {start + row} (from 0)",
                where=where,
                hint=f"add the class to {self.where}, or correct the row",
            )
        return found


def _no_list(path: Path, found: str) -> InputError:
    return InputError(
        f"{path.name} is no list of classes",
        expected='a JSON list of text, such as ["sit", "walk"]',
        found=found,
        where=str(path),
        hint=f"python -m json.tool {shlex.quote(str(path))}",
    )
