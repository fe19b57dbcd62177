"""A large table gone through part by part: every row once, in order of the parts, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.contracts import contract, example
from evalframe.engines import dividing
from evalframe.engines.choosing import Choice, using
from evalframe.engines.dividing import Dividing
from evalframe.errors import EngineError


def _file(folder: Path, runs: list[str | None], table: str = "choice_bins") -> Path:
    """Rows of a table, as of these runs."""
    whole = pa.concat_tables([example(contract(table)).slice(0, 1)] * len(runs))
    place = whole.schema.get_field_index("run_id")
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(whole.set_column(place, "run_id", pa.array(runs, pa.large_string())), path)
    return path


@pytest.mark.parametrize(("rows", "parts"), [(1, 5), (3, 3), (100, 1)])
def test_parts_are_ranges_in_order_and_equal_values_stand_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, parts: int
) -> None:
    monkeypatch.setattr(dividing, "PART_ROWS", rows)
    files = [_file(tmp_path, ["b", "Ü", None, "b"]), _file(tmp_path, ["a=1/%", "b", "'; x", "Z"])]
    with Dividing() as engine:
        engine.bind("choice_bins", files)
        seen = [
            engine.query("SELECT run_id FROM choice_bins ORDER BY run_id NULLS FIRST")["run_id"].to_pylist()
            for _ in engine.parts({"choice_bins": "run_id"})
        ]
        assert [run for part in seen for run in part] == [None, "'; x", "Z", "a=1/%", "b", "b", "b", "Ü"]
        assert len(seen) == parts
        assert all(not set(one) & set(other) for i, one in enumerate(seen) for other in seen[:i])
        with pytest.raises(EngineError):
            engine.query("SELECT * FROM choice_bins")
        spilled = engine._spill.path
    assert not spilled.exists()


def test_parts_are_as_small_as_the_memory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "ROW_BYTES", 10_000_000)
    with using(Choice(memory_limit="30MB")), Dividing() as engine:
        engine.bind("choice_bins", [_file(tmp_path, list("abcdefg"))])
        seen = [engine.query("SELECT run_id FROM choice_bins") for _ in engine.parts({"choice_bins": "run_id"})]
    assert [len(part) for part in seen] == [3, 2, 2]


def test_two_tables_are_divided_at_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "PART_ROWS", 2)
    with Dividing() as engine:
        engine.bind("choice_bins", [_file(tmp_path, ["a", "b", "c"])])
        engine.bind("floor_events", [_file(tmp_path, ["b", "d"], "floor_events")])
        keys = {"choice_bins": "run_id", "floor_events": "run_id"}
        query = "SELECT run_id FROM choice_bins UNION ALL SELECT run_id FROM floor_events ORDER BY 1"
        seen = [engine.query(query)["run_id"].to_pylist() for _ in engine.parts(keys)]
    assert [run for part in seen for run in part] == ["a", "b", "b", "c", "d"]
    assert len(seen) > 1
