"""Checkpoints evaluated end to end on a generated split: against the oracle, with broken models, by several workers."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalframe.errors import (
    CheckpointMissing,
    EvalframeError,
    ExitCode,
    ManifestDiffers,
    PoolTooSmall,
    PredictorRefused,
    StepClaimed,
    StoreConflict,
    UsageError,
)
from evalframe.features.prefixes import padded, query_frames
from evalframe.inference.progress import Query
from evalframe.robometer import compare_manifests, evaluate, import_folder
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.oracles import progress as oracle
from tests.protocols.robometer_frozen import videos

FACTORY = "tests.protocols.robometer_frozen.videos:factory"


def world(root: Path, tasks: Sequence[str] = videos.OOD, each: int = 2, steps: Sequence[int] = (100,)) -> videos.Files:
    files = videos.write(root, videos.rows_of(tasks, each))
    videos.write_checkpoints(files, steps)
    return files


def run(files: videos.Files, output: Path, **changed: Any) -> Any:
    how: dict[str, Any] = {
        "predictor": FACTORY,
        "dataset": files.dataset,
        "task_registry": files.registry,
        "split": "test_ood",
        "checkpoint_root": files.checkpoints,
        "base_model": files.base,
        "output": output,
        "steps": [0],
        "setting": "A",
        "settings": {"rows_per_outcome": "2", "top_k": "5"},
    }
    return evaluate(**{**how, **changed})


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def metrics(output: Path, step: int = 0) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((output / f"steps/step-{step:06d}/metrics.json").read_text(encoding="utf-8"))
    return body


def refused(kind: type[EvalframeError], act: Callable[[], object]) -> EvalframeError:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 4
    return caught.value


def asked_by_hand(rows: Sequence[dict[str, Any]], gain: float, tasks: Sequence[str]) -> list[oracle.Trajectory]:
    """Every prefix of every video for every task, by the text: no queue, no batch, no file."""
    model = videos.Arithmetic(gain)
    found = []
    for row in rows:
        traces = {}
        for task in tasks:
            answers = []
            for end in oracle.prefix_ends(len(row["video"])):
                progress, success = model.one(row["video"][list(padded(query_frames(end)))], task)
                answers.append(oracle.Point(end, Fraction(progress), Fraction(success)))
            traces[task] = answers
        target = {i: Fraction(float(np.float32(t))) for i, t in enumerate(row["target_progress"])}
        found.append(oracle.Trajectory(row["id"], row["task"], row["quality_label"], target, traces))
    return found


def full_robometer_splits() -> None:
    """Both splits at their full size, 1,200 and 400 rows, two steps each, against the oracle."""
    for split, tasks, rule in (("test_ind", videos.IND, "ind"), ("test_ood", videos.OOD, "ood")):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            test_a_split_end_to_end(Path(folder), split, tasks, 50, rule)
            print(f"{split}: {len(tasks) * 100} rows, two steps, with the oracle: {time.perf_counter() - began:.0f} s")


@pytest.mark.parametrize(
    ("split", "tasks", "each", "rule"), [("test_ind", videos.IND, 3, "ind"), ("test_ood", videos.OOD, 5, "ood")]
)
def test_a_split_end_to_end(tmp_path: Path, split: str, tasks: Sequence[str], each: int, rule: str) -> None:
    files = world(tmp_path, tasks, each)
    output = tmp_path / "out"
    settings = {"rows_per_outcome": str(each)}
    done = run(files, output, split=split, steps=[0, 100, 300], settings=settings, store=tmp_path / "store")
    assert [row["outcome"] for row in done.to_pylist()] == ["evaluated", "evaluated", "missing"]
    assert done.missing() == [300]
    assert not (output / "steps/step-000300").exists()
    for step, gain in ((0, 0.5), (100, 0.7)):
        known = asked_by_hand(videos.rows_of(tasks, each), gain, tasks)
        traces = pl.read_parquet(output / f"steps/step-{step:06d}/traces.parquet")
        assert len(traces) == done.n_queries
        by_hand = {(t.id, q, p.frame): p for t in known for q, points in t.traces.items() for p in points}
        for row in traces.to_dicts():
            point = by_hand[row["trajectory_id"], row["query_task"], row["frame_index"]]
            assert (row["progress"], row["success_probability"]) == (point.progress, point.success)
        found = metrics(output, step)
        scores = oracle.failure_scores(known)
        calls = [(t.outcome == "failure", oracle.call(t, rule, "any")["called"]) for t in known]
        assert found["progress_mse"] == pytest.approx(fmean(float(oracle.mse(t)) for t in known), abs=1e-14)
        assert found["progress_spearman"] == pytest.approx(fmean(oracle.spearman(t) or 0 for t in known), abs=1e-14)
        assert found["n_trajectories"] == len(known)
        assert (found["failure"]["tp"], found["failure"]["fp"]) == (
            calls.count((True, True)),
            calls.count((False, True)),
        )
        assert (found["failure"]["fn"], found["failure"]["tn"]) == (
            calls.count((True, False)),
            calls.count((False, False)),
        )
        assert found["failure_roc_auc"] == pytest.approx(oracle.roc_auc(scores), abs=1e-14)
        assert found["failure_ap"] == pytest.approx(oracle.average_precision(scores), abs=1e-14)
        for name, value in found["top_k"].items():
            expected = [float(oracle.top_k(known, task, name, 30)) for task in tasks]
            assert value == pytest.approx(fmean(expected), abs=1e-14), name

    store = Store.open(tmp_path / "store")
    run_id = f"robometer-{split}-A"
    assert store.run_ids() == [f"{run_id}@0", f"{run_id}@100"]
    found = compare(store, f"{run_id}@0", [f"{run_id}@100"], replicates=50)
    assert found.verdict == "comparable"
    again = import_folder(output, store=tmp_path / "store")
    assert [row["outcome"] for row in again.to_pylist()] == ["unchanged", "unchanged"]


def test_a_small_torch_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from evalframe.inference import brightness

    files = videos.write(tmp_path, videos.rows_of(videos.OOD, 2))
    brightness.write_checkpoint(files.base, seed=1)
    brightness.write_checkpoint(files.checkpoints / "checkpoint-100", seed=2)
    named = "evalframe.inference.brightness:factory"
    run(files, tmp_path / "one", predictor=named, steps=[0, 100])
    run(files, tmp_path / "other", predictor=named, steps=[0, 100])
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    assert metrics(tmp_path / "one")["progress_mse"] != metrics(tmp_path / "one", 100)["progress_mse"]


def test_a_dry_run_writes_nothing_and_calls_no_model(tmp_path: Path) -> None:
    files = world(tmp_path)

    def never(checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Any:
        raise AssertionError("a dry run makes no predictor")

    before = tree(tmp_path)
    done = run(files, tmp_path / "out", predictor=never, steps=[0, 100, 200], dry_run=True, store=tmp_path / "store")
    assert [row["outcome"] for row in done.to_pylist()] == ["found", "found", "missing"]
    assert tree(tmp_path) == before


def test_a_rerun_of_a_finished_step_asks_nothing(tmp_path: Path) -> None:
    files = world(tmp_path)
    run(files, tmp_path / "out")
    before = tree(tmp_path / "out")
    (files.checkpoints / "checkpoint-100").rename(files.checkpoints / "elsewhere")
    done = run(files, tmp_path / "out", steps=[0, 100])
    assert [row["outcome"] for row in done.to_pylist()] == ["finished before", "missing"]
    after = tree(tmp_path / "out")
    assert json.loads(after.pop("workers/worker.json"))["missing"] == [100]
    assert after == {name: content for name, content in before.items() if name != "workers/worker.json"}


class Broken:
    """Fails on the videos of one task in one way, and on nothing else."""

    def __init__(self, how: str) -> None:
        self.how, self.model, self.n_calls = how, videos.Arithmetic(0.5), 0

    def __call__(self, checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Broken:
        return self

    def predict(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        self.n_calls += 1
        bad = [int(q.frames[0, 0, 0, 0]) == videos.mark(videos.OOD[0]) for q in queries]
        found = self.model.predict(queries)
        if any(bad) and self.how == "raises":
            raise RuntimeError("out of\nmemory")
        if any(bad) and self.how == "too few":
            return found[:-1]
        worse = {"NaN": (float("nan"), 0.5), "success 1.5": (0.5, 1.5), "infinite": (float("inf"), 0.5)}
        return [worse.get(self.how, one) if b else one for b, one in zip(bad, found, strict=True)]


@pytest.mark.parametrize("how", ["raises", "too few", "NaN", "infinite", "success 1.5"])
def test_a_failure_costs_its_own_trajectories_and_the_phase_goes_on(tmp_path: Path, how: str) -> None:
    files = world(tmp_path)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(files, whole, predictor=Broken("in no way"), batch_size=7)
    run(files, broken, predictor=Broken(how), batch_size=7)
    found, before = metrics(broken), metrics(whole)
    assert (found["n_failed"], before["n_failed"]) == (4, 0)
    assert found["n_scored"] == before["n_scored"] - 4
    # Each failed trajectory is called the opposite of what it is: two failures missed, two successes accused.
    assert sum(found["failure"][c] for c in ("tp", "fp", "fn", "tn")) == 16
    traces = pl.read_parquet(broken / "steps/step-000000/traces.parquet")
    sound = pl.read_parquet(whole / "steps/step-000000/traces.parquet")
    failed = traces.filter(pl.col("error").is_not_null())
    assert failed["trajectory_id"].str.starts_with("t00-").all()
    assert failed["progress"].null_count() == len(failed)
    others = ~pl.col("trajectory_id").str.starts_with("t00-")
    assert traces.filter(others).equals(sound.filter(others))
    assert "\n" not in "".join(failed["error"])
    details = json.loads((broken / "steps/step-000000/failure.json").read_text(encoding="utf-8"))["trajectories"]
    assert {d["trajectory_id"] for d in details if d["because"] == "model_failed"} == set(failed["trajectory_id"])


def test_short_black_and_constant_videos_are_counted_not_dropped(tmp_path: Path) -> None:
    rows = videos.rows_of(videos.OOD, 2)
    rows[0] |= {"video": rows[0]["video"][:1], "target_progress": rows[0]["target_progress"][:1]}
    rows[1]["video"] = np.zeros_like(rows[1]["video"])
    rows[2]["video"] = np.repeat(rows[2]["video"][:1], len(rows[2]["video"]), axis=0)
    files = videos.write(tmp_path, rows)
    videos.write_checkpoints(files, [])
    run(files, tmp_path / "out")
    found = metrics(tmp_path / "out")
    assert (found["n_trajectories"], found["n_too_few_points"], found["n_failed"]) == (16, 1, 0)
    assert found["n_spearman_undefined"] == 2
    calls = json.loads((tmp_path / "out/steps/step-000000/failure.json").read_text(encoding="utf-8"))["trajectories"]
    by_id = {call["trajectory_id"]: call for call in calls}
    assert by_id[rows[0]["id"]]["status"] == "too_few_points"
    assert by_id[rows[1]["id"]]["called_failure"] is True


def test_a_pool_below_k_is_refused_before_any_model(tmp_path: Path) -> None:
    files = world(tmp_path)
    model = Broken("in no way")
    error = refused(
        PoolTooSmall,
        lambda: run(files, tmp_path / "out", predictor=model, settings={"rows_per_outcome": "2", "top_k": "17"}),
    )
    assert error.exit_code == ExitCode.CONTRACT
    assert f"{videos.OOD[0]}: 16" in error.found
    assert model.n_calls == 0
    assert not (tmp_path / "out").exists()


def test_workers_share_a_folder_and_not_a_step(tmp_path: Path) -> None:
    files = world(tmp_path, steps=(100, 200))
    together, alone = tmp_path / "together", tmp_path / "alone"
    run(files, together, steps=[0, 100], worker="first")
    error = refused(StepClaimed, lambda: run(files, together, steps=[200, 100], worker="second"))
    assert error.exit_code == ExitCode.CONTRACT
    assert "first" in error.what
    run(files, together, steps=[200], worker="second")
    run(files, alone, steps=[0, 100, 200], worker="first")
    shared, own = tree(together), tree(alone)
    assert json.loads(shared.pop("workers/second.json"))["steps"] == [200]
    assert shared.pop("steps/step-000200/claim") != own.pop("steps/step-000200/claim")
    del shared["workers/first.json"], own["workers/first.json"]
    assert shared == own


def test_a_claim_can_be_taken_over(tmp_path: Path) -> None:
    files = world(tmp_path)
    run(files, tmp_path / "out", worker="first")
    done = run(files, tmp_path / "out", worker="second", take_over=True)
    assert done.to_pylist()[0]["outcome"] == "finished before"
    claim = json.loads((tmp_path / "out/steps/step-000000/claim").read_text(encoding="utf-8"))
    assert claim == {"worker": "second"}


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"setting": "B"}, {"run_id", "setting"}),
        ({"batch_size": 8}, {"batch_size"}),
        ({"device": "cuda:1"}, {"device_type"}),
        ({"settings": {"rows_per_outcome": "2", "top_k": "6"}}, {"parameters.top_k", "protocol.fingerprint"}),
        ({"predictor": Broken("in no way")}, {"predictor"}),
    ],
)
def test_an_output_folder_begun_otherwise_is_refused_by_field(
    tmp_path: Path, changed: dict[str, Any], fields: set[str]
) -> None:
    files = world(tmp_path)
    run(files, tmp_path / "out")
    before = tree(tmp_path / "out")
    error = refused(ManifestDiffers, lambda: run(files, tmp_path / "out", **changed))
    assert set(error.what.rpartition(": ")[2].split(", ")) == fields
    assert tree(tmp_path / "out") == before


def test_another_base_model_or_frame_is_another_manifest(tmp_path: Path) -> None:
    files = world(tmp_path)
    run(files, tmp_path / "out")
    (files.base / "config.json").write_text('{"gain": 0.9}', encoding="utf-8")
    assert "base_model_sha256" in refused(ManifestDiffers, lambda: run(files, tmp_path / "out")).what
    row = videos.rows_of(videos.OOD, 2)[0]
    np.savez(files.dataset / "frames" / f"{row['id']}.npz", frames=row["video"] + np.uint8(1))
    assert "dataset_sha256" in refused(ManifestDiffers, lambda: run(files, tmp_path / "out")).what


@pytest.mark.parametrize("finished", [False, True])
def test_a_step_is_of_one_checkpoint(finished: bool, tmp_path: Path) -> None:
    files = world(tmp_path)
    run(files, tmp_path / "out", steps=[100])
    if not finished:
        (tmp_path / "out/steps/step-000100/metrics.json").unlink()
    (files.checkpoints / "checkpoint-100" / "config.json").write_text('{"gain": 0.9}', encoding="utf-8")
    error = refused(ManifestDiffers, lambda: run(files, tmp_path / "out", steps=[100]))
    assert "another checkpoint" in error.what


def test_what_is_not_there_is_not_made_up(tmp_path: Path) -> None:
    files = world(tmp_path)
    refused(CheckpointMissing, lambda: run(files, tmp_path / "out", steps=[300, 400]))
    refused(CheckpointMissing, lambda: run(files, tmp_path / "out", base_model=tmp_path / "nowhere"))
    (files.checkpoints / "checkpoint-400").mkdir()
    refused(CheckpointMissing, lambda: run(files, tmp_path / "out", steps=[400]))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "changed", [{"steps": []}, {"steps": [-1]}, {"batch_size": 0}, {"worker": "../x"}, {"settings": {"k": "3"}}]
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    files = world(tmp_path)
    with pytest.raises(UsageError):
        run(files, tmp_path / "out", **changed)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["", "module", ":factory", "no.such.module:factory", "json:nothing", "json:__name__"])
def test_a_predictor_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    files = world(tmp_path)
    refused(PredictorRefused, lambda: run(files, tmp_path / "out", predictor=name))


def test_manifests_are_compared_field_by_field(tmp_path: Path) -> None:
    files = world(tmp_path)
    for name, changed in (
        ("a", {}),
        ("b", {"setting": "B", "predictor": Broken("in no way")}),
        ("k", {"settings": {"rows_per_outcome": "2", "top_k": "6"}}),
    ):
        run(files, tmp_path / name, **changed)
    same = compare_manifests(tmp_path / "a", tmp_path / "a")
    assert (same.differing(), same.exit_code) == ([], ExitCode.OK)
    models = compare_manifests(tmp_path / "a", tmp_path / "b")
    assert set(models.differing()) == {"predictor", "run_id", "setting"}
    assert models.exit_code == ExitCode.OK
    protocols = compare_manifests(tmp_path / "a", tmp_path / "k/run_manifest.json")
    assert {"parameters.top_k", "protocol.fingerprint"} <= set(protocols.differing("protocol", "selection"))
    assert protocols.exit_code == ExitCode.NOT_COMPARABLE
    assert json.loads(protocols.to_json())["verdict"] == "not_comparable"


def test_an_unfinished_step_is_not_imported_and_a_changed_one_is_a_conflict(tmp_path: Path) -> None:
    files = world(tmp_path)
    output, store = tmp_path / "out", tmp_path / "store"
    run(files, output, steps=[0, 100])
    (output / "steps/step-000100/metrics.json").unlink()
    found = import_folder(output, store=store)
    assert [row["outcome"] for row in found.to_pylist()] == ["written", "unfinished"]
    run(files, output, steps=[0, 100])
    assert [row["outcome"] for row in import_folder(output, store=store).to_pylist()] == ["unchanged", "written"]
    path = output / "steps/step-000000/traces.parquet"
    pl.read_parquet(path).with_columns(progress=pl.col("progress") / 2).write_parquet(path)
    refused(StoreConflict, lambda: import_folder(output, store=store))
    named = import_folder(output, store=store, run_id="other", tags={"method": "m"})
    assert [row["run_id"] for row in named.to_pylist()] == ["other@0", "other@100"]
    tags = dict(Store.open(store).run("other@100").tags)
    assert tags == {"method": "m", "series": "other", "setting": "A", "step": "100"}
