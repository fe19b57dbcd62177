"""Tableau extracts and Delta tables, read back by their own libraries and compared row by row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import evalframe
from evalframe.errors import ExtraMissing
from evalframe.publish.star import Star
from evalframe.publish.targets import target
from evalframe.verbs.opened import Store

PACKAGES = ("pantab==5.3.0", "deltalake==1.6.6", "arro3-core", "Deprecated", "wrapt", "typing_extensions")
"""pantab and deltalake with what they want, but pyarrow, which is here."""

READ = """
import sys, pantab, pyarrow.parquet as pq
from deltalake import DeltaTable
hyper, delta, into, *names = sys.argv[1:]
quiet = {"log_dir": into}
extract = pantab.frames_from_hyper(hyper, return_type="pyarrow", process_params=quiet)
for place, found in extract.items():
    pq.write_table(found, f"{into}/hyper-{str(place[-1]).strip(chr(34))}.parquet")
for name in names:
    pq.write_table(DeltaTable(f"{delta}/{name}").to_pyarrow_table(), f"{into}/delta-{name}.parquet")
"""


@pytest.mark.parametrize("text", ["hyper:a.hyper", "delta:d"])
def test_without_the_extra_the_error_says_what_to_install(
    whole: Star, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    kind, _, name = text.partition(":")
    for module in ("pantab", "deltalake"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ExtraMissing) as refused:
        target(f"{kind}:{tmp_path / name}").write(whole, force=False)
    assert f"evalframe[{kind}]" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which both libraries are found: the folder of EVALFRAME_EXTRACTS, or one that is filled here."""
    folder = os.environ.get("EVALFRAME_EXTRACTS")
    if folder is None:
        folder = str(tmp_path_factory.mktemp("extracts"))
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-cache-dir", "--no-deps", "--target", folder]
        subprocess.run([*command, *PACKAGES], check=True)
    ours = str(Path(evalframe.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([folder, ours])}


@pytest.mark.bi
def test_extracts_give_every_row_back_and_a_rerun_changes_nothing(
    store: Store, variables: dict[str, str], tmp_path: Path
) -> None:
    def export(to: str, *more: str) -> Any:
        command = [sys.executable, "-m", "evalframe", "export", "--store", str(store.folder.path), "--to", to, "--json"]
        options = {"capture_output": True, "text": True, "check": False, "env": variables, "cwd": tmp_path}
        done = subprocess.run([*command, "--no-compare", *more], **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    parquet, hyper, delta = (tmp_path / name for name in ("p", "a.hyper", "d"))
    digest = export(f"parquet:{parquet}")["content_sha256"]
    for place in (f"hyper:{hyper}", f"delta:{delta}"):
        for outcome in ("written", "unchanged"):
            said = export(place)
            assert (said["outcome"], said["content_sha256"]) == (outcome, digest)
    names = [path.stem for path in parquet.glob("*.parquet")]
    assert len(names) == 10
    read_back = tmp_path / "read"
    read_back.mkdir()
    read = [sys.executable, "-c", READ, str(hyper), str(delta), str(read_back), *names]
    subprocess.run(read, check=True, env=variables, cwd=tmp_path)
    for name in names:
        wanted = pq.read_table(parquet / f"{name}.parquet").to_pylist()
        assert pq.read_table(read_back / f"delta-{name}.parquet").to_pylist() == wanted, name
        extract = pq.read_table(read_back / f"hyper-{name}.parquet").to_pylist()
        assert sorted(extract, key=repr) == sorted(wanted, key=repr), name  # Hyper reads in an order of its own
    assert {path.name for path in tmp_path.iterdir()} == {"p", "a.hyper", "d", "read"}
    (tmp_path / "mine.hyper").write_text("mine")
    command = [
        sys.executable,
        "-m",
        "evalframe",
        "export",
        "--store",
        str(store.folder.path),
        "--no-compare",
        "--force",
    ]
    refused = subprocess.run(
        [*command, "--to", f"hyper:{tmp_path / 'mine.hyper'}"], capture_output=True, check=False, env=variables
    )
    assert refused.returncode == 4
    assert (tmp_path / "mine.hyper").read_text() == "mine"
