"""Spill folders go with their engine, and those of killed processes when the next engine opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evalframe.engines.duckdb import DuckDB
from evalframe.engines.spilling import PREFIX, SpillFolder, remove_abandoned

KILLED = """
import os, sys
from pathlib import Path
from evalframe.engines.duckdb import DuckDB
engine = DuckDB(spill_folder=Path(sys.argv[1]), threads=1)
(next(Path(sys.argv[1]).iterdir()) / "rows").write_bytes(b"x" * 1000)
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_stays(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -9
    (left,) = tmp_path.iterdir()
    assert (left / "rows").exists()
    (tmp_path / f"{PREFIX}of-somebody-else").mkdir()
    with DuckDB(spill_folder=tmp_path, threads=1):
        assert not left.exists()
        assert len(list(tmp_path.iterdir())) == 2
        assert remove_abandoned(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [f"{PREFIX}of-somebody-else"]


def test_a_folder_is_removed_once(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    folder.remove()
    folder.remove()
    assert list(tmp_path.iterdir()) == []
