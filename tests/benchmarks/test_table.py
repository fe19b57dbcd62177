"""The table has a line for every way of every work, and its figures can be asked for in a store. No time is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

import evalframe
from evalframe.errors import ResultsMissing
from tests.benchmarks import __main__ as table
from tests.benchmarks import choice, classification, floor
from tests.benchmarks.works import WORKS

GROWING = ("ranking", "tails")
QUICK = ("classes", "choices", "frames", "traces", "bootstrap", "ranking", "tails")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    common = ["--repeats", "1", "--store", str(folder / "store")]
    with pytest.MonkeyPatch.context() as patch:
        for module in (choice, classification, floor):  # a process each is what takes long
            patch.setattr(module, "peak_memory", lambda *_: 1.0)
        table.main(["--size", "1000", "--only", *QUICK, *common, "--run-id", "one", "--output", str(folder / "one.md")])
        few = ["--size", "1000", "2000", "--only", *GROWING]
        table.main([*few, *common, "--run-id", "two", "--output", str(folder / "two.md")])
    return folder


def lines_of(part: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines()]


def test_every_way_of_every_work_has_a_line(written: Path) -> None:
    facts, part = (written / "one.md").read_text().split("\n\n")
    assert "python" in facts
    assert "commit" in facts
    heads, rule, *lines = lines_of(part)
    assert tuple(heads) == table.HEADS
    assert set(rule) == {"---"}
    assert {line[0] for line in lines} == {WORKS[name].title for name in QUICK}
    for line in lines:
        assert min(float(line[4]), float(line[8])) >= 0
        assert line[3] in ("ours", "floor", "other")
    for name in QUICK:
        ways = {line[2] for line in lines if line[0] == WORKS[name].title}
        assert {*WORKS[name].ours, *WORKS[name].at_most, *WORKS[name].at_least} <= ways


def test_several_sizes_have_a_table_each_and_one_of_growth(written: Path) -> None:
    _, first, second, growth = map(lines_of, (written / "two.md").read_text().split("\n\n"))
    assert len(first) == len(second) == len(growth)
    assert [line[:2] for line in growth[2:]] == [[line[0], line[2]] for line in second[2:]]
    assert {line[2] for line in growth[2:]} == {"2.0"}


def test_the_figures_are_recorded_values_of_a_run(written: Path) -> None:
    store = evalframe.open(written / "store")
    assert store.runs().table["run_id"].to_pylist() == ["one", "two"]
    tags = dict(store.runs().table["tags"].to_pylist()[0])
    assert {"version", "commit", "cores", "python"} <= set(tags)
    rows = store.sql(
        "SELECT DISTINCT metric, unit, origin, metric_fingerprint FROM metric_values ORDER BY metric"
    ).table
    assert rows["metric"].to_pylist() == ["memory", "processor_seconds", "seconds", "seconds_of_floor"]
    assert set(rows["origin"].to_pylist()) == {"sidecar"}
    assert set(rows["metric_fingerprint"].to_pylist()) == {None}
    assert store.verify().table.num_rows == 0


def test_two_runs_are_set_beside_each_other_where_both_have_a_figure(written: Path) -> None:
    found = table.beside(written / "store", "one", "two").to_pylist()
    assert {row["stratum"].partition(":")[0] for row in found} == {WORKS[name].title for name in GROWING}
    for row in found:
        assert row["ratio"] == pytest.approx(row["after"] / row["before"])


def test_compare_refuses_what_no_protocol_stands_behind(written: Path) -> None:
    with pytest.raises(ResultsMissing):
        evalframe.open(written / "store").compare("one", "two")


def test_what_each_work_calls_its_own_is_one_of_its_ways() -> None:
    assert set(QUICK) | {"store", "start"} == set(WORKS)
    for work in WORKS.values():
        assert not set(work.at_most) - set(work.ours)
        assert not set(work.at_least) & set(work.ours)
