"""`evalframe robometer ...` as a user types it: options, files, exit codes, four-line errors."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest

from evalframe.cli.run import run
from evalframe.errors import ExitCode
from tests.protocols.robometer_frozen import videos
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories


@pytest.fixture
def files(tmp_path: Path) -> videos.Files:
    made = videos.write(tmp_path, videos.rows_of(videos.OOD, 2))
    videos.write_checkpoints(made, [100])
    return made


def evaluate(files: videos.Files, output: Path, *more: str) -> int:
    options = {
        "predictor": "tests.protocols.robometer_frozen.videos:factory",
        "dataset": files.dataset,
        "task-registry": files.registry,
        "split": "test_ood",
        "checkpoint-root": files.checkpoints,
        "base-model": files.base,
        "output": output,
        "setting": "A",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    steps = [] if "--steps" in more else ["--steps", "0", "100", "300"]
    chosen = ["--set", "rows_per_outcome=2", "top_k=5"]
    return run(["robometer", "evaluate", *words, *steps, *chosen, *more])


def test_evaluate_import_and_compare_manifests(
    files: videos.Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(files, tmp_path / "out", "--dry-run", "--json") == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["missing"] == [300]
    assert not (tmp_path / "out").exists()

    assert evaluate(files, tmp_path / "out", "--batch-size", "8", "--json") == ExitCode.OK
    said = capsys.readouterr()
    body = json.loads(said.out)
    assert [row["outcome"] for row in body["steps"]] == ["evaluated", "evaluated", "missing"]
    assert "step 300: there is no" in said.err

    assert run(["robometer", "import", str(tmp_path / "out"), "--store", str(tmp_path / "store")]) == ExitCode.OK
    assert run(["robometer", "compare-manifests", str(tmp_path / "out"), str(tmp_path / "out")]) == ExitCode.OK
    capsys.readouterr()

    assert evaluate(files, tmp_path / "out", "--batch-size", "8", "--worker", "other") == ExitCode.CONTRACT
    assert "claimed by worker worker" in capsys.readouterr().err
    assert evaluate(files, tmp_path / "out") == ExitCode.CONTRACT
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 4
    assert "batch_size" in error[0]

    assert evaluate(files, tmp_path / "k", "--steps", "0", "--set", "window=last") == ExitCode.OK
    capsys.readouterr()
    found = run(["robometer", "compare-manifests", str(tmp_path / "out"), str(tmp_path / "k"), "--json"])
    assert found == ExitCode.NOT_COMPARABLE
    assert "parameters.window" in json.loads(capsys.readouterr().out)["differing"]

    (tmp_path / "k" / "targets.parquet").write_bytes(b"damaged")
    assert evaluate(files, tmp_path / "k", "--steps", "0", "--set", "window=last") == ExitCode.CONTRACT
    assert capsys.readouterr().err.strip().endswith("hint:     name another --output")


def test_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = trajectories(3, tasks=4, per_outcome=5)
    traces, targets = tmp_path / "traces.parquet", tmp_path / "targets.parquet"
    trace_rows(world).write_parquet(traces)
    target_rows(world).write_parquet(targets)
    files = ["--traces", str(traces), "--targets", str(targets)]

    def score(*more: str) -> int:
        return run(["robometer", "score", *files, *more])

    out = ["--output", str(tmp_path / "out")]
    assert score("--protocol", "robometer-ood", "--top-k", "5", "--window", "last", *out, "--json") == ExitCode.OK
    body = json.loads(capsys.readouterr().out)
    assert body["protocol"]["name"] == "robometer-ood"
    assert body["steps"]["0"]["n_trajectories"] == len(world)

    assert score("--protocol", "robometer-ood", "--top-k", "99", *out, "--force", "--json") == ExitCode.CONTRACT
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "EF242"
    assert run(shlex.split(error["hint"], comments=True)[1:]) == ExitCode.OK
    capsys.readouterr()
    pl.read_parquet(traces).with_columns(success_probability=pl.lit(1.5)).write_parquet(traces)
    assert score("--protocol", "robometer-ood", "--top-k", "5", *out, "--force") == ExitCode.CONTRACT
    assert "out_of_range in success_probability" in capsys.readouterr().err
    traces.write_bytes(b"no parquet")
    assert score("--protocol", "robometer-ood", *out) == ExitCode.USAGE
    assert score("--protocol", "kev-choice", *out) == ExitCode.USAGE
