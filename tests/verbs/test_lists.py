"""Where a verb takes several things, one text, path or number is one of them and never the list of its letters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.errors import UsageError
from evalframe.verbs import compare, demo_data, export, import_files, leaderboard, report, robometer_evaluate, wisp_gate
from evalframe.verbs.audit_values import audit_values
from evalframe.verbs.opened import Store
from tests.protocols.easycom_floor.folders import random_sessions, write_run, write_targets
from tests.sources.foreign import inspect_log, inspect_sample, written

SYSTEMS = (evalframe.floor, evalframe.kev, evalframe.robometer, evalframe.wisp)
VERBS: list[Callable[..., Any]] = [
    *(getattr(system, name) for system in SYSTEMS for name in system.__all__),
    *(method for name, method in vars(Store).items() if inspect.isfunction(method) and not name.startswith("_")),
    compare.compare, export.export, import_files.import_files, leaderboard.leaderboard, report.report, audit_values,
]  # fmt: skip
"""What `evalframe.SYSTEM` and `evalframe.open(DIR)` offer, and the functions whose options the latter pass on."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("lists")
    for name in "ab":
        path = folder / f"{name}.npz"
        path.write_bytes(demo_data.windows(skill=0.7, seed=ord(name)))
        evalframe.wisp.score(path, store=folder / "store", tags={"method": name, "fold": "0"})
    return evalframe.open(folder / "store")


def test_every_list_of_a_verb_may_be_one_thing() -> None:
    lists = {
        (verb.__qualname__, name): argument.annotation
        for verb in VERBS
        for name, argument in inspect.signature(verb).parameters.items()
        if "Sequence[" in str(argument.annotation)
    }
    assert len(lists) > 15
    assert {
        place for place, said in lists.items() if not said.replace(" | None", "").endswith(("str", "float", "int"))
    } == set()


def test_runs(store: Store) -> None:
    assert store.sql("SELECT run_id FROM runs", runs="a").to_pylist() == [{"run_id": "a"}]
    assert [row["run_id"] for row in store.rescore("b").to_pylist()] == ["b"]
    place = str(store.folder.path)
    assert audit_values(place, runs="a").body() == audit_values(place, runs=["a"]).body()


def test_compare(store: Store) -> None:
    texts = {"metrics": "macro_f1", "strata": "all", "fail_if_worse": "macro_f1:50"}
    found = store.compare("a", "b", replicates=20, **texts)
    assert found.table.equals(store.compare("a", ["b"], replicates=20, **{k: [v] for k, v in texts.items()}).table)
    assert {row["metric"] for row in found.to_pylist()} == {"macro_f1"}
    assert compare.compare(store.folder, "a", "b", replicates=20).request.candidates == ("b",)
    assert store.compare("method=a", "method=b", pair_on="fold", replicates=20).request.pair_on == ("fold",)
    for narrowed in ("horizons", "recalls"):
        with pytest.raises(UsageError, match="none of the metrics has"):
            store.compare("a", "b", **{narrowed: 0.5})


def test_files(tmp_path: Path) -> None:
    log = inspect_log([inspect_sample("q", 1, "t", {"match": "C"})], {"match": 1.0})
    path = written(tmp_path / "log.json", log)
    for number, one in enumerate((path, str(path))):
        done = import_files.import_files(one, store=tmp_path / f"store{number}")
        assert [row["source"] for row in done.to_pylist()] == ["log.json"]
    turns = tmp_path / "m.rttm"
    turns.write_text("SPEAKER m 1 0 0.5 <NA> <NA> w <NA> <NA>\n")
    for one in (turns, str(turns)):
        made = evalframe.floor.rasterize(one, wearer="w", output_dir=tmp_path / "target")
        assert [row["session"] for row in made.to_pylist()] == ["m"]


def test_sessions(tmp_path: Path) -> None:
    sessions = random_sessions(8, ["s0", "s1"])
    target = write_targets(tmp_path / "target", sessions)
    texts = {"sessions": "s0", "calibration_sessions": "s1", "matched_recalls": "0.8"}
    run = {"m": write_run(tmp_path / "run", sessions)}
    found = evalframe.floor.evaluate(target, runs=run, **texts)
    assert found.table.equals(evalframe.floor.evaluate(target, runs=run, **{k: [v] for k, v in texts.items()}).table)

    (tmp_path / "raw").mkdir()
    np.save(tmp_path / "raw" / "s0.npy", np.full((len(sessions[0].target) - 10, 10, 3), 0.25, np.float32))
    made = evalframe.floor.convert_miniroada(tmp_path / "raw", target, tmp_path / "out", sessions="s0")
    assert [row["session"] for row in made.to_pylist()] == ["s0"]


class Reached(Exception):
    """What a verb handed on."""


def _stop(*given: Any) -> Any:
    raise Reached(given[-1])


def test_what_takes_long_hands_on_a_list_too(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "comparisons", lambda store, baseline, candidates, **named: _stop(candidates))
    monkeypatch.setattr(wisp_gate, "read_inventory", lambda path: [])
    monkeypatch.setattr(wisp_gate, "select", _stop)
    monkeypatch.setattr(robometer_evaluate, "_checked_steps", _stop)
    places = {"dataset": tmp_path, "task_registry": tmp_path, "checkpoint_root": tmp_path, "base_model": tmp_path}
    calls: dict[Any, Callable[[], Any]] = {
        ("b",): lambda: store.report(baseline="a", candidates="b"),
        ("all",): lambda: evalframe.wisp.gate("inventory.csv", "frozen.csv", full_inference="all"),
        (100,): lambda: evalframe.robometer.evaluate(
            predictor="no:where", split="test_ood", output=tmp_path / "o", setting="A", steps=100, **places
        ),
    }
    for expected, call in calls.items():
        with pytest.raises(Reached) as reached:
            call()
        assert reached.value.args == (expected,)
