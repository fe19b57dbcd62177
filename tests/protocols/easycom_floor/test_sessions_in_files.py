"""Forecasts that do not fit into memory: the same files, the same stored tables, and nothing left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalframe.contracts import contract
from evalframe.contracts.shards import Shards
from evalframe.engines import parted, spilling
from evalframe.engines.choosing import Choice, using
from evalframe.engines.grouped import Work
from evalframe.engines.splitting import Group
from evalframe.errors import ForecastRefused
from evalframe.floor import audit_sheet, evaluate
from evalframe.store import Store
from evalframe.verbs import score, spooling
from evalframe.verbs.floor import Evaluated
from tests.protocols.easycom_floor.folders import (
    random_sessions,
    write_addressee,
    write_run,
    write_segments,
    write_targets,
)

TEST, TRAIN = [f"t{i}" for i in range(6, 0, -1)], ["c2", "c1"]
RUNS = ("one", "two")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    sessions = random_sessions(5, [*TEST, *TRAIN], annotated=True)
    write_targets(folder / "target", sessions)
    for run in RUNS:
        write_run(folder / run, sessions)
    write_run(folder / "trained", sessions)
    write_segments(folder / "segments.csv", sessions)
    write_addressee(folder / "addressee.csv", sessions)
    return folder


def evaluated(world: Path, out: Path, **options: Any) -> Evaluated:
    return evaluate(
        world / "target",
        runs={run: world / run for run in RUNS},
        sessions=TEST,
        calibration_sessions=TRAIN,
        matched_recalls=("0.8",),
        segments=world / "segments.csv",
        addressee=world / "addressee.csv",
        print_event_timelines=3,
        output=out / "out.json",
        store=out / "store",
        **options,
    )


def in_files(patch: pytest.MonkeyPatch, folder: Path) -> tuple[list[type], list[int]]:
    """No room in memory, parts of a few rows (under a limit of 1 GiB), temporary files in `folder`.

    Yields the kinds of tables that were scored, and the numbers of parts that were answered.
    """
    folder.mkdir()
    patch.setattr(spooling, "ROOM", 0)
    patch.setattr(parted, "ROW_BYTES", 4 << 20)
    patch.setattr(tempfile, "tempdir", str(folder))
    patch.setattr(spilling, "_swept", {folder})
    kinds: list[type] = []
    parts: list[int] = []
    checked, answers = score.bind_checked, parted.Parted._answers

    def noticed(engine: Any, tables: Mapping[str, Any], where: str) -> None:
        kinds.extend(map(type, tables.values()))
        checked(engine, tables, where)

    def counted(self: parted.Parted, work: Work, groups: Sequence[Group]) -> Iterator[Mapping[str, pa.Table]]:
        parts.append(len(groups))
        return answers(self, work, groups)

    patch.setattr(score, "bind_checked", noticed)
    patch.setattr(parted.Parted, "_answers", counted)
    return kinds, parts


def stored(store: Path) -> dict[str, pa.Table]:
    """Every table of a store by its keys, without when it was written."""
    opened = Store.open(store)
    found = {}
    for name, paths in opened.views().items():
        if paths:
            table = opened.read(name)
            order = [(column, "ascending") for column in contract(name).key]
            found[name] = table.drop_columns(["created_at"] if "created_at" in table.column_names else []).sort_by(
                order
            )
    return found


def test_files_and_tables_are_those_of_an_evaluation_in_memory(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration = {"calibration_runs": dict.fromkeys(RUNS, world / "trained")}
    within = evaluated(world, tmp_path / "memory", **calibration)
    with monkeypatch.context() as patch:
        kinds, parts = in_files(patch, tmp_path / "temporary")
        with using(Choice(memory_limit="1GiB")):
            beyond = evaluated(world, tmp_path / "files", **calibration)
        assert kinds.count(Shards) == 2 * len(RUNS)
        assert len(parts) >= len(RUNS)
        assert min(parts) > 1
    names = sorted(path.name for path in (tmp_path / "memory").glob("out*"))
    assert len(names) == 5
    for name in names:
        assert (tmp_path / "files" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    assert within.timelines == beyond.timelines
    assert len(beyond.timelines) > 2 * len(RUNS)
    one, other = (stored(tmp_path / where / "store") for where in ("memory", "files"))
    assert len(one) > 10
    assert one.keys() == other.keys()
    for name, table in one.items():
        assert other[name].equals(table), name
    sheets = [audit_sheet(tmp_path / where / "store", run="one", events=20, seed=3) for where in ("memory", "files")]
    assert sheets[0].table.equals(sheets[1].table)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_late_session_that_is_refused_leaves_nothing(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, _ = in_files(monkeypatch, tmp_path / "temporary")
    sessions = random_sessions(5, [*TEST, *TRAIN], annotated=True)
    broken = write_run(tmp_path / "broken", sessions)
    array = np.load(broken / "pred" / f"{TRAIN[-1]}.npy")
    np.save(broken / "pred" / f"{TRAIN[-1]}.npy", np.full_like(array, 2.0))
    np.save(broken / "valid" / f"{TRAIN[-1]}.npy", np.ones(array[:, 0].shape, bool))
    with pytest.raises(ForecastRefused, match=f"session {TRAIN[-1]} row 0 step 1"):
        evaluate(
            world / "target",
            runs={"one": world / "one", "broken": broken},
            sessions=TEST,
            calibration_sessions=TRAIN,
            output=tmp_path / "out.json",
            store=tmp_path / "store",
        )
    assert not kinds
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "temporary"]
    assert list((tmp_path / "temporary").iterdir()) == []
