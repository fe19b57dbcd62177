"""Checked rows -> the contracted tables of one run: ranks, cells and the name of the data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts import conform, contract
from evalframe.errors import ChoiceRowRefused, DuplicateItem
from evalframe.identity import data_digest, sha256_text
from evalframe.sources.choice_rows import CLEAN, ChoiceRow
from evalframe.sources.values import shown

Cell = tuple[str, str | None, str | None, str | None]
"""variant, source, task, type."""

_BLOCK = 1 << 16
"""Rows held as Python objects at a time."""

_QUESTION_FIELDS = (
    "id", "question", "group", "source", "task", "type", "variant", "keys", "label", "pair_id", "sibling",
    "control_id", "parent", "family",
)  # fmt: skip
_ANSWER_FIELDS = ("item_id", "question", "cluster_id", "label", "p", "p_sum", "error")


class Cells:
    """The combinations of variant, source, task and type of a run, numbered as they are met and ranked at the end."""

    def __init__(self) -> None:
        self._met: dict[Cell, int] = {}

    def number(self, cell: Cell) -> int:
        """The provisional number of a cell."""
        return self._met.setdefault(cell, len(self._met))

    def ranks(self) -> NDArray[np.int32]:
        """Provisional number -> cell_index: the rank among the sorted cells, whatever order the rows came in."""
        order = sorted(self._met, key=_cell_order)
        ranks = np.empty(len(order), np.int32)
        ranks[[self._met[cell] for cell in order]] = np.arange(len(order), dtype=np.int32)
        return ranks

    def table(self, run_id: str, *, has_probabilities: bool) -> pa.Table:
        """`choice_cells`. A run without rows has the one clean cell, so that its populations exist."""
        cells = sorted(self._met, key=_cell_order) or [(CLEAN, None, None, None)]
        rows: dict[str, list[Any]] = {"run_id": [run_id] * len(cells), "cell_index": list(range(len(cells)))}
        rows["has_probabilities"] = [has_probabilities] * len(cells)
        rows |= {name: [cell[place] for cell in cells] for place, name in enumerate(_CELL_FIELDS)}
        schema = contract("choice_cells").arrow_schema()
        return pa.table([pa.array(rows[field.name], field.type) for field in schema], schema=schema)


_CELL_FIELDS = ("variant", "source", "task", "type")


def _cell_order(cell: Cell) -> tuple[tuple[bool, str], ...]:
    return tuple((part is not None, part or "") for part in cell)


class RowTables:
    """Collects checked rows and makes `choice_questions`, `choice_probabilities` and `choice_cells` of them."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._cells = Cells()
        self._siblings: dict[tuple[str, str], dict[str, int]] = {}
        self._pending: list[ChoiceRow] = []
        self._questions: list[pa.Table] = []
        self._answers: list[pa.Table] = []
        self._cell_numbers: list[NDArray[np.int32]] = []
        self._digests: list[str] = []

    def add(self, rows: Iterable[ChoiceRow]) -> None:
        """Take rows in their order. Raises ChoiceRowRefused for a third or repeated sibling of a pair."""
        for row in rows:
            self._check_pair(row)
            self._digests.append(_label_digest(row))
            self._pending.append(row)
            if len(self._pending) == _BLOCK:
                self._flush()

    def tables(self, run_id: str) -> tuple[str, dict[str, pa.Table]]:
        """(dataset_id, tables by name). Raises DuplicateItem where two rows have one (id, question)."""
        self._flush()
        questions = pa.concat_tables([_empty("choice_questions", _QUESTION_FIELDS), *self._questions])
        answers = pa.concat_tables([_empty("choice_probabilities", _ANSWER_FIELDS), *self._answers])
        n = len(questions)
        order = pc.sort_indices(questions.select(["id", "question"]), [("id", "ascending"), ("question", "ascending")])
        places = order.to_numpy()
        ordered = questions.take(order)
        refuse_duplicates(ordered.column("id"), ordered.column("question"), places, self._where)
        dataset = _dataset_id(questions.column("id"), self._digests)
        ranks = np.empty(n, np.int64)
        ranks[places] = np.arange(n)
        cells = np.concatenate([np.zeros(0, np.int32), *self._cell_numbers])
        names = pa.repeat(pa.scalar(dataset, pa.large_string()), n)
        return dataset, {
            "choice_cells": self._cells.table(run_id, has_probabilities=True),
            "choice_questions": conform(
                contract("choice_questions"),
                ordered.append_column("dataset_id", names).append_column("question_index", pa.array(np.arange(n))),
            ),
            "choice_probabilities": conform(
                contract("choice_probabilities"),
                answers.append_column("run_id", pa.repeat(pa.scalar(run_id, pa.large_string()), n))
                .append_column("item_index", pa.array(np.arange(n)))
                .append_column("dataset_id", names)
                .append_column("question_index", pa.array(ranks))
                .append_column("cell_index", pa.array(self._cells.ranks()[cells] if n else cells)),
            ),
            "choice_confidences": contract("choice_confidences").empty(),
        }

    def _flush(self) -> None:
        rows, self._pending = self._pending, []
        if not rows:
            return
        self._questions.append(_part("choice_questions", _QUESTION_FIELDS, rows))
        self._answers.append(_part("choice_probabilities", _ANSWER_FIELDS, rows))
        numbers = [self._cells.number((row.variant, row.source, row.task, row.type)) for row in rows]
        self._cell_numbers.append(np.array(numbers, np.int32))

    def _check_pair(self, row: ChoiceRow) -> None:
        if row.pair_id is None or row.variant != CLEAN:
            return
        place = len(self._digests)
        sides = self._siblings.setdefault((row.pair_id, row.question), {})
        side = row.sibling or ""
        if side in sides or len(sides) == 2:
            others = ", ".join(map(str, sides.values()))
            raise ChoiceRowRefused(
                "a pair has two siblings, each once",
                expected=f"no second sibling {side!r}" if side in sides else "two siblings",
                found=f"pair_id {shown(row.pair_id)}, sibling {shown(row.sibling)} in row {place} beside rows {others}"
                " (from 0)",
                where=self._where,
                hint="evalframe explain choice_pairs",
            )
        sides[side] = place


def refuse_duplicates(ids: pa.ChunkedArray, questions: pa.ChunkedArray, places: NDArray[Any], where: str) -> None:
    """Raise DuplicateItem where neighbours of the sorted (id, question) are equal. places: their rows in the file."""
    if len(ids) < 2:
        return
    same = pc.and_(pc.equal(ids[1:], ids[:-1]), pc.equal(questions[1:], questions[:-1]))
    at = pc.index(same, True).as_py()
    if at >= 0:
        first, second = sorted((int(places[at]), int(places[at + 1])))
        raise DuplicateItem(
            "one question stands in two rows",
            expected="every (id, question) once",
            found=f"id {shown(ids[at].as_py())}, question {shown(questions[at].as_py())} in rows {first} and {second}"
            " (from 0)",
            where=where,
            hint="keep one of the two rows, or give them different ids",
        )


def _label_digest(row: ChoiceRow) -> str:
    """64 hex of the SHA-256 over all there is to a question but its id; whatever changes it makes another data set."""
    told = [getattr(row, name) for name in _QUESTION_FIELDS[1:]]
    return sha256_text(json.dumps(told, ensure_ascii=False, separators=(",", ":")))


def _dataset_id(ids: pa.ChunkedArray, digests: Sequence[str]) -> str:
    """16 hex of the SHA-256 over the sorted (id, label digest)."""
    nothing = pa.nulls(len(ids), pa.large_string())
    label = pa.array(digests, pa.large_string())
    return data_digest(pa.table({"item_id": ids, "label": label, "cluster_id": nothing, "stratum": nothing}))[:16]


def _part(table: str, names: Sequence[str], rows: Sequence[ChoiceRow]) -> pa.Table:
    schema = _schema(table, names)
    return pa.table([pa.array([getattr(row, f.name) for row in rows], f.type) for f in schema], schema=schema)


def _empty(table: str, names: Sequence[str]) -> pa.Table:
    return _schema(table, names).empty_table()


def _schema(table: str, names: Sequence[str]) -> pa.Schema:
    whole = contract(table).arrow_schema()
    return pa.schema([whole.field(name) for name in names])
