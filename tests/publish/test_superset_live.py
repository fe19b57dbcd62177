"""The bundle in a real Superset: imported twice, its numbers asked for by the API, its page read in a browser."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalframe.publish.superset_bundle import drawn
from tests.publish.superset_files import NAME, of_kind, sql
from tests.publish.superset_server import Server, server


@pytest.fixture(scope="module")
def superset(dashboard_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Superset into which the ZIP was imported twice."""
    with server(tmp_path_factory.mktemp("server")) as running:
        counts = []
        for _ in range(2):
            running.import_dashboard(dashboard_folder / f"{NAME}.zip")
            counts.append([running.count(kind) for kind in ("database", "dataset", "chart", "dashboard")])
        assert counts == [[1, 5, 12, 1]] * 2
        yield running


@pytest.mark.bi
def test_superset_shows_the_number_of_every_metric_and_run(
    superset: Server, dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    key = ["run_id", "metric_key", "protocol_fingerprint", "stratum", "horizon_s", "recall", "step"]
    found = superset.rows(f"{NAME}: values", key, ["pooled_value"])
    names = ", ".join(key)
    wanted = dashboard_database.sql(f"SELECT {names}, value FROM fact_metric WHERE is_authority").fetchall()
    shown = {tuple(row[name] for name in key): row["pooled_value"] for row in found}
    assert shown.keys() == {row[:-1] for row in wanted}
    assert len(shown) > 1000
    for *cell, value in wanted:
        assert shown[tuple(cell)] == (None if value is None else pytest.approx(value, rel=0, abs=1e-12)), cell


@pytest.mark.bi
def test_superset_pools_as_the_views_of_the_export_do(
    superset: Server, dashboard_database: duckdb.DuckDBPyConnection
) -> None:
    key = ["metric_key", "protocol_fingerprint", "stratum", "horizon_s", "recall", "step", "system", "method", "model"]
    poolable = [{"col": "additivity", "op": "==", "val": "ratio_of_sums"}, {"col": "tainted", "op": "==", "val": False}]
    found = superset.rows(f"{NAME}: values", key, ["pooled_value", "n_values"], filters=poolable)
    shown = {tuple(row[name] for name in key): row["pooled_value"] for row in found}
    wanted = dashboard_database.sql(f"SELECT {', '.join(key)}, value FROM recomputed_rates").fetchall()
    assert len(wanted) > 500
    assert max(row["n_values"] for row in found) > 1
    for *cell, value in wanted:
        assert shown[tuple(cell)] == pytest.approx(value, rel=0, abs=1e-12), cell


@pytest.mark.bi
def test_a_browser_reads_the_numbers_before_and_after_the_filter(
    superset: Server,
    dashboard_files: dict[str, Any],
    dashboard_database: duckdb.DuckDBPyConnection,
    dashboard_folder: Path,
    playwright: str,
    chromium: str,
) -> None:
    (dashboard,) = of_kind(dashboard_files, "dashboards").values()
    shots = Path(os.environ.get("EVALFRAME_SCREENSHOTS", dashboard_folder))
    kept = [str(shots / f"superset-{when}.png") for when in ("before", "after")]
    script = str(Path(__file__).with_name("superset.mjs"))
    command = ["node", script, playwright, chromium, superset.address, dashboard["slug"], "kev-choice/2", *kept]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["errors"], found["requests"], found["broken"]) == ([], [], [])
    assert {title.partition("\n")[0] for title in found["titles"]} == set(drawn()["charts"])
    values = of_kind(dashboard_files, "datasets")["values"]
    for when, protocol in (("before", "wisp-har/1"), ("after", "kev-choice/2")):
        condition = f"WHERE protocol = '{protocol}' AND slice = 'all' AND is_primary ORDER BY board, run, metric"
        wanted: dict[str, list[str]] = {}
        for run, value, place in dashboard_database.sql(sql(values, "run, value, place", condition)).fetchall():
            cells = ["" if value is None else f"{value:.4f}", "" if place is None else f"{place}"]
            wanted.setdefault(run, []).extend(cells)
        # Superset leaves out a row in which nothing is defined; the run is in the tables below.
        assert {row["run"]: row["cells"] for row in found[when]} == {r: c for r, c in wanted.items() if any(c)}, when
    assert all(Path(path).stat().st_size > 50_000 for path in kept)
