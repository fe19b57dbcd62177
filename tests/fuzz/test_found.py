"""Files that a fuzzer found: each once made a reader fail in another way than by a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.errors import EvalframeError
from tests.fuzz.readers import READERS

SPEC = b"reference: []\nprotocol: kev-choice/1\ncompare: [{metric: ece, call: [f]}]\ninputs: {kind: choices, "
FOUND = [
    ("yaml case", b"shows: It.\n1: 2\ns:\n  3\n"),
    ("yaml case", b"shows: It.\ninputs:\n   2.5}]\noutputs:\n  rows: [{a: 1, value: null}]\n"),
    ("yaml case", b"shows: \xff"),
    ("yaml relation", b"/* ---\nname: f\nlayer: fact\non: D.\n--- */\nSELECT 1\n"),
    ("yaml relation", b"/* ---\nname: \xff\n--- */\nSELECT 1\n"),
    ("yaml spec", SPEC + b"batches: 0}\n"),
    ("yaml spec", SPEC + b"batches: 99999, rows: 99999}\n"),
    ("yaml spec", SPEC + b"options: many}\n"),
    ("yaml folds", b"folds: 2001-99-99"),
]


@pytest.mark.parametrize(("name", "data"), FOUND, ids=range(len(FOUND)))
def test_it_is_refused(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / READERS[name].name
    path.write_bytes(data)
    with pytest.raises(EvalframeError):
        READERS[name].read(path)
