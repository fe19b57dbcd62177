"""How a command starts and ends: set up for a short life, with no more loaded than it uses, and gone at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalframe.store import Store
from tests.compare.building import add_run, items

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
SET_UP = """
import gc, json, os, sys
from evalframe.cli import main
try:
    main(["--help"])
except SystemExit:
    print(json.dumps([gc.get_threshold()[0], os.environ["OPENBLAS_NUM_THREADS"]]), file=sys.stderr)
"""
LOADED = """
import json, sys
from evalframe.cli.run import run
assert run(sys.argv[1:]) == 0
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

LEFT = """
import atexit, sys
from evalframe.cli import program
atexit.register(print, "closed")
sys.argv = ["evalframe", *sys.argv[1:]]
program()
print("not reached")
"""


def started(code: str, *arguments: str, **threads: str) -> subprocess.CompletedProcess[str]:
    """A process that ran `code` to its end. threads: variables that say how many; others are not set."""
    there = {name: value for name, value in os.environ.items() if name not in THREADS}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**there, **threads})


@pytest.mark.parametrize(
    ("given", "used"),
    [({}, "1"), ({"OMP_NUM_THREADS": "2"}, "2"), ({"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "2"}, "3")],
    ids=str,
)
def test_threads_of_products_are_one_unless_the_caller_says_otherwise(given: dict[str, str], used: str) -> None:
    objects, threads = json.loads(started(SET_UP, **given).stderr)
    assert threads == used
    assert objects > 10_000


def test_a_comparison_loads_what_it_compares_with(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    add_run(store, "a", items(120, 8, skill=0.6, seed=1))
    add_run(store, "b", items(120, 8, skill=0.7, seed=2))
    asked = (
        "compare",
        "--store",
        str(store.path),
        "--baseline",
        "a",
        "--candidate",
        "b",
        "--replicates",
        "20",
        "--json",
    )
    loaded = set(json.loads(started(LOADED, *asked).stderr))
    assert loaded.isdisjoint(
        {"scipy", "polars", "torch", "pydantic", "pandas", "sklearn", "ray", "numpy.ma", "pyarrow.compute"}
    )
    assert not any(name.startswith("evalframe.sources.") for name in loaded)
    others = {"shared", "groups", "clustering", "reselecting", "rank_kernels"}
    assert loaded.isdisjoint(f"evalframe.compare.{name}" for name in others)
    assert loaded.isdisjoint({"evalframe.verbs.score", "evalframe.contracts.validating", "evalframe.relations.explain"})
    assert loaded.isdisjoint({"evalframe.relations.syntax", "evalframe.store.journal", "evalframe.compare.gates"})


def test_a_list_of_runs_loads_no_engine_and_no_protocol(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    add_run(store, "a", items(120, 8, skill=0.6, seed=1))
    loaded = set(json.loads(started(LOADED, "runs", "--store", str(store.path)).stderr))
    assert loaded.isdisjoint({"duckdb", "difflib", "html", "secrets", "evalframe.protocols", "evalframe.relations"})


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--help"], 0), (["nothing"], 2), (["runs", "--store", "/nowhere"], 2)],
)
def test_a_process_ends_with_the_code_of_its_command_and_closes_what_asked_for_it(words: list[str], code: int) -> None:
    done = subprocess.run([sys.executable, "-c", LEFT, *words], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1:] == ["closed"]
    assert ("expected" in done.stderr) == bool(code)


@pytest.mark.parametrize(
    ("words", "stream", "code"),
    [
        ("--help", "> /dev/full", 2),
        ("--help", ">&-", 0),
        ("--help", "| true", 0),
        ("runs --store /nowhere --json", "> /dev/full", 2),
        ("runs --store /nowhere", "2>&-", 2),
    ],
)
def test_a_stream_that_takes_nothing_does_not_hold_up_the_end(words: str, stream: str, code: int) -> None:
    line = f"{sys.executable} -m evalframe {words} {stream}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
