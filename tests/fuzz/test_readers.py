"""No file makes a reader do anything but return or refuse: damaged by hypothesis here, by atheris in its own leg."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.errors import EvalframeError
from tests.fuzz.readers import READERS

ROOT = Path(__file__).resolve().parents[2]
SECONDS = int(os.environ.get("EVALFRAME_FUZZ_SECONDS", "60"))
"""For all readers together."""

DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from(["flip", "cut", "drop", "insert", "repeat"]),
        st.one_of(
            st.binary(min_size=1, max_size=8), st.sampled_from([b"\xff" * 8, b"\x00" * 8, b"\xf0\x9f", b"9" * 400])
        ),
    ),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, harm: list[tuple[float, str, bytes]]) -> bytes:
    """The bytes after each harm, done at a share of their length."""
    for share, kind, more in harm:
        place = int(share * len(data))
        head, tail = data[:place], data[place:]
        if kind == "flip":
            data = head + bytes(a ^ b for a, b in zip(tail, more, strict=False)) + tail[len(more) :]
        elif kind == "cut":
            data = head
        elif kind == "drop":
            data = head + tail[len(more) :]
        elif kind == "insert":
            data = head + more + tail
        else:
            data = head + tail[:200] * 3 + tail
    return data


@pytest.mark.parametrize("name", READERS)
def test_a_sound_file_is_read(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    for data in reader.corpus():
        (tmp_path / reader.name).write_bytes(data)
        reader.read(tmp_path / reader.name)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(name: str) -> None:
    reader = READERS[name]
    corpus = reader.corpus()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / reader.name

        @settings(max_examples=15)
        @given(st.sampled_from(corpus), DAMAGE)
        def check(sound: bytes, harm: list[tuple[float, str, bytes]]) -> None:
            path.write_bytes(damaged(sound, harm))
            try:
                reader.read(path)
            except EvalframeError as error:
                assert len(str(error).splitlines()) == 4  # noqa: PT017 (most files may be read)

        check()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A folder per reader with what atheris said of it, and its exit code."""
    folder = tmp_path_factory.mktemp("fuzzed")
    seconds = str(max(1, SECONDS // len(READERS)))
    command = [sys.executable, "-B", "-m", "tests.fuzz.run", seconds, str(folder), *READERS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads(done.stdout)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", READERS)
def test_atheris_finds_nothing(name: str, fuzzed: tuple[Path, dict[str, int]]) -> None:
    folder, ended = fuzzed
    said = (folder / name / "said").read_text(encoding="utf-8", errors="replace")
    assert ended[name] == 0, said[-3000:]
    runs = re.search(r"number_of_executed_units: (\d+)", said)
    assert runs is not None
    assert int(runs[1]) > 10
