"""Files that a fuzzer found: each once made a reader fail in another way than by a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import EvalframeError
from tests.fuzz.readers import READERS
from tests.sources import foreign

SPEC = b"reference: []\nprotocol: kev-choice/1\ncompare: [{metric: ece, call: [f]}]\ninputs: {kind: choices, "
LOG = foreign.inspect_log([], {})
RECORD = foreign.record()
RESULT = foreign.record_result(metric_config={"lower_is_better": False, "metric_parameters": {"\ud800": 1}})


def _with(document: dict[str, Any], name: str, value: Any) -> bytes:
    return json.dumps({**document, name: value}).encode()


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
    ("json results", b'{"results": {"t": {"\\ud800": 1}}}'),
    ("json results", b'{"results": {"\\ud800": {"acc": 1}}}'),
    ("json log", _with(LOG, "samples", [{"id": "a", "epoch": 1, "scores": {"\ud800": {"value": "C"}}}])),
    ("arrow saved", READERS["arrow saved"].corpus()[0].replace(b"task", b"\xe4ask")),
    ("json record", _with(RECORD, "evaluation_results", [RESULT])),
]


@pytest.mark.parametrize(("name", "data"), FOUND, ids=range(len(FOUND)))
def test_it_is_refused(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / READERS[name].name
    path.write_bytes(data)
    with pytest.raises(EvalframeError):
        READERS[name].read(path)


def test_metadata_that_is_no_text_is_not_read(tmp_path: Path) -> None:
    reader = READERS["parquet targets"]
    path = tmp_path / reader.name
    (sound, *_) = reader.corpus()
    assert b"ARROW:schema" in sound
    path.write_bytes(sound.replace(b"ARROW:schema", b"ARROW:\xe4chema"))
    reader.read(path)
