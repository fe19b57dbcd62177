"""Names of runs and tags that are no text are refused where they come in, in every function that takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import UsageError
from evalframe.publish.targets import target
from evalframe.store import Store
from evalframe.verbs import demo_data, floor, import_files, kev, robometer_evaluate, robometer_import, wisp
from evalframe.verbs.robometer_score import score as score_traces
from evalframe.verbs.wisp_evaluate import evaluate as evaluate_checkpoint
from tests.protocols.easycom_floor.folders import random_sessions, write_run, write_targets
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories
from tests.sources.foreign import inspect_log, inspect_sample, record, written

BROKEN = "a\ud800"


def _floor(folder: Path, **names: Any) -> Any:
    sessions = random_sessions(8, ["s0", "s1"])
    write_targets(folder / "target", sessions)
    write_run(folder / "run", sessions)
    return floor.evaluate(
        target_root=folder / "target",
        runs={"m": folder / "run"},
        sessions=["s0"],
        calibration_sessions=["s1"],
        output=folder / "out.json",
        **names,
    )


def _traces(folder: Path, **names: Any) -> Any:
    world = trajectories(3)
    target_rows(world).write_parquet(folder / "targets.parquet")
    trace_rows(world, run_id="robot").write_parquet(folder / "traces.parquet")
    where = {"traces": folder / "traces.parquet", "targets": folder / "targets.parquet", "output": folder / "out"}
    return score_traces(**where, protocol="robometer-ind", top_k=2, **names)


def _windows(folder: Path, **names: Any) -> Any:
    (folder / "a.npz").write_bytes(demo_data.windows(skill=0.5, seed=1))
    return wisp.score(folder / "a.npz", **names)


def _answers(folder: Path, **names: Any) -> Any:
    (folder / "rows.jsonl").write_bytes(demo_data.questions(skill=0.5, seed=1))
    return kev.score(rows=folder / "rows.jsonl", **names)


def _log(folder: Path, **names: Any) -> Any:
    log = inspect_log([inspect_sample("q", 1, "t", {"match": "C"})], {"match": 1.0})
    return import_files.import_files([written(folder / "log.json", log)], store=folder / "store", **names)


def _record(folder: Path, **names: Any) -> Any:
    return import_files.import_files([written(folder / "record.json", record())], store=folder / "store", **names)


def _seal(folder: Path, *, run_id: str = "a", **names: Any) -> Any:
    store = Store.open(folder / "store", create=True)
    return store.write_run(run_id, system="s", dataset_id=None, tables={}, inputs={}, **names)


def _checkpoint(folder: Path, **names: Any) -> Any:
    return evaluate_checkpoint(folder / "model.pt", folder / "x.npz", **names)


def _robot(folder: Path, **names: Any) -> Any:
    places = {"dataset": folder, "task_registry": folder / "r.json", "checkpoint_root": folder, "base_model": folder}
    more = {"predictor": "no:where", "split": "test_ood", "output": folder / "o", "steps": [0], "setting": "A"}
    return robometer_evaluate.evaluate(**places, **more, **names)  # type: ignore[arg-type]


def _folder(folder: Path, **names: Any) -> Any:
    return robometer_import.import_folder(folder, store=folder / "store", **names)


@pytest.mark.parametrize("names", [{"run_id": BROKEN}, {"tags": {BROKEN: "x"}}, {"tags": {"x": BROKEN}}], ids=str)
@pytest.mark.parametrize(
    "call", [_windows, _answers, _floor, _traces, _log, _record, _seal, _checkpoint, _robot, _folder]
)
def test_a_lone_surrogate_is_refused(call: Callable[..., Any], names: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a run id is not text|a tag is not text|an id is not text"):
        call(tmp_path, **names)
    assert not list(tmp_path.glob("out*"))


def test_names_of_files_and_folders_are_names_too(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(demo_data.windows(skill=0.5, seed=1))
    path = (tmp_path / "a.npz").rename(tmp_path / "a\udcff.npz")
    with pytest.raises(UsageError, match="a run id is not text"):
        wisp.score(path)
    with pytest.raises(UsageError, match="a run id is not text"):
        _floor(tmp_path, run_prefix=BROKEN)


@pytest.mark.parametrize(
    "ask", [lambda s: s.run(BROKEN), lambda s: s.withdraw(BROKEN, "because"), lambda s: s.withdraw("a", BROKEN)]
)
def test_asking_a_store_for_such_a_name_is_refused(ask: Callable[[Store], Any], tmp_path: Path) -> None:
    _seal(tmp_path)
    with pytest.raises(UsageError, match="is not text"):
        ask(Store.open(tmp_path / "store"))


@pytest.mark.parametrize("to", ["csv:", "sqlite:", "", "postgresql://", "superset:"])
def test_no_place_to_export_to_is_called_so(to: str) -> None:
    with pytest.raises(UsageError, match="is not text"):
        target(f"{to}{BROKEN}")
    with pytest.raises(UsageError, match="is not text"):
        target("superset:x.zip", f"duckdb:////{BROKEN}")
