"""Parts of rows, answered one after the other by one engine, give what all rows at once give."""

from __future__ import annotations

import pytest

from evalframe.engines import parted
from evalframe.engines.choosing import Choice, open_engine, using
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.parted import Parted
from tests.engines.systems import system


def test_parts_give_what_all_rows_give_and_memory_is_whole_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parted, "ROW_BYTES", 4 << 20)
    one = system("easycom-floor-pre-boundary/1")
    with DuckDB(threads=1) as record, using(Choice(memory_limit="1GiB", threads=1)), Parted() as engine:
        found = one.asked(engine, one.plan())
        whole = one.asked(record, one.plan())
        assert list(found) == list(whole)
        for name, table in whole.items():
            assert found[name].equals(table), name
        assert engine.query("SELECT current_setting('memory_limit') AS it").to_pylist() == [{"it": "1.0 GiB"}]


def test_an_engine_by_parts_is_still_the_chosen_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVALFRAME_ENGINE", raising=False)
    with open_engine(by_parts=True) as engine:
        assert type(engine) is Parted
    with open_engine() as engine:
        assert type(engine) is DuckDB
