"""Every relation by example: tiny inputs, the rows that must come out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalframe.engines.cases import Cases, read_case
from evalframe.engines.duckdb import DuckDB
from evalframe.relations import catalogue

HERE = Path(__file__).parent
CASES = sorted(HERE.rglob("*.yaml"))


@pytest.fixture(scope="module")
def cases() -> Iterator[Cases]:
    with DuckDB(threads=1) as engine:
        yield Cases(catalogue(), engine)


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.relative_to(HERE).with_suffix("")))
def test_case(cases: Cases, path: Path) -> None:
    case = read_case(path)
    differences = cases.differences(case)
    assert not differences, "\n".join([case.shows, *differences])
