"""Rows are told apart from others, whatever their order, and however they are cut into frames and files."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.contracts import contract, example
from evalframe.errors import StoreCorrupt
from evalframe.store import Store, sameness
from evalframe.store.sameness import of_files, of_part, of_table, same_rows
from evalframe.store.seals import SealedFile
from tests.store.things import comparison, values, write_results, write_run

ROW = st.tuples(st.sampled_from(["", "a", "b"]) | st.none(), st.sampled_from([0, 1, 2]) | st.none())


def frames(rows: list[tuple[str | None, int | None]], cuts: list[int]) -> list[pl.DataFrame]:
    """The rows as frames that end at these places."""
    whole = pl.DataFrame(rows, {"text": pl.String, "number": pl.Int64}, orient="row")
    places = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    return [whole[start:end] for start, end in pairwise(places)]


@given(st.lists(ROW, max_size=6), st.lists(ROW, max_size=6), st.lists(st.integers(0, 9), max_size=3), st.randoms())
def test_rows_are_the_same_where_each_is_there_equally_often(
    one: list[tuple[str | None, int | None]],
    other: list[tuple[str | None, int | None]],
    cuts: list[int],
    random: Random,
) -> None:
    assert same_rows(frames(one, []), frames(other, cuts)) == (Counter(one) == Counter(other))
    shuffled = list(one)
    random.shuffle(shuffled)
    assert same_rows(frames(one, []), frames(shuffled, cuts))


@pytest.mark.parametrize("name", ["metric_values", "comparisons", "runs", "class_vocabulary", "choice_bins"])
def test_lists_and_maps_count_too(name: str) -> None:
    rows = example(contract(name))
    assert same_rows([of_table(rows)], [of_table(rows.slice(2)), of_table(rows.slice(0, 2))])
    assert not same_rows([of_table(rows)], [of_table(rows.slice(0, 2))])
    assert not same_rows([of_table(rows)], [of_table(pa.concat_tables([rows.slice(0, 2), rows.slice(0, 1)]))])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True, durable=False)
    for run_id in "abc":
        write_run(store, run_id)
        write_results(store, run_id, {"accuracy": 0.5, "macro_f1": 0.25})
    return store


def sealed(store: Store) -> list[SealedFile]:
    return [file for run in store.run_ids() for result in store.results(run) for file in result.files]


@pytest.mark.parametrize("at_once", [1, 2, 128])
def test_files_and_parts_yield_all_their_rows(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(sameness, "_FILES_AT_ONCE", at_once)
    monkeypatch.setattr(sameness, "_ROWS_AT_ONCE", at_once)
    definition, rows = contract("metric_values"), store.read("metric_values")
    pq.write_table(rows, part := tmp_path / "part.parquet")
    read = list(of_files(store._files, definition, sealed(store)))
    assert len(read) == -(-3 // at_once)
    assert pl.concat(read).equals(of_table(rows))
    assert pl.concat(of_part(part, len(rows), definition)).equals(of_table(rows))


def test_a_column_that_a_file_lacks_is_null(store: Store) -> None:
    definition, rows = contract("metric_values"), store.read("metric_values")
    first, *others = sealed(store)
    path = store.path / first.path
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["reason"]), path)
    older = SealedFile("metric_values", first.path, 2, path.stat().st_size, store._files.sha256(first.path))
    assert pl.concat(of_files(store._files, definition, [older, *others])).equals(of_table(rows))


def test_a_file_that_is_not_as_it_was_sealed_is_refused(store: Store) -> None:
    path = store.path / sealed(store)[1].path
    pq.write_table(values("b", {"accuracy": 1.0}), path)
    with pytest.raises(StoreCorrupt):
        list(of_files(store._files, contract("metric_values"), sealed(store)))


def test_comparisons_and_runs_are_looked_at_as_well(store: Store) -> None:
    store.write_record("comparisons", "c", comparison("a", "b"), inputs={}, runs=["a", "b"])
    assert store.compact() == 7
    assert len(store.verify()) == 0
