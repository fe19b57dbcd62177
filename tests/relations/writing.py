"""Small folders of relations to test with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from evalframe.relations import Catalogue

METRIC_TAIL = (
    "CAST(NULL AS DOUBLE) AS numerator, CAST(NULL AS DOUBLE) AS denominator, CAST(sum(n) AS BIGINT) AS n_items, "
    "CAST(0 AS BIGINT) AS n_excluded, CAST(0 AS BIGINT) AS n_failed, 'ok' AS status, CAST(NULL AS VARCHAR) AS reason"
)

DEFAULTS: dict[str, dict[str, Any]] = {
    "fact": {},
    "state": {"merge": {"n": "sum"}},
    "metric": {"unit": "proportion", "better": "higher", "denominator": "data"},
}


def write(folder: Path, name: str, body: str, **head: Any) -> Path:
    """A relation file; front matter not given is filled in so that the file is well-formed. `key=...` drops a key."""
    layer = head.get("layer", "fact")
    matter = {
        "name": name,
        "layer": layer,
        "title": name.capitalize(),
        "inputs": [],
        "grain": ["run_id"],
        "parameters": [],
        "definition": f"What {name} is.",
        **DEFAULTS.get(layer, {}),
        **head,
    }
    written = {key: value for key, value in matter.items() if value is not ...}
    path = folder / f"{name}.sql"
    path.write_text(f"/* ---\n{yaml.safe_dump(written, sort_keys=False)}--- */\n{body}\n", encoding="utf-8")
    return path


def chain(folder: Path) -> Catalogue:
    """class_predictions -> hits (fact) -> hit_counts (state per cluster) -> hit_rate (metric)."""
    write(
        folder,
        "hits",
        "SELECT run_id, 'all' AS stratum, CAST(item_index AS VARCHAR) AS cluster_id, class_index AS hit\n"
        "FROM class_predictions\n"
        "WHERE class_index >= CAST((SELECT value FROM protocol_parameters WHERE name = 'lowest') AS BIGINT)",
        inputs=["class_predictions"],
        grain=["run_id", "cluster_id"],
        parameters=["lowest"],
    )
    write(
        folder,
        "hit_counts",
        "SELECT run_id, stratum, cluster_id, CAST(count(*) AS BIGINT) AS n, CAST(sum(hit) AS BIGINT) AS hits\n"
        "FROM hits\nGROUP BY run_id, stratum, cluster_id",
        layer="state",
        inputs=["hits"],
        grain=["run_id", "stratum", "cluster_id"],
        merge={"n": "sum", "hits": "sum"},
    )
    write(
        folder,
        "hit_rate",
        "WITH totals AS (\n"
        "    SELECT run_id, stratum, sum(n) AS n, sum(hits) AS hits FROM hit_counts GROUP BY run_id, stratum\n)\n"
        f"SELECT run_id, stratum, CAST(sum(hits) AS DOUBLE) / CAST(sum(n) AS DOUBLE) AS value, {METRIC_TAIL}\n"
        "FROM totals\nGROUP BY run_id, stratum",
        layer="metric",
        inputs=["hit_counts"],
        grain=["run_id", "stratum"],
        reading="Ours.",
    )
    return Catalogue((folder,))
