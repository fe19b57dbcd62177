"""A line for every way of every work; two tables in a store are compared like any two runs. No time is judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evalframe
from evalframe.cli.run import run
from tests.benchmarks import __main__ as table
from tests.benchmarks import choice, classification, floor, progress, sealing
from tests.benchmarks.timing import Round, Timing, peak_memory
from tests.benchmarks.works import WORKS, Line

GROWING = ("ranking", "tails")
QUICK = ("classes", "choices", "frames", "traces", "bootstrap", "ranking", "tails")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    common = ["--repeats", "1", "--store", str(folder / "store")]
    with pytest.MonkeyPatch.context() as patch:
        for module in (choice, classification, floor, progress):  # a process each is what takes long
            patch.setattr(module, "peak_memory", lambda *_: 1.0)
        table.main(["--size", "1000", "--only", *QUICK, *common, "--run-id", "one", "--output", str(folder / "one.md")])
        few = ["--size", "1000", "2000", "--only", *GROWING]
        table.main([*few, *common, "--run-id", "two", "--output", str(folder / "two.md")])
    return folder


def lines_of(part: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines()]


def test_what_a_process_holds_at_one_time_is_its_peak() -> None:
    assert peak_memory(bytearray, 200 << 20) == pytest.approx(200, rel=0.1)


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


def test_the_times_are_scored_as_a_run(written: Path) -> None:
    store = evalframe.open(written / "store")
    assert store.runs().table["run_id"].to_pylist() == ["one", "two"]
    tags = dict(store.runs().table["tags"].to_pylist()[0])
    assert {"version", "commit", "machine", "python"} <= set(tags)
    rows = store.sql("SELECT * FROM metric_values WHERE run_id = 'one'").to_pylist()
    assert {row["metric"] for row in rows} == {"seconds", "processor_seconds", "seconds_of_floor", "peak_memory"}
    assert None not in {row["metric_fingerprint"] for row in rows}
    assert {row["protocol"] for row in rows} == {"timing/1"}
    shown = lines_of((written / "one.md").read_text().split("\n\n")[1])[2:]
    seconds = {row["stratum"]: row["value"] for row in rows if row["metric"] == "seconds"}
    for work, _, way, _, least, *_ in shown:
        (found,) = [value for name, value in seconds.items() if name.startswith(f"work={work}: {way} (")]
        assert found == pytest.approx(float(least), abs=6e-4)
    assert store.verify().table.num_rows == 0


def test_runs_of_other_sizes_are_compared_on_what_they_share_only(written: Path) -> None:
    store = evalframe.open(written / "store")
    refused = store.compare("one", "two", replicates=100)
    assert (refused.verdict, set(refused.reasons)) == ("not_comparable", {"items_differ"})
    shared = store.compare("one", "two", on_intersection=True, replicates=100)
    assert shared.verdict == "comparable_on_intersection"


# ---- two versions, of which all times are known --------------------------------------------------------------------


SCAN = [1.0, 1.0, 2.0, 1.0, 1.0, 2.0]


def line(way: str, role: str, rounds: list[float], rows: int, memory: float | None = None) -> Line:
    timing = Timing(tuple(Round(seconds, seconds / 2) for seconds in rounds), memory)
    floor = Timing(tuple(Round(seconds, seconds) for seconds in SCAN))
    return Line("sort", way, role, rows, timing, floor, None, 1.0, "", None)


def version(seconds: list[float], rows: int = 10, memory: float = 4.0) -> list[list[Line]]:
    return [
        [
            line("merge", "ours", seconds, rows, memory),
            line("scan", "floor", SCAN, rows),
            line("bubble", "other", [8.0] * 6, rows),
            line("built", "ours", [100.0], rows),
        ]
    ]


OLD, NEW = [4.0, 4.0, 8.0, 4.0, 4.0, 8.0], [2.0, 2.0, 4.0, 2.0, 3.0, 4.0]


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("versions") / "store"
    sealing.seal(path, "old", version(OLD))
    sealing.seal(path, "new", version(NEW, memory=3.0))
    sealing.seal(path, "larger", version(NEW, rows=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "machine", lambda: "another machine, 64 cores")
        sealing.seal(path, "elsewhere", version(NEW))
    return path


def compared(path: Path, candidate: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    asked = ["compare", "--store", str(path), "--baseline", "old", "--candidate", candidate, "--json", *more]
    code = run(asked)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def test_two_versions_are_compared_by_their_rounds(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(versions, "new", capsys)
    assert (code, found["verdict"]) == (0, "comparable")
    rows = {(row["metric"], row["stratum"]): row for row in found["rows"]}
    seconds = rows["seconds", "role=ours"]
    assert (seconds["baseline"], seconds["candidate"]) == (sum(OLD) / 6, sum(NEW) / 6)
    assert seconds["change"] == pytest.approx(-2.5, abs=1e-12)
    assert seconds["ci_low"] < seconds["change"] < seconds["ci_high"] < 0
    assert (seconds["cluster"], seconds["n_clusters"]) == ("round", 6)
    # Every round became faster, so two of the 2^6 exchanges of rounds change as much.
    quotient = rows["seconds_of_floor", "role=ours"]
    assert quotient["p_adjusted"] == quotient["p_value"] == seconds["p_value"] == 2 / 64
    assert (quotient["baseline"], quotient["candidate"]) == (sum(OLD) / 8, sum(NEW) / 8)
    # Looked at once, it is no round among others: nothing can be said of its chance.
    memory = rows["peak_memory", "role=ours"]
    assert (memory["baseline"], memory["candidate"]) == (4.0, 3.0)
    assert (memory["ci_low"], memory["p_value"]) == (None, 1.0)
    assert found["family"]["m"] == 1


def test_the_python_call_says_the_same_of_one_work(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stratum = "work=sort: merge (10 rows)"
    code, found = compared(versions, "new", capsys, "--stratum", stratum, "--metric", "processor_seconds")
    called = evalframe.open(versions).compare("old", "new", strata=[stratum], metrics=["processor_seconds"])
    assert code == 0
    (row,) = found["rows"]
    assert row["candidate"] == sum(NEW) / 12
    (same,) = called.to_pylist()
    assert [same[name] for name in ("baseline", "candidate", "ci_low", "ci_high")] == [
        row[name] for name in ("baseline", "candidate", "ci_low", "ci_high")
    ]


def test_what_ran_once_is_in_no_mean_of_rounds(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = compared(versions, "new", capsys, "--stratum", "role=once", "--metric", "seconds")
    (row,) = found["rows"]
    assert (row["baseline"], row["change"], row["ci_low"]) == (100.0, 0.0, None)


def test_another_machine_is_refused_by_name(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(versions, "elsewhere", capsys)
    assert (code, found["verdict"], found["reasons"]) == (3, "not_comparable", ["fingerprint_differs"])
    (machine,) = [each for each in found["protocol_diff"] if each["field"] == "parameters.machine"]
    assert (machine["class"], machine["candidate"]) == ("score_affecting", "another machine, 64 cores")


def test_another_size_is_refused(versions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(versions, "larger", capsys)
    assert (code, found["verdict"], found["reasons"]) == (3, "not_comparable", ["items_differ"])
    code, found = compared(versions, "larger", capsys, "--on-intersection")
    assert (code, found["verdict"]) == (3, "not_comparable")


def test_a_work_that_two_sizes_share_stands_once() -> None:
    (lines,) = version(NEW)
    again = replace(lines[0], timing=Timing((Round(99.0, 99.0),) * 6))
    assert [row["seconds"] for row in sealing.timing_rows([*lines[:2], again])][:6] == NEW
    assert len(list(sealing.timing_rows([*lines[:2], again]))) == 12


def test_what_each_work_calls_its_own_is_one_of_its_ways() -> None:
    assert set(QUICK) | {"store", "start"} == set(WORKS)
    for work in WORKS.values():
        assert not set(work.at_most) - set(work.ours)
        assert not set(work.at_least) & set(work.ours)
