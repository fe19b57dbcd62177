"""Traces that outgrow memory: the same files, tables and refusals, and nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evalframe.contracts import shards
from evalframe.contracts.shards import Shards
from evalframe.errors import EvalframeError
from evalframe.robometer import score
from evalframe.sources import progress, progress_streams
from evalframe.store import Store
from evalframe.verbs import spooling
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories

pytestmark = pytest.mark.usefixtures("leaves_no_folder")

# Traces of more than eight points, failures, gaps, and trajectories that were asked about nothing.
WORLD = trajectories(5, tasks=4, per_outcome=5, max_frames=12, max_points=11, failing=0.1, missing=0.2)
SILENT = {t.id for t in WORLD[::9]}
TRACES = trace_rows(WORLD).filter(~pl.col("trajectory_id").is_in(SILENT))
BY = {"progress_targets": ["trajectory_index", "frame_index"],
      "progress_traces": ["run_id", "trajectory_index", "query_task", "prefix_index"],
      "progress_features": ["run_id", "trajectory_index", "query_task"],
      "progress_calls": ["run_id", "trajectory_index"], "failure_calls": ["run_id", "trajectory_index"],
      "filter_ranks": ["run_id", "query_task", "trajectory_index", "score"]}  # fmt: skip


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on all rows go through files, a few at a time."""

    def forced() -> None:
        monkeypatch.setattr(spooling, "ROOM", 0)
        for module in (progress, shards):
            monkeypatch.setattr(module, "ROWS", 37)

    return forced


def written(folder: Path, traces: pl.DataFrame, targets: pl.DataFrame | None = None) -> dict[str, Path]:
    paths = {"traces": folder / "traces.parquet", "targets": folder / "targets.parquet"}
    traces.sample(fraction=1, shuffle=True, seed=1).write_parquet(paths["traces"])
    (target_rows(WORLD) if targets is None else targets).write_parquet(paths["targets"])
    return paths


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("protocol", ["robometer-ind", "robometer-filtering-top50"])
def test_traces_in_files_are_those_in_memory(tmp_path: Path, protocol: str, in_files: Callable[[], None]) -> None:
    steps = pl.concat([TRACES, TRACES.with_columns(step=pl.lit(100, pl.Int64))])
    paths = written(tmp_path, steps)

    def scored(name: str) -> str:
        return score(
            **paths, protocol=protocol, top_k=3, output=tmp_path / name / "out", store=tmp_path / name / "store"
        ).to_json()

    in_memory = scored("memory")
    in_files()
    assert scored("files") == in_memory
    assert files(tmp_path / "files/out") == files(tmp_path / "memory/out")
    ours, theirs = Store.open(tmp_path / "files/store"), Store.open(tmp_path / "memory/store")
    for table, by in BY.items():
        one, other = (pl.DataFrame(pl.from_arrow(store.read(table))).sort(by) for store in (ours, theirs))
        assert len(one) or (table, protocol) in {(name, "robometer-filtering-top50") for name in BY}
        assert one.equals(other), table
    assert ours.run("run@100").inputs == theirs.run("run@100").inputs


def test_a_run_in_files_is_not_read_into_memory(tmp_path: Path, in_files: Callable[[], None]) -> None:
    in_files()
    paths = written(tmp_path, TRACES)
    with spooling.spooled() as spool:
        known, steps = progress_streams.read_run(paths["targets"], paths["traces"], spool)
        tables = progress_streams.run_tables(0, "run@0", steps[0], known, spool)  # type: ignore[arg-type]
        assert all(isinstance(table, Shards) for table in tables.values())
        assert [len(block.labels) for block in known.blocks()] != [len(WORLD)]  # type: ignore[union-attr]


Change = Callable[[pl.DataFrame], pl.DataFrame]
LAST = pl.int_range(pl.len()) >= pl.len() - 3
REFUSED: dict[str, tuple[Change, Change]] = {
    "strangers": (lambda t: t.with_columns(trajectory_id=pl.when(LAST).then(pl.lit("zz")).otherwise("trajectory_id")),
                  lambda t: t),
    "no targets at all": (lambda t: t, lambda t: t.head(0)),
    "two runs": (lambda t: t.with_columns(run_id=pl.when(LAST).then(pl.lit("z")).otherwise("run_id")), lambda t: t),
    "late values": (lambda t: t.with_columns(progress=pl.when(LAST).then(float("nan")).otherwise("progress")),
                    lambda t: t),
    "duplicates": (lambda t: pl.concat([t, t.tail(2)]), lambda t: t),
    "half failures": (lambda t: t.with_columns(error=pl.when(LAST).then(pl.lit("e")).otherwise("error")), lambda t: t),
    "frames without a target": (lambda t: t.with_columns(frame_index=pl.col("frame_index") + 50), lambda t: t),
    "frames that go back": (lambda t: t.with_columns(frame_index=(20 - pl.col("prefix_index"))), lambda t: t),
    "two outcomes": (lambda t: t, lambda t: t.with_columns(outcome=pl.when(LAST).then(pl.lit("success")).otherwise(
        pl.lit("failure")))),
    "targets twice": (lambda t: t, lambda t: pl.concat([t, t.tail(2)])),
    "a text for a number": (lambda t: t.with_columns(step=pl.lit("0")), lambda t: t),
    "a lost column": (lambda t: t.drop("progress"), lambda t: t),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told_in_the_same_words(tmp_path: Path, name: str, in_files: Callable[[], None]) -> None:
    changed = [change(rows) for change, rows in zip(REFUSED[name], (TRACES, target_rows(WORLD)), strict=True)]
    paths = written(tmp_path, *changed)
    told = []
    for forced in (False, True):
        if forced:
            in_files()
        with pytest.raises(EvalframeError) as refused:
            score(**paths, protocol="robometer-ind", top_k=3, output=tmp_path / "out", store=tmp_path / "store")
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["targets.parquet", "temporary", "traces.parquet"]


def test_columns_of_nothing_are_read_as_such(tmp_path: Path, in_files: Callable[[], None]) -> None:
    """A run whose every prediction failed has a column of progress that knows no type."""
    nothing = TRACES.with_columns(progress=None, success_probability=None, error=pl.lit("it broke"))
    paths = written(tmp_path, nothing)
    in_memory = score(**paths, protocol="robometer-ind", top_k=3).to_json()
    in_files()
    assert score(**paths, protocol="robometer-ind", top_k=3).to_json() == in_memory
