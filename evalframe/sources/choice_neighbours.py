"""What sorting puts side by side and must not be there: one question in two rows, a sibling too many in a pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalframe.errors import ChoiceRowRefused, DuplicateItem
from evalframe.sources.values import shown

BY_QUESTION = ("id", "question", "item_index")
"""The order in which `unrepeated` takes rows."""

BY_PAIR = ("pair_id", "question", "item_index")
"""The order in which `refuse_siblings` takes rows."""


def unrepeated(batches: Iterable[pa.RecordBatch], where: str) -> Iterator[pa.RecordBatch]:
    """The rows as they come, in the order BY_QUESTION. Raises DuplicateItem where neighbours are one question."""
    last: list[pa.RecordBatch] = []
    for batch in batches:
        keys = pa.Table.from_batches([*last, batch.select(BY_QUESTION)])
        refuse_duplicates(keys["id"], keys["question"], keys["item_index"].to_numpy(), where)
        last = [batch.select(BY_QUESTION).slice(len(batch) - 1)]
        yield batch


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


def refuse_siblings(batches: Iterable[pa.RecordBatch], where: str) -> None:
    """Raise ChoiceRowRefused for the first row of the file that is a third or repeated sibling of its pair.

    batches: (pair_id, question, sibling, item_index) of the rows that have a pair, in the order BY_PAIR.
    """
    earliest: list[Mapping[str, Any]] = []  # the row that is too much, behind those of its pair before it
    before: list[pa.RecordBatch] = []
    for batch in batches:
        rows = pa.Table.from_batches([*before, batch])
        too_many, side_by_side = _too_many(rows)
        places = rows["item_index"].to_numpy()
        at = np.flatnonzero(too_many)
        if len(at):
            row = int(at[places[at].argmin()])
            if not earliest or places[row] < earliest[-1]["item_index"]:
                start = row - 2 if row > 1 and side_by_side[row - 1] else row - 1
                earliest = rows.slice(start, row + 1 - start).to_pylist()
        before = rows.slice(max(0, len(rows) - 2)).to_batches()
    if earliest:
        _refuse_sibling(earliest[:-1], earliest[-1], where)


def _too_many(rows: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(per row, whether it is a third or repeated sibling; whether the row before it is of the same pair).

    A pair of three or more has a third row, whatever its name, so that only neighbours need other names.
    """
    paired, too_many = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    if len(rows) > 1:
        sides = rows["sibling"].fill_null("")
        paired[1:] = pc.and_(_as_before(rows["pair_id"]), _as_before(rows["question"])).to_numpy()
        too_many[1:] = paired[1:] & _as_before(sides).to_numpy()
        too_many[2:] |= paired[2:] & paired[1:-1]
    return too_many, paired


def _as_before(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.equal(column[1:], column[:-1])


def _refuse_sibling(others: Sequence[Mapping[str, Any]], row: Mapping[str, Any], where: str) -> NoReturn:
    side = row["sibling"] or ""
    known = [other["sibling"] or "" for other in others]
    beside = ", ".join(str(other["item_index"]) for other in others)
    raise ChoiceRowRefused(
        "a pair has two siblings, each once",
        expected=f"no second sibling {side!r}" if side in known else "two siblings",
        found=f"pair_id {shown(row['pair_id'])}, sibling {shown(row['sibling'])} in row {row['item_index']}"
        f" beside rows {beside} (from 0)",
        where=where,
        hint="evalframe explain choice_pairs",
    )
