"""Rows that outgrow memory: the same numbers, tables and refusals from files, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalframe.contracts.shards import Shards
from evalframe.errors import EvalframeError
from evalframe.sources import choice_tables
from evalframe.sources.choice import read_rows
from evalframe.store import Store
from evalframe.verbs import spooling
from evalframe.verbs.kev import score
from tests.properties.choice_worlds import world

pytestmark = pytest.mark.usefixtures("leaves_no_folder")

TABLES = ("choice_questions", "choice_probabilities", "choice_cells", "choice_confidences", "choice_bins")
GOOD: dict[str, Any] = {"id": "a", "type": "choice", "keys": ["x", "y"], "label": 0, "p": [0.25, 0.75]}


def worlds(first: int) -> list[dict[str, Any]]:
    """Rows of three random worlds beside each other, some of whose ids hold two questions."""
    names = ("id", "group", "pair_id", "parent", "control_id")
    rows = [
        {**row, **{name: f"{seed} {row[name]}" for name in names if row.get(name)}}
        for seed in range(first, first + 3)
        for row in world(seed)
    ]
    return rows + [{**row, "question": "again", "pair_id": None} for row in rows[::5]]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on all rows go through files, a few at a time."""

    def forced() -> None:
        monkeypatch.setattr(spooling, "ROOM", 0)
        monkeypatch.setattr(choice_tables, "_BLOCK", 7)

    return forced


def test_rows_in_files_are_those_in_memory(tmp_path: Path, in_files: Callable[[], None]) -> None:
    rows = written(tmp_path / "rows.jsonl", worlds(20))

    def scored(store: Path) -> str:
        return score(rows=rows, store=store, run_id="r").to_json()

    in_memory = scored(tmp_path / "memory")
    in_files()
    assert scored(tmp_path / "files") == in_memory
    ours, theirs = Store.open(tmp_path / "files"), Store.open(tmp_path / "memory")
    for table in TABLES:
        assert ours.read(table).equals(theirs.read(table)), table
    by = [("item_index", "ascending")]
    assert ours.read("choice_outcomes").sort_by(by).equals(theirs.read("choice_outcomes").sort_by(by))
    assert ours.run("r").inputs == theirs.run("r").inputs


def test_a_run_in_files_is_not_read_into_memory(tmp_path: Path) -> None:
    with spooling.spooled(room=0) as spool:
        run = read_rows(written(tmp_path / "rows.jsonl", worlds(20)), "r", spool)
        assert all(isinstance(run.tables[name], Shards) for name in TABLES[:2])
        kept = {path.name for path in spool._folder.glob("*.parquet")}  # type: ignore[union-attr]
        assert len(kept) == 2


def pair(number: int, sibling: str | None, pair_id: str = "p") -> dict[str, Any]:
    return {**GOOD, "id": f"{pair_id} {number}", "pair_id": pair_id, "sibling": sibling}


FILLER = [{**GOOD, "id": f"filler {i}", "pair_id": f"pair {i // 2}", "sibling": "ab"[i % 2]} for i in range(40)]
REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a late row": ([*FILLER, {**GOOD, "p": [0.5, 0.4]}], "a sum of 0.9 in row 40 (from 0), id 'a'"),
    "a repeated question": ([{**GOOD, "id": "é"}, *FILLER, {**GOOD, "id": "e\u0301"}],
                            "id 'é', question 'decision' in rows 0 and 41 (from 0)"),
    "three of a question": ([GOOD, *FILLER, GOOD, GOOD], "id 'a', question 'decision' in rows 0 and 41 (from 0)"),
    "a repeated sibling": ([pair(0, None), *FILLER, pair(1, None)],
                           "pair_id 'p', sibling None in row 41 beside rows 0 (from 0)"),
    "a third sibling": ([pair(0, "a"), *FILLER, pair(1, "b"), pair(2, "a"), pair(3, "a", "other")],
                        "pair_id 'p', sibling 'a' in row 42 beside rows 0, 41 (from 0)"),
    "the first of two pairs": ([pair(0, "a", "z"), *FILLER, pair(1, "a"), pair(2, "a", "z"), pair(3, "a")],
                               "pair_id 'z', sibling 'a' in row 42 beside rows 0 (from 0)"),
    "a sibling before a row": ([pair(0, "a"), *FILLER, pair(1, "a"), {**GOOD, "label": 2}],
                               "pair_id 'p', sibling 'a' in row 41 beside rows 0 (from 0)"),
    "a row before a sibling": ([pair(0, "a"), *FILLER, {**GOOD, "label": 2}, pair(1, "a")],
                               "2 in row 41 (from 0), id 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("place", ["memory", "files"])
def test_what_is_wrong_is_told_by_row_and_leaves_nothing(
    tmp_path: Path, name: str, place: str, in_files: Callable[[], None]
) -> None:
    rows, words = REFUSED[name]
    path = written(tmp_path / "rows.jsonl", rows)
    if place == "files":
        in_files()
    with pytest.raises(EvalframeError) as refused:
        score(rows=path, store=tmp_path / "store", output=tmp_path / "out.json")
    assert refused.value.found == words
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["rows.jsonl", "temporary"]


@pytest.mark.parametrize("place", ["memory", "files"])
def test_a_leak_is_found_in_files_too(tmp_path: Path, place: str, in_files: Callable[[], None]) -> None:
    rows = written(tmp_path / "rows.jsonl", [*FILLER, {**GOOD, "parent": "from"}])
    other = written(tmp_path / "other.jsonl", [{**GOOD, "id": "new"}, {**GOOD, "id": "from"}, *FILLER[:6]])
    if place == "files":
        in_files()
    with pytest.raises(EvalframeError) as refused:
        score(rows=rows, calibration_rows=other, store=tmp_path / "store")
    assert refused.value.found == "7 shared: filler 0, filler 1, filler 2, filler 3, filler 4, ..."
    assert not (tmp_path / "store").exists()
