"""Outcomes without probabilities -> one run's tables: `id, confidence, correct`, optionally what they belong to.

Parquet and Arrow keep their types; float32 is widened once and then is what it is. CSV is text: an empty cell is
nothing, `correct` is written true or false (1 or 0 will do).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.contracts import conform, contract
from evalframe.errors import ContractError, MissingField
from evalframe.identity import data_digest
from evalframe.sources.choice_neighbours import refuse_duplicates
from evalframe.sources.choice_rows import CLEAN, DEFAULT_QUESTION, TYPES
from evalframe.sources.choice_tables import Cells
from evalframe.sources.fields import Fields, read_fields
from evalframe.sources.values import first, ids, is_text, normalised, repeated, shown

REQUIRED = ("id", "confidence", "correct")
OPTIONAL = ("question", "group", "task", "source", "type", "variant", "error")

_TRUTHS = {"true": True, "false": False, "1": True, "0": False}


def read_outcome_tables(path: Path, run_id: str) -> tuple[str, dict[str, pa.Table], str]:
    """(dataset_id, tables by name, SHA-256 of the file).

    Raises InputError (unreadable, a column is missing) or ContractError naming the first row that cannot be meant.
    """
    try:
        fields = read_fields(path, (*REQUIRED, *OPTIONAL), REQUIRED)
    except MissingField as error:
        error.hint = f"write it with the columns {', '.join(REQUIRED)}"  # no option takes other names here
        raise
    dataset_id, tables = _Reader(fields).tables(run_id)
    return dataset_id, tables, fields.sha256


class _Reader:
    """Takes the columns of one file, each checked once."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.n = fields.rows(*REQUIRED, *OPTIONAL)

    def tables(self, run_id: str) -> tuple[str, dict[str, pa.Table]]:
        names = ids(self.fields.columns["id"], "id", self.fields.where)
        question = self.text("question").fill_null(DEFAULT_QUESTION)
        self.refuse_duplicates(names, question)
        group, error, correct = self.text("group"), self.text("error"), self.correct()
        confidence = self.confidence(error)
        cells, cell_index, cell_text = self.cells()
        table = pa.table(
            {
                "run_id": repeated(run_id, self.n),
                "item_index": pa.array(np.arange(self.n)),
                "item_id": names,
                "question": question,
                "group": group,
                "cell_index": cell_index,
                "confidence": confidence,
                "correct": correct,
                "error": error,
            }
        )
        labelled = pc.if_else(pc.is_valid(correct), "labelled ", "unlabelled ").cast(pa.large_string())
        known = {
            "item_id": names,
            "label": question,
            "cluster_id": group,
            "stratum": pc.binary_join_element_wise(labelled, cell_text, pa.scalar("", pa.large_string())),
        }
        return data_digest(pa.table(known))[:16], {
            "choice_cells": cells.table(run_id, has_probabilities=False),
            "choice_confidences": conform(contract("choice_confidences"), table),
            "choice_questions": contract("choice_questions").empty(),
            "choice_probabilities": contract("choice_probabilities").empty(),
        }

    def text(self, name: str) -> pa.Array:
        """A column of text in normal form, integers as their digits; null where it is empty or the column is absent."""
        column = self.fields.columns.get(name)
        if column is None or pa.types.is_null(column.type):
            return pa.nulls(self.n, pa.large_string())
        if not (is_text(column.type) or pa.types.is_integer(column.type)):
            self.refuse(name, "text", f"{column.type}", None)
        plain = normalised(column.cast(pa.large_string()))
        return pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)

    def confidence(self, error: pa.Array) -> pa.Array:
        """Confidences as float64 in [0, 1]; null exactly where there is an error."""
        column = self.fields.columns["confidence"]
        if is_text(column.type):
            values = self.numbers(column)
        elif pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type):
            values = column.cast(pa.float64())
        else:
            self.refuse("confidence", "numbers from 0 to 1", f"{column.type}", None)
        given = values.to_numpy(zero_copy_only=False)
        absent = np.asarray(values.is_null())
        failed = np.asarray(pc.is_valid(error))
        self.refuse_first("confidence", "a number from 0 to 1", column, ~absent & ~((given >= 0) & (given <= 1)))
        self.refuse_first("confidence", "a number, or an error that says why there is none", column, absent & ~failed)
        self.refuse_first("confidence", "a number or an error, not both", column, ~absent & failed)
        return pc.abs(values)  # -0.0 is 0

    def numbers(self, column: pa.Array) -> pa.Array:
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            bad = np.array([not _is_number(cell) for cell in column.to_pylist()])
            self.refuse_first("confidence", "a number from 0 to 1", column, bad)
            raise

    def correct(self) -> pa.Array:
        """Truth values; null where nobody knows."""
        column = self.fields.columns["correct"]
        if pa.types.is_boolean(column.type):
            return column
        if pa.types.is_null(column.type):
            return column.cast(pa.bool_())
        if not (is_text(column.type) or pa.types.is_integer(column.type)):
            self.refuse("correct", "truth values", f"{column.type}", None)
        plain = pc.utf8_lower(column.cast(pa.large_string()))
        plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)
        strange = ~np.asarray(pc.is_in(plain, pa.array([*_TRUTHS, None], plain.type)))
        self.refuse_first("correct", "true, false, 1, 0 or nothing", column, strange)
        right = pc.is_in(plain, pa.array([text for text, truth in _TRUTHS.items() if truth], plain.type))
        return pc.if_else(pc.is_valid(plain), right, pa.scalar(None, pa.bool_()))

    def cells(self) -> tuple[Cells, pa.Array, pa.Array]:
        """The cells of the run, the cell_index of each row, and each row's cell as text."""
        kind = self.text("type")
        self.refuse_first(
            "type",
            " or ".join(TYPES),
            kind,
            np.asarray(pc.and_(pc.is_valid(kind), pc.invert(pc.is_in(kind, pa.array(TYPES, kind.type))))),
        )
        columns = [self.text("variant").fill_null(CLEAN), self.text("source"), self.text("task"), kind]
        code = np.zeros(self.n, np.int64)
        for column in columns:
            coded = column.dictionary_encode(null_encoding="encode")
            code = code * (len(coded.dictionary) + 1) + coded.indices.to_numpy(zero_copy_only=False)
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)  # dense again: products stay small
        _, firsts, inverse = np.unique(code, return_index=True, return_inverse=True)
        met = [tuple(column[place].as_py() for column in columns) for place in firsts.tolist()]
        cells = Cells()
        numbers = [cells.number((variant, source, task, type_)) for variant, source, task, type_ in met]
        texts = pa.array([json.dumps(cell, ensure_ascii=False) for cell in met], pa.large_string())
        ranks = cells.ranks()[numbers] if met else np.zeros(0, np.int32)
        return cells, pa.array(ranks[inverse]), texts.take(pa.array(inverse))

    def refuse_duplicates(self, names: pa.Array, question: pa.Array) -> None:
        table = pa.table({"id": names, "question": question})
        order = pc.sort_indices(table, [("id", "ascending"), ("question", "ascending")])
        ordered = table.take(order)
        refuse_duplicates(ordered["id"], ordered["question"], order.to_numpy(), self.fields.where)

    def refuse_first(self, name: str, expected: str, column: pa.Array, wrong: NDArray[np.bool_]) -> None:
        row = first(wrong)
        if row is not None:
            value = column[row].as_py()
            self.refuse(name, expected, "nothing" if value is None else shown(value), row)

    def refuse(self, name: str, expected: str, found: str, row: int | None) -> NoReturn:
        place = "" if row is None else f" in row {row} (from 0), id {shown(self.fields.columns['id'][row].as_py())}"
        raise ContractError(
            f"{name} cannot be used",
            expected=f"{name}: {expected}",
            found=f"{found}{place}",
            where=self.fields.where,
            hint="evalframe explain choice_confidences",
        )


def _is_number(cell: str | None) -> bool:
    try:
        pa.scalar(cell, pa.large_string()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
