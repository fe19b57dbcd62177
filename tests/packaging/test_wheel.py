"""What is installed is what is tracked: no scratch file ships, no relation or contract is left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FINGERPRINTS = """
import json
from evalframe.protocols import all_protocols
from evalframe.relations import catalogue, metric_fingerprint
known = catalogue()
print(json.dumps({
    f"{p.label} {m}": metric_fingerprint(known, m, protocol=p.name, version=p.version, parameters=p.settings())
    for p in all_protocols() for m in p.metrics
}))
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_holds_exactly_the_tracked_files(unpacked: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of tracked files to compare with")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    tracked = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
    expected = {name for name in tracked if name.startswith("evalframe/")}
    expected |= {f"evalframe/_bundled/{name}" for name in tracked if name.startswith(("sql/", "data_contracts/"))}
    shipped = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    assert {name for name in shipped if ".dist-info/" not in name} == expected


def test_fingerprints_are_the_same_from_the_wheel_and_from_the_checkout(unpacked: Path) -> None:
    def fingerprints(path: Path) -> dict[str, str]:
        env = {**os.environ, "PYTHONPATH": str(path)}
        ran = subprocess.run(
            [sys.executable, "-c", FINGERPRINTS], cwd=unpacked, env=env, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return dict(json.loads(ran.stdout))

    from_wheel = fingerprints(unpacked)
    assert from_wheel
    assert from_wheel == fingerprints(ROOT)
