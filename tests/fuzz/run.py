"""Readers under atheris: `python -m tests.fuzz.run SECONDS FOLDER READER ...`. Any error that is not ours ends one.

Each has a process of its own, forked from one that has instrumented evalframe: that takes longer than a second of
fuzzing. What it says goes to FOLDER/READER/said; the exit code of each is printed. Beside the file that is read there
is nothing; what else is there after a call is a finding.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path
from typing import NoReturn

import atheris

with atheris.instrument_imports(include=["evalframe"], enable_loader_override=False):
    from evalframe.errors import EvalframeError
    from tests.fuzz.readers import READERS

MEMORY = 4 << 30
"""Bytes of addresses that a reader may ask for: far over what files of a few kilobytes need."""


def main(seconds: int, folder: Path, *names: str) -> dict[str, int]:
    """The exit code of each reader, one after the other."""
    ended = {}
    for name in names:
        place = folder / name
        place.mkdir(parents=True)
        if not (child := os.fork()):
            _forked(name, seconds, place)
        ended[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended


def _forked(name: str, seconds: int, folder: Path) -> NoReturn:
    """What a child does. It never comes back to what its parent was about."""
    try:
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        fuzz(name, seconds, folder)
    except SystemExit as end:  # atheris has said what it found
        os._exit(bool(end.code))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def fuzz(name: str, seconds: int, folder: Path) -> None:
    """Feed the reader until the time is over."""
    reader = READERS[name]
    corpus, place = folder / "corpus", folder / "place"
    for each in (corpus, place):
        each.mkdir(parents=True, exist_ok=True)
    path = place / reader.name
    for number, data in enumerate(reader.corpus()):
        (corpus / f"sound-{number}").write_bytes(data)
        path.write_bytes(data)
        reader.read(path)
    allowed = {each.name for each in place.iterdir()}

    def one(data: bytes) -> None:
        path.write_bytes(data)
        try:
            reader.read(path)
        except EvalframeError as error:
            _check(str(error))
        left = {each.name for each in place.iterdir()} - allowed
        assert not left, left

    warnings.simplefilter("error")
    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=16384", "-verbosity=0"]
    options += ["-print_final_stats=1", f"-artifact_prefix={folder}/"]
    if "CI" in os.environ:  # as hypothesis: a check of a change says something of the change
        options.append("-seed=1")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def _check(said: str) -> None:
    assert len(said.splitlines()) == 4, said
    assert all(c.isprintable() for line in said.splitlines() for c in line), said


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])))
