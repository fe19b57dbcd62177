"""Every Eval Ever records (schema 0.3.0) of a store: one JSON document per run and set of results.

What the schema has no field for stands in its free fields under names that start with `evalframe.`: fingerprints,
denominators, taint. A metric without a value is no result there, since the schema wants a number; it stands in a free
field of the library with its reason, and never as 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from evalframe.identity import canonical_json
from evalframe.publish.folders import Folder
from evalframe.publish.rows import dicts
from evalframe.publish.star import Star
from evalframe.sources.every_eval_ever import (
    CLAIMED,
    COUNTS,
    FINGERPRINT,
    OURS,
    POINTS,
    PROTOCOL,
    QUOTIENT,
    RUN_ID,
    SYSTEM,
    TAGS,
    UNDEFINED,
)
from evalframe.sources.recorded import ORIGIN
from evalframe.store import staging
from evalframe.store.layout import encode

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")

_SET = ("run_id", "protocol", "protocol_fingerprint", "origin", "claimed_protocol", "source_digest")
"""What the rows of one record have in common."""

_IDENTITY = ("metric_fingerprint", "origin", "source_digest")
_Row = Mapping[str, Any]


@dataclass(frozen=True)
class EveryEvalEver(Folder):
    """A folder data/<protocol>/<developer>/<model>/<uuid>.json, as the collection of such records is laid out."""

    path: Path
    kind: ClassVar[str] = "eee"
    compares: ClassVar[bool] = False

    def _write_files(self, folder: Path, star: Star) -> None:
        for record in records(star):
            text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
            place = folder / place_of(record)
            place.parent.mkdir(parents=True, exist_ok=True)
            staging.put(place, text.encode())


def place_of(record: Mapping[str, Any]) -> Path:
    """Where a record lies, from its content alone: the same record always has the same name."""
    model = record["model_info"]
    protocol = record["eval_library"]["additional_details"].get(PROTOCOL, "recorded")
    digest = hashlib.sha256(canonical_json(record).encode()).digest()
    developer, slash, name = model["id"].partition("/")
    if not slash:
        developer, name = model.get("developer", UNKNOWN), model["id"]
    folders = [_segment(text) for text in (protocol.replace("/", "-"), developer, name)]
    return Path("data", *folders, f"{UUID(bytes=digest[:16], version=4)}.json")


def _segment(text: str) -> str:
    """`text` as the name of one folder: never empty, never a way up."""
    name = encode(text)
    return name if name.strip(".") else name.replace(".", "%2E") or UNKNOWN


def records(star: Star) -> Iterator[dict[str, Any]]:
    """Every record of the store, in the order of runs and fingerprints."""
    runs = {row["run_id"]: row for row in star.table("dim_run").to_pylist()}
    metrics = {row["metric_key"]: row for row in star.table("dim_metric").to_pylist()}
    facts = dicts("fact_metric", star.tables["fact_metric"])
    for run, of_run in groupby(facts, key=itemgetter("run_id")):  # facts are sorted by run
        sets: dict[tuple[Any, ...], list[_Row]] = {}
        for row in of_run:
            sets.setdefault(tuple(row[name] for name in _SET), []).append(row)
        for key in sorted(sets, key=lambda key: tuple((part is not None, part or "") for part in key)):
            rows = sorted(sets[key], key=lambda row: canonical_json(_point(row)))
            yield _record(runs.get(run, {"run_id": run}), rows, metrics)


def _record(run: _Row, rows: Sequence[_Row], metrics: Mapping[str, _Row]) -> dict[str, Any]:
    tags = json.loads(run["tags"]) if run.get("tags") else {}
    first = rows[0]
    recorded = first["origin"] == ORIGIN
    made = run.get("created_at")
    seconds = str(int(made.timestamp())) if made is not None else "0"
    label = first["protocol"] or first["claimed_protocol"] or "recorded"
    model = tags.get("model") or run["run_id"] or UNKNOWN
    print_of = first["protocol_fingerprint"] or first["source_digest"] or ""
    relationship = tags.get("evaluator_relationship")
    defined = [row for row in rows if row["status"] == "ok"]
    library = {
        RUN_ID: run["run_id"],
        SYSTEM: run.get("system"),
        PROTOCOL: first["protocol"],
        FINGERPRINT: first["protocol_fingerprint"],
        CLAIMED: first["claimed_protocol"],
        f"{OURS}dataset_id": run.get("dataset_id"),
        TAGS: canonical_json(tags) if tags else None,
        UNDEFINED: _without_value([row for row in rows if row["status"] != "ok"]),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{label}/{run['run_id']}/{seconds}/{print_of.removeprefix('ef1-')[:16]}",
        "retrieved_timestamp": seconds,
        "source_metadata": {
            "source_name": "evalframe",
            "source_type": "documentation" if recorded else "evaluation_run",
            "source_organization_name": tags.get("organization") or UNKNOWN,
            "evaluator_relationship": relationship if relationship in RELATIONSHIPS else "other",
        },
        "eval_library": {"name": "evalframe", "version": _version(), "additional_details": _told(library)},
        "model_info": {
            "name": model,
            "id": model,
            **_told({"developer": tags.get("developer")}),
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
        },
        "evaluation_results": [_result(row, metrics.get(row["metric_key"], {}), tags, label) for row in defined],
    }


def _result(row: _Row, metric: _Row, tags: Mapping[str, str], label: str) -> dict[str, Any]:
    details = {
        "stratum": row["stratum"],
        "tainted": _spelled(row["tainted"]),
        "taint_reason": row["taint_reason"],
        **{name: _spelled(row[name]) for name in (*QUOTIENT, *COUNTS)},
        **{name: row[name] for name in _IDENTITY},
    }
    return {
        "evaluation_result_id": canonical_json(_point(row)),
        "evaluation_name": _evaluation(row, label),
        "source_data": {
            "dataset_name": tags.get("dataset") or UNKNOWN,
            "source_type": "other",
            "additional_details": _told({f"{OURS}data_digest": row["data_digest"]}),
        },
        "metric_config": {
            **_told({"evaluation_description": metric.get("definition"), "metric_name": metric.get("title")}),
            "metric_id": row["metric"],
            "metric_unit": row["unit"],
            "metric_parameters": {name: row[name] for name in POINTS if row[name] is not None},
            "lower_is_better": row["better"] == "lower",
            "additional_details": {f"{OURS}better": row["better"]},
        },
        "score_details": {
            "score": row["value"],
            "details": {OURS + name: text for name, text in _told(details).items()},
        },
    }


def _evaluation(row: _Row, label: str) -> str:
    return label if row["stratum"] == "all" else f"{label} {row['stratum']}"


def _point(row: _Row) -> dict[str, Any]:
    """What tells a value from the others of its record."""
    return {name: row[name] for name in ("metric", "stratum", *POINTS) if row[name] is not None}


def _without_value(rows: Sequence[_Row]) -> str | None:
    said = ("status", "reason", "tainted", "taint_reason", "unit", "better")
    names = (*said, *QUOTIENT, *COUNTS, *_IDENTITY, "data_digest")
    told = [{**_point(row), **{name: row[name] for name in names if row[name] is not None}} for row in rows]
    return canonical_json(told) if told else None


def _spelled(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _told(fields: Mapping[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in fields.items() if text is not None}


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("evalframe")
    except PackageNotFoundError:  # run from a checkout
        return UNKNOWN
