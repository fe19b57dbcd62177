"""Saved traces scored: files, store, identities that never mix, windows, ties, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalframe.errors import (
    EvalframeError,
    ExitCode,
    ManifestDiffers,
    PoolTooSmall,
    SelectionDiffers,
    UnknownName,
    UsageError,
)
from evalframe.protocols import protocol
from evalframe.robometer import import_folder, score
from evalframe.store import Store
from evalframe.verbs.compare import compare
from evalframe.verbs.explain import explain
from evalframe.verbs.opened import open_store
from evalframe.verbs.rescore import rescore
from tests.oracles import progress as oracle
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories

# Four tasks, so that every protocol takes it; ten trajectories each, none missing.
WORLD = trajectories(3, tasks=4, per_outcome=5, max_frames=12, failing=0.0, missing=0.0)
K = 7


def written(folder: Path, *, run_id: str = "run", steps: tuple[int, ...] = (0, 100)) -> dict[str, Path]:
    paths = {"traces": folder / f"{run_id}.parquet", "targets": folder / "targets.parquet"}
    pl.concat([trace_rows(WORLD, run_id=run_id, step=step) for step in steps]).write_parquet(paths["traces"])
    target_rows(WORLD).write_parquet(paths["targets"])
    return paths


def refused(kind: type[EvalframeError], act: Callable[[], object]) -> EvalframeError:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 4
    return caught.value


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_tree_is_that_of_an_evaluation_and_imports_as_itself(tmp_path: Path) -> None:
    score(**written(tmp_path), protocol="robometer-ind", top_k=K, output=tmp_path / "out")
    step = {"traces.parquet", "progress.json", "failure.json", "filtering.json", "metrics.json"}
    assert {p.name for p in (tmp_path / "out/steps/step-000100").iterdir()} == step
    found = import_folder(tmp_path / "out", store=tmp_path / "store")
    assert [row["run_id"] for row in found.to_pylist()] == ["run@0", "run@100"]
    values = Store.open(tmp_path / "store").read("metric_values", runs=["run@100"]).to_pylist()
    metrics = json.loads((tmp_path / "out/steps/step-000100/metrics.json").read_text(encoding="utf-8"))
    stored = {row["metric"]: row["value"] for row in values if row["stratum"] == "all"}
    assert metrics["failure"]["f1"] == stored["failure_f1"]
    assert metrics["top_k"]["slope"] == stored["top_k_slope"]
    assert {row["origin"] for row in values} == {"rescored_saved_predictions"}


def test_metrics_json_has_every_promised_name(tmp_path: Path) -> None:
    score(**written(tmp_path), protocol="robometer-ood", top_k=K, output=tmp_path / "out")
    body = json.loads((tmp_path / "out/steps/step-000000/metrics.json").read_text(encoding="utf-8"))
    names = {"progress_mse", "progress_spearman", "n_trajectories", "n_too_few_points", "n_spearman_undefined"}
    assert names | {"failure", "failure_roc_auc", "failure_ap", "top_k"} <= set(body)
    assert {"precision", "recall", "f1", "accuracy", "tp", "fp", "fn", "tn", "n_no_window"} == set(body["failure"])
    assert set(body["top_k"]) == set(oracle.SCORES)
    assert body["n_trajectories"] == len(WORLD)
    assert body["n_too_few_points"] == sum(oracle.status(t) == "too_few_points" for t in WORLD)
    assert body["protocol"]["name"] == "robometer-ood"


def test_the_same_again_is_a_no_op_and_another_protocol_is_not(tmp_path: Path) -> None:
    how: dict[str, Any] = {**written(tmp_path), "top_k": K, "output": tmp_path / "out", "store": tmp_path / "store"}
    score(**how, protocol="robometer-ind")
    before = files(tmp_path / "out")
    again = score(**how, protocol="robometer-ind")
    assert all(line.endswith("(unchanged)") for line in again.headlines())
    refused(ManifestDiffers, lambda: score(**how, protocol="robometer-ood"))
    assert files(tmp_path / "out") == before
    score(**how, protocol="robometer-ood", force=True)
    assert files(tmp_path / "out") != before


def test_ind_ood_and_top50_are_three_identities(tmp_path: Path) -> None:
    settings = {"robometer-ind": {}, "robometer-ood": {}, "robometer-filtering-top50": {}}
    prints: dict[str, dict[str, str]] = {}
    for label in settings:
        found = score(**written(tmp_path), protocol=label, top_k=K, store=tmp_path / "store")
        prints[label] = dict(found.steps[0].identity.metric_fingerprints)
    shared = set.intersection(*(set(one) for one in prints.values()))
    assert shared == {"top_k_pearson", "top_k_final", "top_k_delta"}
    for metric in shared:
        assert len({one[metric] for one in prints.values()}) == 3
    assert prints["robometer-ind"]["progress_mse"] != prints["robometer-ood"]["progress_mse"]
    assert "no published number" in protocol("robometer-filtering-top50").claims


def test_two_failure_rules_are_not_compared(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for label, name in (("robometer-ind", "a"), ("robometer-ood", "b")):
        score(**written(tmp_path, run_id=name), protocol=label, top_k=K, store=store)
    found = compare(Store.open(store), "a@0", ["b@0"], replicates=20)
    assert found.verdict == "not_comparable"
    assert found.exit_code == ExitCode.NOT_COMPARABLE


def test_steps_and_models_are_compared_by_trajectory(tmp_path: Path) -> None:
    store = tmp_path / "store"
    score(**written(tmp_path), protocol="robometer-ind", top_k=K, store=store)
    half = trace_rows(WORLD, run_id="half", step=100).with_columns(progress=pl.col("progress") / 2)
    half.write_parquet(tmp_path / "half.parquet")
    score(tmp_path / "half.parquet", tmp_path / "targets.parquet", protocol="robometer-ind", top_k=K, store=store)
    found = compare(Store.open(store), "run@0", ["run@100", "half@100"], replicates=50)
    assert found.verdict == "comparable"
    rows = {(row["candidate_run"], row["metric"]): row for row in found.to_pylist()}
    same, halved = rows["run@100", "progress_mse"], rows["half@100", "progress_mse"]
    assert (same["change"], same["ci_low"], same["ci_high"], same["p_value"]) == (0.0, 0.0, 0.0, 1.0)
    assert halved["n_clusters"] == len(WORLD)
    assert halved["change"] != 0.0
    # Half of every prediction ranks everything as before.
    assert rows["half@100", "top_k_final"]["change"] == 0.0


def test_other_targets_are_another_evaluation_set(tmp_path: Path) -> None:
    store = tmp_path / "store"
    paths = written(tmp_path)
    score(**paths, protocol="robometer-ind", top_k=K, store=store)
    moved = target_rows(WORLD).with_columns(target_progress=pl.col("target_progress") / 2)
    moved.write_parquet(tmp_path / "moved.parquet")
    score(paths["traces"], tmp_path / "moved.parquet", protocol="robometer-ind", top_k=K, store=store, run_id="moved")
    assert compare(Store.open(store), "run@0", ["moved@0"], replicates=20).verdict == "not_comparable"


def test_a_window_is_any_or_the_last_under_its_own_fingerprint(tmp_path: Path) -> None:
    falls_then_rises = [0.9, 0.8, 0.7, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9]
    traces = pl.DataFrame(
        {
            "run_id": "r",
            "step": 0,
            "trajectory_id": "t",
            "query_task": "q",
            "prefix_index": range(9),
            "frame_index": range(9),
            "progress": falls_then_rises,
            "success_probability": 0.25,
        }
    )
    targets = pl.DataFrame(
        {"trajectory_id": "t", "task": "q", "outcome": "failure", "frame_index": range(9), "target_progress": 0.5}
    )
    traces.write_parquet(tmp_path / "traces.parquet")
    targets.write_parquet(tmp_path / "targets.parquet")
    found = {
        window: score(
            tmp_path / "traces.parquet",
            tmp_path / "targets.parquet",
            protocol="robometer-ind",
            top_k=1,
            window=window,
            output=tmp_path / window,
        ).steps[0]
        for window in ("any", "last")
    }
    assert found["any"].value("failure_recall") == 1.0
    assert found["last"].value("failure_recall") == 0.0
    one, other = (f.identity.metric_fingerprints for f in found.values())
    assert one["failure_f1"] != other["failure_f1"]
    assert one["progress_mse"] == other["progress_mse"]
    call = json.loads((tmp_path / "any/steps/step-000000/failure.json").read_text(encoding="utf-8"))["trajectories"][0]
    assert (call["fired_window"], call["because"]) == (0, "window_and_final")
    assert call["fired_window_pearson"] == pytest.approx(-1.0)


def test_pools_and_query_tasks_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    paths = written(tmp_path)
    where: dict[str, Any] = {"output": tmp_path / "out", "store": tmp_path / "store"}
    error = refused(PoolTooSmall, lambda: score(**paths, protocol="robometer-ind", top_k=41, **where))
    assert error.exit_code == ExitCode.CONTRACT
    assert "task 0: " in error.found
    refused(PoolTooSmall, lambda: score(**paths, protocol="robometer-filtering-top50", **where))
    three = pl.read_parquet(paths["traces"]).filter(pl.col("query_task") != "task 3")
    three.write_parquet(tmp_path / "three.parquet")
    error = refused(
        SelectionDiffers,
        lambda: score(
            tmp_path / "three.parquet", paths["targets"], protocol="robometer-filtering-top50", top_k=K, **where
        ),
    )
    assert error.found.startswith("3: ")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "store").exists()


def test_options_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    paths = written(tmp_path)
    refused(UsageError, lambda: score(**paths, protocol="wisp-har"))
    refused(UnknownName, lambda: score(**paths, protocol="robometer-all"))
    refused(UnknownName, lambda: score(**paths, protocol="robometer-ind", settings={"k": "3"}))
    refused(UsageError, lambda: score(**paths, protocol="robometer-ind", top_k=0))
    refused(UsageError, lambda: score(**paths, protocol="robometer-ind", window="first"))
    refused(UsageError, lambda: score(**paths, protocol="robometer-ind", top_k=3, settings={"top_k": "4"}))


def test_the_store_answers_by_step_by_trajectory_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    score(**written(tmp_path), protocol="robometer-ind", top_k=K, store=folder, tags={"setting": "A"})
    store = open_store(folder)
    curve = store.sql(
        "SELECT series, step, value, base_value FROM learning_curves "
        "WHERE metric = 'progress_mse' AND stratum = 'all' ORDER BY step"
    ).to_pylist()
    assert [(row["series"], row["step"]) for row in curve] == [("run", 0), ("run", 100)]
    assert curve[1]["base_value"] == curve[0]["value"]
    why = store.sql(
        "SELECT because, count(*) AS n FROM failure_calls WHERE run_id = 'run@0' GROUP BY because ORDER BY because"
    ).to_pylist()
    assert sum(row["n"] for row in why) == len(WORLD)
    told = explain(
        "failure_f1", steps=True, store=folder, run="run@100", where={"trajectory_id": WORLD[0].id, "stratum": "all"}
    )
    shown = {step["relation"]: step["rows"] for step in told.body["steps"]}
    assert [row["trajectory_id"] for row in shown["failure_calls"]] == [WORLD[0].id]
    assert len(shown["failure_f1"]) == 1
    assert {row["outcome"] for row in rescore(Store.open(folder)).to_pylist()} == {"unchanged"}
