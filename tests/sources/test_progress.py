"""Saved traces and targets: what is read, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evalframe.contracts import contract, validate
from evalframe.errors import ContractError, EvalframeError, InputError
from evalframe.sources import progress as source
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories

WORLD = trajectories(11)


def read(folder: Path, traces: pl.DataFrame, targets: pl.DataFrame) -> dict[int, pl.DataFrame]:
    traces.write_parquet(folder / "traces.parquet")
    targets.write_parquet(folder / "targets.parquet")
    return source.read_traces(folder / "traces.parquet", source.read_targets(folder / "targets.parquet"))


def test_every_table_of_a_run_keeps_its_contract(tmp_path: Path) -> None:
    steps = read(tmp_path, pl.concat([trace_rows(WORLD), trace_rows(WORLD, step=7)]), target_rows(WORLD))
    assert sorted(steps) == [0, 7]
    known = source.read_targets(tmp_path / "targets.parquet")
    tables = source.run_tables(steps[7], known)
    for name, table in tables.items():
        validate(contract(name), table).raise_for_failures()
    assert set(tables) == {"progress_targets", "progress_traces", "progress_features"}
    own = pl.DataFrame(pl.from_arrow(tables["progress_features"])).filter(pl.col("task") == pl.col("query_task"))
    assert sorted(own["trajectory_id"]) == sorted(t.id for t in WORLD)


def test_ranks_and_data_set_id_depend_on_content_alone(tmp_path: Path) -> None:
    one = source.targets(target_rows(WORLD), "x")
    other = source.targets(target_rows(WORLD[::-1]), "x")
    assert one.dataset_id == other.dataset_id
    assert one.labels.sort("trajectory_id")["trajectory_index"].to_list() == list(range(len(WORLD)))
    changed = target_rows(WORLD).with_columns(
        target_progress=pl.when(pl.int_range(pl.len()) == 5).then(0.123).otherwise("target_progress")
    )
    assert source.targets(changed, "x").dataset_id != one.dataset_id


def test_categories_and_narrow_numbers_are_read_as_they_are_meant(tmp_path: Path) -> None:
    plain = read(tmp_path, trace_rows(WORLD), target_rows(WORLD))
    narrow = trace_rows(WORLD).with_columns(
        pl.col("query_task").cast(pl.Categorical), pl.col("prefix_index", "frame_index").cast(pl.Int16)
    )
    assert plain[0].equals(
        read(
            tmp_path,
            narrow.drop("error").with_columns(
                error=pl.col("progress")
                .is_null()
                .replace_strict({True: "it broke", False: None}, return_dtype=pl.String)
            ),
            target_rows(WORLD),
        )[0]
    )


Change = Callable[[pl.DataFrame], pl.DataFrame]


def at(row: int, **values: object) -> Change:
    """The named row (from 0) with other values."""
    return lambda rows: rows.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(pl.lit(v)).otherwise(pl.col(name)).alias(name)
        for name, v in values.items()
    )


WHOLE = next(i for i, e in enumerate(trace_rows(WORLD)["error"]) if e is None)
BROKEN = next(i for i, e in enumerate(trace_rows(WORLD)["error"]) if e is not None)

BAD_TRACES: dict[str, tuple[Change, str]] = {
    "a duplicate": (lambda t: pl.concat([t, t.head(1)]), "duplicate_key"),
    "NaN progress": (at(WHOLE, progress=float("nan")), "not_finite"),
    "infinite progress": (at(WHOLE, progress=float("inf")), "not_finite"),
    "progress beyond reason": (at(WHOLE, progress=1e300), "out_of_range"),
    "success over 1": (at(WHOLE, success_probability=1.5), "out_of_range"),
    "success below 0": (at(WHOLE, success_probability=-0.1), "out_of_range"),
    "a failure without an error": (at(BROKEN, error=None), "neither whole nor failed"),
    "half a prediction": (at(WHOLE, success_probability=None), "neither whole nor failed"),
    "an error beside a prediction": (at(WHOLE, error="x"), "neither whole nor failed"),
    "an unknown trajectory": (at(0, trajectory_id="nobody"), "have no targets"),
    "two runs": (at(0, run_id="other"), "holds one run"),
    "no rows": (lambda t: t.head(0), "holds one run"),
    "integer ids": (lambda t: t.with_columns(trajectory_id=pl.lit(1)), "not text"),
    "integer tasks": (lambda t: t.with_columns(query_task=pl.lit(1)), "not text"),
    "text steps": (lambda t: t.with_columns(step=pl.lit("0")), "wrong_type"),
    "a negative step": (at(0, step=-1), "out_of_range"),
    "no progress column": (lambda t: t.drop("progress"), "lacks column progress"),
    "frames that go back": (
        lambda t: t.with_columns(frame_index=(pl.lit(20) - pl.col("prefix_index"))),
        "falls while prefix_index rises",
    ),
    "a frame without a target": (lambda t: t.with_columns(frame_index=pl.col("frame_index") + 50), "have no target"),
}

BAD_TARGETS: dict[str, tuple[Change, str]] = {
    "a duplicate": (lambda t: pl.concat([t, t.head(1)]), "duplicate_key"),
    "NaN": (at(0, target_progress=float("nan")), "not_finite"),
    "a null": (at(0, target_progress=None), "null"),
    "a third outcome": (lambda t: t.with_columns(outcome=pl.lit("unsure")), "not_in_set"),
    "two tasks": (at(0, task="another"), "one task and one outcome"),
    "two outcomes": (lambda t: at(0, outcome="success" if t["outcome"][0] == "failure" else "failure")(t), "one task"),
    "no rows": (lambda t: t.head(0), "no targets"),
    "integer ids": (lambda t: t.with_columns(trajectory_id=pl.lit(1)), "not text"),
}


def refusal(act: Callable[[], object]) -> EvalframeError:
    with pytest.raises(EvalframeError) as caught:
        act()
    assert len(str(caught.value).splitlines()) == 4
    return caught.value


@pytest.mark.parametrize("bad", BAD_TRACES)
def test_traces_that_cannot_be_meant_are_refused(tmp_path: Path, bad: str) -> None:
    change, said = BAD_TRACES[bad]
    error = refusal(lambda: read(tmp_path, change(trace_rows(WORLD)), target_rows(WORLD)))
    assert isinstance(error, ContractError)
    assert said in f"{error.what} {error.found}"


@pytest.mark.parametrize("bad", BAD_TARGETS)
def test_targets_that_cannot_be_meant_are_refused(tmp_path: Path, bad: str) -> None:
    change, said = BAD_TARGETS[bad]
    error = refusal(lambda: read(tmp_path, trace_rows(WORLD), change(target_rows(WORLD))))
    assert isinstance(error, ContractError)
    assert said in f"{error.what} {error.found}"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"noise" * 50])
def test_a_file_that_is_no_parquet_is_unreadable_input(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "targets.parquet"
    path.write_bytes(content)
    assert isinstance(refusal(lambda: source.read_targets(path)), InputError)
    assert isinstance(refusal(lambda: source.read_targets(tmp_path / "none.parquet")), InputError)


@pytest.mark.parametrize("place", ["column", "cell"])
def test_bytes_that_are_no_text_are_unreadable_input(tmp_path: Path, place: str) -> None:
    path = tmp_path / "targets.parquet"
    known = {"trajectory_id": "t", "task": "x", "outcome": "success", "frame_index": 0, "target_progress": 0.5}
    more = {"other": "XYZ"} if place == "cell" else {"XYZ": "o"}
    text = {"task": "XYZ"} if place == "cell" else {}
    frame = pl.DataFrame([{**known, **text, **more}])
    frame.write_parquet(path, compression="uncompressed", use_pyarrow=True, pyarrow_options={"store_schema": False})
    path.write_bytes(path.read_bytes().replace(b"XYZ", b"\xd1\xff\xfe"))
    with pytest.raises(InputError, match="cannot be read"):
        source.read_targets(path)
