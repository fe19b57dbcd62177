"""Every reader of files from outside: what it is fed to begin with, made by code, and how it is called on a file.

A reader may return or raise an EvalframeError. Anything else is a finding, and so is a file it leaves behind.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalframe.audit.errata import read_errata
from evalframe.audit.inventory import read_inventory
from evalframe.audit.parity_spec import read_spec
from evalframe.audit.values_csv import read_lines
from evalframe.contracts import contract, example, validate
from evalframe.contracts.files import read_table
from evalframe.contracts.writing import table_bytes
from evalframe.engines.cases import read_case
from evalframe.protocols.easycom_floor.calibration import read_folds
from evalframe.relations.front_matter import read_relation
from evalframe.sources import choice, every_eval_ever, inspect_log, lm_eval, lm_eval_results, progress
from evalframe.sources.classification import read_predictions
from evalframe.sources.documents import read_document
from evalframe.sources.floor_intervals import read_segments
from evalframe.sources.floor_targets import read_targets
from evalframe.sources.floor_turns import read_rttm
from evalframe.sources.marks import mark_tables
from evalframe.sources.progress_frames import inspect
from evalframe.sources.progress_registry import read_registry
from evalframe.sources.save_to_disk import open_saved
from evalframe.sources.signals import read_windows
from tests.sources import foreign


@dataclass(frozen=True)
class Reader:
    """name: of the file it is given, in a folder of its own; corpus: sound files to begin with."""

    name: str
    read: Callable[[Path], Any]
    corpus: Callable[[], Sequence[bytes]]


def _npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return min(out.getvalue(), packed.getvalue(), key=len)


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


_WINDOWS = {
    "y_true": np.array([0, 1, 1]),
    "y_pred": np.array([0, 1, 0]),
    "participant": np.array(["p", "q", "q"]),
    "time": np.array([0.0, 1.0, 2.0]),
    "classes": np.array(["sit", "walk"]),
    "sample_id": np.array(["a", "b", "c"]),
    "failed": np.array([False, False, True]),
}
_COLUMNS = {name: array.tolist() for name, array in _WINDOWS.items() if name != "classes"}
_NAMES = {"y_true": ["sit", "walk", "walk"], "y_pred": ["sit", "walk", "sit"]}
_SIGNALS = {"X": np.zeros((3, 4, 2), np.float32), "y": np.array([0, 1, 1]), **_WINDOWS}
_TRACES = {
    "run_id": ["r", "r"],
    "step": [0, 0],
    "trajectory_id": ["t", "t"],
    "query_task": ["x", "x"],
    "prefix_index": [0, 1],
    "frame_index": [0, 1],
    "progress": [0.1, 0.9],
    "success_probability": [0.5, 0.5],
}
_TARGETS = {
    "trajectory_id": ["t", "t"],
    "task": ["x", "x"],
    "outcome": ["success", "success"],
    "frame_index": [0, 1],
    "target_progress": [0.0, 1.0],
}
_ROW = {
    "id": "a",
    "question": "what",
    "keys": ["yes", "no"],
    "p": [0.25, 0.75],
    "label": 1,
    "group": "g",
    "source": "s",
    "task": "t",
    "type": "choice",
    "variant": "original",
}


def _parquet(columns: dict[str, Any], **options: Any) -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), out, **options)
    return bytes(out.getvalue().to_pybytes())


def _arrow(columns: dict[str, Any], make: Any = pa.ipc.new_file) -> bytes:
    out = pa.BufferOutputStream()
    table = pa.table(columns)
    with make(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue().to_pybytes())


def _csv(columns: dict[str, Any]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows), ""]).encode()


def _validated(name: str) -> Callable[[Path], Any]:
    return lambda path: validate(contract(name), read_table(contract(name), path)).failures


def _examples(suffix: str, *names: str) -> Callable[[], list[bytes]]:
    return lambda: [table_bytes(example(contract(name)), suffix) for name in names]


def _known_targets() -> progress.Targets:
    import polars as pl

    return progress.targets(pl.DataFrame(_TARGETS), "targets")


def _predictions(path: Path) -> Any:
    classes = path.with_name("classes.json")
    classes.write_text('["sit", "walk"]')
    return read_predictions(path, run_id="r", classes=classes)


def _session(path: Path) -> Any:
    return read_targets(path.parent, [path.stem])


def _saved(path: Path) -> Any:
    (path.parent / "state.json").write_text(json.dumps({"_data_files": [{"filename": path.name}]}))
    return list(open_saved(path.parent).batches(["id", "task"]))


def _state(path: Path) -> Any:
    (path.parent / "data.arrow").write_bytes(_arrow({"id": ["a"]}, pa.ipc.new_stream))
    return open_saved(path.parent)


def _published(result: Any) -> Any:
    return result.metric_values("r"), result.recorded_results("r")


def _samples(path: Path) -> Any:
    read = lm_eval.read_samples(path, lm_eval.Options("bytes"))
    return choice.rows_run(read.rows, "r") if read.rows else mark_tables(read.marks, "r", str(path))


def _results(path: Path) -> Any:
    document, digest = read_document(path)
    return _published(lm_eval_results.read_results(document, path, digest).published)


def _log(path: Path) -> Any:
    log = inspect_log.read_log(path)
    return _published(log.published), mark_tables(log.marks, "r", str(path))


_ASKED = [foreign.sample(i, ["no", "yes"], [-1.5, -2.0 + i], 1) for i in range(2)]
_SAID = [foreign.generated(7, "said", 1.0)]
_LOG = foreign.inspect_log([foreign.inspect_sample("a", 1, "t", {"match": "C"})], {"match": 0.5})
_RECORD = foreign.record(
    foreign.record_result(metric_config={"lower_is_better": False, "metric_id": "f", "metric_parameters": {"k": 5}})
)
_OWN_RECORD = foreign.record(
    foreign.record_result(
        score_details={
            "score": 0.5,
            "details": {"evalframe.stratum": "all", "evalframe.tainted": "false", "evalframe.n_items": "4"},
        }
    ),
    eval_library={
        "name": "evalframe",
        "version": "1",
        "additional_details": {
            "evalframe.run_id": "r",
            "evalframe.tags": '{"fold": "0"}',
            "evalframe.results_without_value": json.dumps(
                [{name: name for name in ("metric", "stratum", "unit", "better", "status", "reason")}]
            ),
        },
    },
)
"""As an export of ours: it says more in the free fields."""


def _lines(rows: Sequence[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _archives() -> list[bytes]:
    """The log stored as it is, deflated, and packed with Zstandard."""
    with tempfile.TemporaryDirectory() as folder:
        return [foreign.archive(Path(folder) / "log.eval", _LOG, method).read_bytes() for method in (0, 8, 93)]


_YAML = b"folds:\n- {evaluate: [S1, S2], calibrate: [S3]}\n- {evaluate: &a [S3], calibrate: *a}\n"
_CASE = b"shows: It.\ninputs:\n  t: [{a: 1, b: 2.5}]\noutputs:\n  rows: [{a: 1, value: null}]\n"
_RELATION = (
    b"/* ---\nname: f\nlayer: fact\ntitle: T\ninputs: [runs]\ngrain: [run_id]\nparameters: []\ndefinition: D.\n--- */\n"
    b"SELECT run_id FROM runs\n"
)
_SPEC = (
    b"reference: [{file: r.py, sha256: "
    + b"a" * 64
    + b", functions: [f]}]\nprotocol: kev-choice/1\ninputs: {kind: choices, seed: 11, batches: 2, rows: 5}\n"
    b"compare:\n- {metric: ece, call: [f, confidences, correct]}\n"
)
_RTTM = b"SPEAKER m 1 0.10 0.50 <NA> <NA> a <NA> <NA>\nSPEAKER m 1 0.40 1.50 <NA> <NA> b <NA> <NA>\n"
_INVENTORY = (
    b"model_id,method,dataset,fold,seed,checkpoint,checkpoint_sha256,sidecar,predictions\n"
    b"a,random,ADL,0,1,,,a.json,a.npz\n"
)

READERS: dict[str, Reader] = {
    "npz predictions": Reader("p.npz", lambda p: read_predictions(p, run_id="r"), lambda: [_npz(**_WINDOWS)]),
    "npz signals": Reader("s.npz", lambda p: read_windows(p, run_id="r"), lambda: [_npz(**_SIGNALS)]),
    "npz frames": Reader("f.npz", lambda p: inspect(p, 2), lambda: [_npz(frames=np.zeros((2, 3, 3, 3), np.uint8))]),
    "npy": Reader(
        "S1.npy", _session, lambda: [_npy(np.eye(3, dtype=d)) for d in (np.float32, np.int8, np.bool_, ">f8")]
    ),
    "parquet predictions": Reader("p.parquet", _predictions, lambda: [_parquet(_COLUMNS)]),
    "parquet traces": Reader(
        "t.parquet",
        lambda p: progress.read_traces(p, _known_targets()),
        lambda: [_parquet(_TRACES, compression="zstd")],
    ),
    "parquet targets": Reader("t.parquet", progress.read_targets, lambda: [_parquet(_TARGETS)]),
    "parquet contract": Reader(
        "t.parquet", _validated("floor_forecasts"), _examples(".parquet", "floor_forecasts", "runs", "choice_questions")
    ),
    "arrow predictions": Reader("p.arrow", _predictions, lambda: [_arrow(_COLUMNS)]),
    "arrow contract": Reader("t.arrow", _validated("runs"), _examples(".arrow", "runs", "floor_forecasts")),
    "arrow saved": Reader(
        "data.arrow",
        _saved,
        lambda: [_arrow({"id": ["a", "b"], "task": ["x", "y"], "n": [[0.5], []]}, pa.ipc.new_stream)],
    ),
    "csv predictions": Reader("p.csv", _predictions, lambda: [_csv({**_COLUMNS, **_NAMES})]),
    "csv contract": Reader("t.csv", _validated("choice_questions"), _examples(".csv", "choice_questions", "runs")),
    "csv segments": Reader(
        "s.csv", lambda p: read_segments(p, {"S1": 5}), lambda: [b"session,first_row,n_rows\nS1,0,2\nS1,2,3\n"]
    ),
    "csv inventory": Reader("i.csv", read_inventory, lambda: [_INVENTORY]),
    "csv values": Reader("v.csv", read_lines, lambda: [b"model,metric,value\na,accuracy,0.5\n"]),
    "json rows": Reader(
        "r.jsonl",
        lambda p: choice.read_rows(p, "r"),
        lambda: [json.dumps(_ROW).encode(), json.dumps([_ROW, {**_ROW, "id": "b", "label": None}]).encode()],
    ),
    "json contract": Reader(
        "t.ndjson", _validated("choice_questions"), _examples(".ndjson", "choice_questions", "runs")
    ),
    "json registry": Reader(
        "g.json",
        lambda p: read_registry(p, "test_ood"),
        lambda: [b'{"ood": [{"task_id": "a", "task": "open the door"}], "ind": []}'],
    ),
    "json state": Reader("state.json", _state, lambda: [b'{"_data_files": [{"filename": "data.arrow"}]}']),
    "json samples": Reader("samples_t.jsonl", _samples, lambda: [_lines(_ASKED), _lines(_SAID)]),
    "json results": Reader(
        "results.json", _results, lambda: [json.dumps(foreign.results({"t": _ASKED}, ["acc", "acc_norm"])).encode()]
    ),
    "json log": Reader("log.json", _log, lambda: [json.dumps(_LOG).encode()]),
    "eval log": Reader("log.eval", _log, _archives),
    "json record": Reader(
        "record.json",
        lambda p: _published(every_eval_ever.read_record(p)),
        lambda: [json.dumps(each).encode() for each in (foreign.record(), _RECORD, _OWN_RECORD)],
    ),
    "rttm": Reader("m.rttm", read_rttm, lambda: [_RTTM]),
    "yaml folds": Reader("f.yaml", read_folds, lambda: [_YAML]),
    "yaml case": Reader("accuracy.yaml", read_case, lambda: [_CASE]),
    "yaml relation": Reader("f.sql", read_relation, lambda: [_RELATION]),
    "yaml spec": Reader("spec.yaml", read_spec, lambda: [_SPEC]),
    "yaml errata": Reader("e.csv", read_errata, lambda: [b"kind,name,reason\nrun,a,because\n"]),
}
