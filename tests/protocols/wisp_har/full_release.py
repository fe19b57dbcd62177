"""360 models: rescored without torch, every checkpoint loaded and run, discrepancies found among 1,440 values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.audit.releases import Release, release
from tests.protocols.wisp_har import watch

SEEDS = 30
_MEASURED = """
import json, resource, sys, time
import evalframe
start = time.perf_counter()
gated = evalframe.wisp.gate({inventory!r}, {frozen!r}, layout="NCT", full_inference={full!r}, store={store!r})
print(json.dumps({{
    "seconds": time.perf_counter() - start,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "torch": "torch" in sys.modules,
    "gates": {{name: [row["exercised"], row["passed"], row["failed"]] for name, row in gated.coverage.items()}},
}}))
"""


def measured(made: Release, full: list[str] | None = None, store: Path | None = None) -> dict[str, Any]:
    """The gates in a process of their own: seconds, peak memory, whether torch was loaded, what each gate came to."""
    code = _MEASURED.format(
        inventory=str(made.inventory), frozen=str(made.catalogue), full=full or [], store=store and str(store)
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def full_wisp_rescoring() -> None:
    """The metric gate over 360 saved predictions of 861 windows, without torch, then the same into a store."""
    with tempfile.TemporaryDirectory() as folder:
        made = release(Path(folder), models=360, windows=861).write()
        found = measured(made)
        assert found["gates"]["metric_equivalence"] == [360, 360, 0]
        assert not found["torch"]
        print(f"360 models rescored in {found['seconds']:.1f} s, peak {found['peak_mb']:.0f} MB, torch not loaded")
        stored = measured(made, store=Path(folder) / "store")
        print(f"the same, sealed in a store: {stored['seconds']:.1f} s, peak {stored['peak_mb']:.0f} MB")


def full_wisp_audit() -> None:
    """Discrepancies planted in 360 models, of four kinds: all are found, none is explained wrongly."""
    import evalframe

    with tempfile.TemporaryDirectory() as folder:
        made = release(Path(folder), models=360, windows=861)
        wanted: dict[tuple[str, str], str] = {}
        for number, model in enumerate(sorted(made.lines)):
            value = made.frozen[model]["macro_f1"]
            kinds = {
                0: ("per cent", value * 100),
                1: ("float32", float(np.float32(value))),
                2: ("rounded", round(value, 6)),
                3: ("unexplained", value + 0.01234567 + number * 1e-7),
            }
            if number % 10 in kinds:
                told, said = kinds[number % 10]
                made.sidecars[model]["macro_f1"] = said
                wanted[model, "macro_f1"] = told
        made.write()
        start = time.perf_counter()
        audited = evalframe.wisp.audit(made.inventory, made.catalogue)
        seconds = time.perf_counter() - start
        rows = {(row["run_id"], row["metric"]): row for row in audited.to_pylist()}
        assert set(rows) == set(wanted)
        statuses: dict[str, int] = {}
        for place, told in wanted.items():
            row = rows[place]
            statuses[row["explanation"]] = statuses.get(row["explanation"], 0) + 1
            if told == "unexplained":
                assert row["explanation"] == "unexplained", row
            else:
                assert row["explanation"] in ("explained", "ambiguous"), row
                assert any(told in each for each in row["explained_by"]), row
        print(f"{len(wanted)} discrepancies planted and found in {seconds:.1f} s: {statuses}")


def full_wisp_checkpoints() -> None:
    """360 checkpoints loaded, each running one batch; 90 of them on all their data; memory that does not grow."""
    root = os.environ.get("EVALFRAME_REAL_DATA")
    windows = watch.real(Path(root) / "har_watch") if root else watch.made_up()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        made = watch.build(Path(folder), windows, seeds=SEEDS, epochs=2)
        print(f"{len(made.lines)} models fitted on {'real' if root else 'made-up'} windows"
              f" in {time.perf_counter() - start:.0f} s")  # fmt: skip
        few = Release(made.folder, dict(list(made.lines.items())[:36]), made.frozen, {}, made.windows)
        few.folder = Path(folder)
        whole = measured(made, full=["fold=0"])
        assert whole["gates"]["checkpoint_loading"] == [360, 360, 0], whole
        assert whole["gates"]["prediction_equivalence"] == [90, 90, 0], whole
        assert whole["gates"]["export_equivalence"] == [360, 360, 0], whole
        assert whole["gates"]["metric_equivalence"] == [360, 360, 0], whole
        few.write()
        part = measured(few)
        assert part["gates"]["checkpoint_loading"] == [36, 36, 0], part
        print(f"36 checkpoints: peak {part['peak_mb']:.0f} MB in {part['seconds']:.1f} s")
        print(f"360 checkpoints, 90 in full: peak {whole['peak_mb']:.0f} MB in {whole['seconds']:.1f} s")
        assert whole["peak_mb"] < 2 * part["peak_mb"]
