"""Checked rows -> the contracted tables of one run: ranks, cells and the name of the data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts import conform, contract
from evalframe.contracts.shards import ITEMS, ROWS, Rows, Spool, batches_of, blocks
from evalframe.errors import EvalframeError
from evalframe.identity import sha256_text
from evalframe.sources.choice_neighbours import BY_PAIR, BY_QUESTION, refuse_siblings, unrepeated
from evalframe.sources.choice_rows import CLEAN, ChoiceRow
from evalframe.sources.values import repeated

Cell = tuple[str, str | None, str | None, str | None]
"""variant, source, task, type."""

_BLOCK = 1 << 13
"""Rows held as Python objects at a time: each takes some kilobytes."""

_QUESTION_FIELDS = (
    "id", "question", "group", "source", "task", "type", "variant", "keys", "label", "pair_id", "sibling",
    "control_id", "parent", "family",
)  # fmt: skip
_ANSWER_FIELDS = ("item_id", "question", "cluster_id", "label", "p", "p_sum", "error")

_RANKS = pa.schema({"item_index": pa.int64(), "question_index": pa.int64()})
_PAIRS = pa.schema(
    [*((name, pa.large_string()) for name in ("pair_id", "question", "sibling")), ("item_index", pa.int64())]
)


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
    """Takes checked rows and makes `choice_questions`, `choice_probabilities` and `choice_cells` of them.

    Rows go into the spool a block at a time; what they need to know of each other comes from sorting them there.
    """

    def __init__(self, where: str, spool: Spool) -> None:
        self._where, self._spool = where, spool
        self._cells = Cells()
        self._questions = _schema("choice_questions", _QUESTION_FIELDS, item_index=pa.int64())
        self._answered = _schema("choice_probabilities", _ANSWER_FIELDS, cell=pa.int64())
        self._pending: list[ChoiceRow] = []
        self._n = 0

    def add(self, rows: Iterable[ChoiceRow]) -> None:
        """Take rows in their order. What is raised while they are read comes after what is wrong with earlier ones."""
        try:
            for row in rows:
                self._pending.append(row)
                if len(self._pending) == _BLOCK:
                    self._flush()
        except EvalframeError:
            self._refuse_siblings()
            raise

    def tables(self, run_id: str) -> tuple[str, dict[str, Rows]]:
        """(dataset_id, tables by name).

        Raises ChoiceRowRefused for a third or repeated sibling of a pair, DuplicateItem where two rows have one (id,
        question).
        """
        self._refuse_siblings()
        items = self._spool.take("items", ITEMS)
        dataset = self._spool.digest(items)[0][:16]  # over the sorted (id, label digest)
        self._spool.discard(items)
        questions = self._ranked(dataset)
        return dataset, {
            "choice_cells": self._cells.table(run_id, has_probabilities=True),
            "choice_questions": questions,
            "choice_probabilities": self._answers(run_id, dataset),
            "choice_confidences": contract("choice_confidences").empty(),
        }

    def _ranked(self, dataset: str) -> Rows:
        """`choice_questions`, in the order of their ranks; "ranks" holds the rank of each row of the file."""
        target = contract("choice_questions")
        rows, n = self._spool.take("questions", self._questions), 0
        for batch in unrepeated(self._spool.ordered(rows, BY_QUESTION), self._where):
            index = pa.array(np.arange(n, n + len(batch)))
            ranked = pa.Table.from_batches([batch.drop_columns(["item_index"])])
            ranked = ranked.append_column("dataset_id", repeated(dataset, len(batch)))
            self._spool.add(target.name, conform(target, ranked.append_column("question_index", index)))
            self._spool.add("ranks", pa.table([batch["item_index"], index], schema=_RANKS))
            n += len(batch)
        self._spool.discard(rows)
        return self._spool.take(target.name, target.arrow_schema())

    def _answers(self, run_id: str, dataset: str) -> Rows:
        """`choice_probabilities`, in the order of the file."""
        target, cells = contract("choice_probabilities"), self._cells.ranks()
        rows, ranks = self._spool.take("answers", self._answered), self._spool.take("ranks", _RANKS)
        read = batches_of(rows, self._answered.names)
        placed = self._spool.ordered(ranks, ("item_index",))
        for answers, places in zip(blocks(read, ROWS), blocks(placed, ROWS), strict=True):
            cell = pa.array(cells[answers["cell"].to_numpy()])
            table = (
                answers.drop_columns(["cell"])
                .append_column("run_id", repeated(run_id, len(answers)))
                .append_column("item_index", places["item_index"])
                .append_column("dataset_id", repeated(dataset, len(answers)))
                .append_column("question_index", places["question_index"])
                .append_column("cell_index", cell)
            )
            self._spool.add(target.name, conform(target, table))
        self._spool.discard(rows)
        self._spool.discard(ranks)
        return self._spool.take(target.name, target.arrow_schema())

    def _flush(self) -> None:
        rows, self._pending = self._pending, []
        if not rows:
            return
        places = range(self._n, self._n + len(rows))
        cells = [self._cells.number((row.variant, row.source, row.task, row.type)) for row in rows]
        self._spool.add("questions", _part(self._questions, rows, item_index=places))
        self._spool.add("answers", _part(self._answered, rows, cell=cells))
        nothing = [None] * len(rows)
        digests = [_label_digest(row) for row in rows]
        items = {"item_id": [row.id for row in rows], "label": digests, "cluster_id": nothing, "stratum": nothing}
        self._spool.add("items", pa.table(items, schema=ITEMS))
        paired = [
            (row.pair_id, row.question, row.sibling, place)
            for row, place in zip(rows, places, strict=True)
            if row.pair_id is not None and row.variant == CLEAN
        ]
        if paired:
            self._spool.add("pairs", pa.table(list(zip(*paired, strict=True)), schema=_PAIRS))
        self._n += len(rows)

    def _refuse_siblings(self) -> None:
        self._flush()
        pairs = self._spool.take("pairs", _PAIRS)
        refuse_siblings(self._spool.ordered(pairs, BY_PAIR), self._where)
        self._spool.discard(pairs)


def _label_digest(row: ChoiceRow) -> str:
    """64 hex of the SHA-256 over all there is to a question but its id; whatever changes it makes another data set."""
    told = [getattr(row, name) for name in _QUESTION_FIELDS[1:]]
    return sha256_text(json.dumps(told, ensure_ascii=False, separators=(",", ":")))


def _part(schema: pa.Schema, rows: Sequence[ChoiceRow], **more: Sequence[int]) -> pa.Table:
    """The rows' fields as columns of `schema`; `more` are those that no row has."""
    columns = {field.name: more.get(field.name) or [getattr(row, field.name) for row in rows] for field in schema}
    return pa.table(columns, schema=schema)


def _schema(table: str, names: Sequence[str], **more: pa.DataType) -> pa.Schema:
    """Columns of a contract, and others."""
    whole = contract(table).arrow_schema()
    return pa.schema([*(whole.field(name) for name in names), *more.items()])
