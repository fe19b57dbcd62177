"""One store of all four systems, with tainted, undefined, failed and hostile content, that the tests here share."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import yaml

import evalframe
from evalframe.contracts import contract
from evalframe.publish.star import Star, star
from evalframe.publish.targets import target
from evalframe.relations import catalogue
from evalframe.store import Store
from evalframe.verbs import demo_data
from evalframe.verbs.opened import Store as Opened
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories
from tests.publish.postgres import programs, server
from tests.publish.superset_files import NAME

HOSTILE = "=cmd|' /C calc'!A0</script><img src=x onerror=alert(1)>\x1b[31m\u202e\"'`${x}\n,;|\\\x00"
"""A formula, a tag that ends a script, an escape sequence, a direction mark, quotes, separators and a NUL."""


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Runs of wisp, kev, floor and robometer; read it only."""
    folder = tmp_path_factory.mktemp("published")
    path = folder / "store"
    _wisp(folder, path)
    _kev(folder, path)
    _floor(folder, path)
    _robometer(folder, path)
    _recorded(path)
    return evalframe.open(path)


@pytest.fixture(scope="session")
def whole(store: Opened) -> Iterator[Star]:
    """The star schema of the store with its comparisons, resampled few times."""
    compared = store.compare("cnn", ["gru", HOSTILE.replace("\x00", "")], replicates=200)
    with star(store.folder, catalogue(), [compared.table]) as made:
        yield made


def tables_of(whole: Star) -> list[tuple[str, pa.Table]]:
    """Every table by name, as a whole."""
    return [(name, whole.table(name)) for name in whole.tables]


def star_of(store: Store) -> Star:
    """The star schema of a store without new comparisons, held in memory."""
    with star(store, catalogue()) as made:
        return Star(dict(tables_of(made)), made.definitions)


@pytest.fixture(scope="session")
def dashboard_folder(whole: Star, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NAME.zip, a dashboard of the star schema, and NAME.duckdb."""
    made = tmp_path_factory.mktemp("superset")
    assert target(f"superset:{made / NAME}.zip").write(whole, force=False) == "written"
    return made


@pytest.fixture(scope="session")
def dashboard_files(dashboard_folder: Path) -> dict[str, Any]:
    """Path in the ZIP, without its first folder -> what the YAML says."""
    with zipfile.ZipFile(dashboard_folder / f"{NAME}.zip") as file:
        assert file.testzip() is None
        return {name.partition("/")[2]: yaml.safe_load(file.read(name)) for name in file.namelist()}


@pytest.fixture(scope="session")
def dashboard_database(dashboard_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(dashboard_folder / f"{NAME}.duckdb"), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """URI of a PostgreSQL server of this session's own; skipped only where initdb is not installed."""
    pytest.importorskip("adbc_driver_postgresql", reason="the extra `postgres` is not installed")
    binaries = programs()
    if binaries is None:
        pytest.skip("initdb is not installed")
    with server(binaries) as uri:
        yield uri


@pytest.fixture(scope="session")
def playwright(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of playwright-core: EVALFRAME_PLAYWRIGHT, or installed here."""
    if named := os.environ.get("EVALFRAME_PLAYWRIGHT"):
        return named
    folder = tmp_path_factory.mktemp("playwright")
    subprocess.run(["npm", "install", "--silent", "playwright-core"], cwd=folder, check=True)
    return str(folder / "node_modules" / "playwright-core")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "install Debian's package chromium"
    return found


def _wisp(folder: Path, store: Path) -> None:
    for run, skill, seed in (("cnn", 0.74, 1), ("gru", 0.79, 2), (HOSTILE.replace("\x00", ""), 0.8, 3)):
        source = folder / f"{seed}.npz"
        source.write_bytes(demo_data.windows(skill=skill, seed=seed))
        tags = {"method": run, "fold": "0", "note": HOSTILE}
        evalframe.wisp.score(source, store=store, run_id=run, tags=tags)
    evalframe.wisp.score(folder / "2.npz", store=store, run_id="gru-excluding", settings={"failed": "excluded"})
    np.savez(
        folder / "odd.npz",
        y_true=np.array([0, 1, 1, 0]),
        y_pred=np.array([0, 1, 0, 0]),
        participant=np.array(["+1", "@a", HOSTILE.replace("\x00", ""), "-x"]),
        time=np.arange(4.0),
        classes=np.array(["=1+1", "</script><b>", "never"]),
    )
    evalframe.wisp.score(folder / "odd.npz", store=store, run_id="odd")


def _kev(folder: Path, store: Path) -> None:
    for run, skill, seed in (("base", 0.3, 4), ("tuned", 0.45, 5)):
        source = folder / f"{run}.jsonl"
        source.write_bytes(demo_data.questions(skill=skill, seed=seed))
        evalframe.kev.score(rows=source, store=store, run_id=run, tags={"model": run})
    rows = [json.loads(line) for line in (folder / "base.jsonl").read_text().splitlines()]
    (folder / "unlabelled.jsonl").write_text(json.dumps([{**row, "label": None} for row in rows[:3]]))
    evalframe.kev.score(rows=folder / "unlabelled.jsonl", store=store, run_id="unlabelled")


def _floor(folder: Path, store: Path) -> None:
    """Turns of talk over twelve sessions, forecast with two amounts of noise; a third run bends the protocol."""
    names = [f"S{number:02d}" for number in range(12)]
    noise = {"floor-a": 0.25, "floor-b": 0.6}
    for part in ("target", *(f"{run}/{kind}" for run in noise for kind in ("pred", "valid"))):
        (folder / part).mkdir(parents=True)
    rng = np.random.default_rng(7)
    for name in names:
        bits = np.cumsum(rng.random((400, 2)) < 0.12, axis=0) % 2
        np.save(folder / f"target/{name}.npy", np.column_stack([bits.sum(axis=1) == 0, bits]).astype(np.float32))
        valid = rng.random((400, 10)) > 0.01
        for run, sigma in noise.items():
            wearer = np.clip(bits[:, :1] * 0.8 + 0.1 + rng.normal(0, sigma, (400, 10)), 0, 1)
            np.save(folder / f"{run}/pred/{name}.npy", np.stack([1 - wearer, wearer, wearer / 2], axis=1))
            np.save(folder / f"{run}/valid/{name}.npy", valid)
    evaluated = {"sessions": names[:8], "store": store}
    runs = {run: folder / run for run in noise}
    evalframe.floor.evaluate(folder / "target", runs=runs, calibration_sessions=names[8:], **evaluated)
    bent = {"bent": folder / "floor-a"}
    evalframe.floor.evaluate(folder / "target", runs=bent, allow_in_sample_test_thresholds=True, **evaluated)


def _robometer(folder: Path, store: Path) -> None:
    world = trajectories(3)
    target_rows(world).write_parquet(folder / "targets.parquet")
    for run in ("robot-a", "robot-b"):
        traces = trace_rows(world, run_id=run)
        if run == "robot-b":
            traces = traces.with_columns(progress=1 - pl.col("progress"))
        traces.write_parquet(folder / f"{run}.parquet")
        evalframe.robometer.score(
            folder / f"{run}.parquet", folder / "targets.parquet", protocol="robometer-ind", top_k=2, store=store
        )


def _recorded(store: Path) -> None:
    """A gate that was not run and an erratum: what no score command writes."""
    folder = Store.open(store)
    gate = {
        "gate_id": "g",
        "run_id": "cnn",
        "gate": "checkpoint_loading",
        "subject": "zeros",
        "status": "not_run",
        "decides": True,
        "reason": f"no checkpoint {HOSTILE}",
    }
    target = contract("gate_findings")
    folder.write_record("gate_findings", "g", pa.Table.from_pylist([gate], schema=target.arrow_schema()), inputs={})
