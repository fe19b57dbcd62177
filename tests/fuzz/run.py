"""One reader under atheris: `python -m tests.fuzz.run READER SECONDS FOLDER`. Any error that is not ours ends it.

The folder holds nothing but the file that is read; what else is there after a call is a finding.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["evalframe"], enable_loader_override=False):
    from evalframe.errors import EvalframeError
    from tests.fuzz.readers import READERS

MEMORY = 4 << 30
"""Bytes of addresses that a reader may ask for: far over what files of a few kilobytes need."""


def main(name: str, seconds: int, folder: Path) -> None:
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
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
