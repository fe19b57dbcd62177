"""Files as other evaluation tools write them, from their documented formats; no two fields hold the same value."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

DELIMITER = " "


def written(path: Path, value: Any) -> Path:
    """A JSON document; NaN as the json module writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ---- lm-evaluation-harness ------------------------------------------------------------------------------------------


def sample(
    doc_id: int, options: Sequence[str], likelihoods: Sequence[float], target: Any, **more: Any
) -> dict[str, Any]:
    """One sample of a multiple-choice task, scored as the harness scores it."""
    lengths = np.array([float(len(option)) for option in options])
    sizes = np.array([float(len(option.encode())) for option in options])
    gold = options.index(target) if isinstance(target, str) and not target.isdigit() else int(target)
    values = np.array(likelihoods)
    return {
        "doc_id": doc_id,
        "doc": {"question": f"What of {doc_id}?", "label": 77},
        "target": str(target),
        "arguments": {
            f"gen_args_{i}": {"arg_0": f"Q: What of {doc_id}?\nA:", "arg_1": DELIMITER + option}
            for i, option in enumerate(options)
        },
        "resps": [[[str(value + 5), "True"]] for value in likelihoods],
        "filtered_resps": [[str(value), "False"] for value in likelihoods],
        "filter": "none",
        "metrics": ["acc", "acc_norm", "acc_bytes"],
        "doc_hash": digest(f"doc {doc_id}"),
        "prompt_hash": digest(f"prompt {doc_id}"),
        "target_hash": digest(f"target {target}"),
        "acc": float(np.argmax(values) == gold),
        "acc_norm": float(np.argmax(values / lengths) == gold),
        "acc_bytes": float(np.argmax(values / sizes) == gold),
        **more,
    }


def generated(doc_id: int, answer: str, right: float, filter: str = "none", **more: Any) -> dict[str, Any]:
    """One sample of a generative task."""
    return {
        "doc_id": doc_id,
        "doc": {"question": f"Say {doc_id}", "answer": "the doc's own"},
        "target": f"target {doc_id}",
        "arguments": {"gen_args_0": {"arg_0": f"Say {doc_id}", "arg_1": {"until": ["\n"]}}},
        "resps": [[answer]],
        "filtered_resps": [answer.strip()],
        "filter": filter,
        "metrics": ["exact_match"],
        "doc_hash": digest(f"doc {doc_id}"),
        "prompt_hash": digest(f"prompt {doc_id}"),
        "target_hash": digest(f"target {doc_id}"),
        "exact_match": right,
        **more,
    }


def results(tasks: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Sequence[str], **more: Any) -> dict[str, Any]:
    """A results document of those samples: the means of their metrics."""
    filters = {task: rows[0]["filter"] for task, rows in tasks.items()}
    return {
        "results": {
            task: {
                "alias": f" - {task}",
                "sample_len": len(rows),
                **{f"{m},{filters[task]}": float(np.mean([row[m] for row in rows])) for m in metrics},
                **{f"{m}_stderr,{filters[task]}": 0.01 + i for i, m in enumerate(metrics)},
            }
            for task, rows in tasks.items()
        },
        "configs": {task: {"task": task, "target_delimiter": DELIMITER, "repeats": 3} for task in tasks},
        "versions": dict.fromkeys(tasks, 7),
        "n-shot": dict.fromkeys(tasks, 5),
        "higher_is_better": {task: dict.fromkeys(metrics, True) for task in tasks},
        "n-samples": {task: {"original": 1000 + len(rows), "effective": len(rows)} for task, rows in tasks.items()},
        "config": {"model": "hf", "model_args": "pretrained=org/small", "limit": 40.0},
        "date": 1700000000.5,
        "model_name": "org/small",
        "lm_eval_version": "0.4.9",
        "task_hashes": {task: digest(task) for task in tasks},
        "chat_template": None,
        **more,
    }


# ---- Inspect --------------------------------------------------------------------------------------------------------


def inspect_sample(id: int | str, epoch: int, target: Any, scores: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """One sample of a log; scores: scorer -> value."""
    return {
        "id": id,
        "epoch": epoch,
        "input": f"What of {id}?",
        "target": target,
        "output": {"model": "mock/inner", "choices": [], "completion": "as said"},
        "scores": {
            name: {"value": value, "answer": f"answer of {name}", "explanation": "because"}
            for name, value in scores.items()
        },
        "metadata": {"confidence": 0.25},
        "uuid": f"uuid-{id}-{epoch}",
        "total_time": 1.5,
        **more,
    }


def inspect_log(samples: Sequence[Mapping[str, Any]], accuracies: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """A finished log; accuracies: scorer -> the published one."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "the-eval-id",
            "run_id": "the-run-id",
            "created": "2026-01-02T03:04:05+00:00",
            "task": "org/sums",
            "task_id": "the-task-id",
            "task_version": 3,
            "dataset": {"name": "sums-data", "location": "sums.jsonl", "samples": 99},
            "model": "mock/outer",
            "packages": {"inspect_ai": "0.3.100"},
            "config": {"epochs": 4},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": 1000 + len(samples),
            "completed_samples": sum("error" not in sample for sample in samples),
            "scores": [
                {
                    "name": name,
                    "scorer": f"{name}_function",
                    "scored_samples": 500 + index,
                    "unscored_samples": 3,
                    "params": {},
                    "metrics": {
                        "accuracy": {"name": "accuracy", "value": value, "params": {}},
                        "stderr": {"name": "stderr", "value": 0.125 + index, "params": {}},
                    },
                }
                for index, (name, value) in enumerate(accuracies.items())
            ],
        },
        "stats": {"started_at": "2026-01-02T03:04:06+00:00"},
        "invalidated": False,
        "samples": list(samples),
        **more,
    }


def archive(path: Path, log: Mapping[str, Any], method: int = zipfile.ZIP_DEFLATED, **replaced: bytes) -> Path:
    """The log as an `.eval` file. method 93: Zstandard, which zipfile cannot write."""
    head = {name: value for name, value in log.items() if name != "samples"}
    members = {
        "_journal/start.json": json.dumps({"version": 2, "eval": {"task": "another"}}).encode(),
        **{
            f"samples/{sample['id']}_epoch_{sample['epoch']}.json": json.dumps(sample).encode()
            for sample in log["samples"]
        },
        "summaries.json": b"[]",
        "header.json": json.dumps(head).encode(),
        **replaced,
    }
    if method != 93:
        with zipfile.ZipFile(path, "w", method) as file:
            for name, data in members.items():
                file.writestr(name, data)
        return path
    body, directory = b"", b""
    for name, data in members.items():
        packed = bytes(pa.compress(data, codec="zstd", asbytes=True))
        common = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 0, zlib.crc32(data), len(packed), len(data), len(name), 0)
        directory += b"PK\1\2" + struct.pack("<H", 63) + common + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += b"PK\3\4" + common + name.encode() + packed
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


# ---- Every Eval Ever ------------------------------------------------------------------------------------------------


def record(*results: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A record of somebody else's."""
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "bench/org/model/1700000001",
        "evaluation_timestamp": "1700000002",
        "retrieved_timestamp": "1700000003",
        "source_metadata": {
            "source_name": "A board",
            "source_type": "documentation",
            "source_organization_name": "The Org",
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": "helm", "version": "1.2.3"},
        "model_info": {
            "name": "Model, shown",
            "id": "org/model",
            "developer": "The Developer",
            "additional_details": {"deployment_type": "self_deployed", "model_availability": "open_weights"},
        },
        "evaluation_results": list(results) or [record_result()],
        **more,
    }


def record_result(**more: Any) -> dict[str, Any]:
    """One result, every field of which differs."""
    return {
        "evaluation_result_id": "the-result-id",
        "evaluation_name": "bench.part",
        "evaluation_timestamp": "1700000004",
        "source_data": {"dataset_name": "bench data", "source_type": "hf_dataset", "hf_repo": "org/bench"},
        "metric_config": {
            "evaluation_description": "What share is right",
            "metric_id": "exact_match",
            "metric_name": "Exact match",
            "metric_kind": "accuracy",
            "metric_unit": "percent",
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 100,
        },
        "score_details": {
            "score": 62.5,
            "details": {"note": "free text"},
            "uncertainty": {
                "standard_error": {"value": 1.5, "method": "bootstrap"},
                "confidence_interval": {"lower": 60.25, "upper": 64.75, "confidence_level": 0.9, "method": "bootstrap"},
                "standard_deviation": 48.0,
                "num_samples": 1024,
                "num_bootstrap_samples": 2000,
            },
        },
        **more,
    }
