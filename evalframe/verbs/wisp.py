"""WISP: saved predictions of windows -> the four metrics, per class, confusion matrix, OUT.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalframe.protocols import protocol
from evalframe.relations import catalogue
from evalframe.sources.classification import SavedPredictions, read_predictions
from evalframe.store import Store
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import named
from evalframe.verbs.outputs import refusing, to_json, write_text
from evalframe.verbs.score import Run, Scored
from evalframe.verbs.score import score as score_run
from evalframe.verbs.spooling import spooled

PROTOCOL = "wisp-har/1"
VIEWS = ("class_report", "confusion_matrix")
"""What OUT.json shows besides metrics."""


@dataclass(frozen=True, repr=False)
class Classified(Scored):
    """The metric rows of a run of windows. `relations` holds the per-class report and the confusion matrix."""

    classes: tuple[str, ...]
    data_sha256: str
    command: str = "wisp score"
    checkpoint_sha256: str | None = None

    def body(self) -> dict[str, Any]:
        """What OUT.json says. Undefined metrics are null; their reasons stand in `undefined`."""
        rows = self.to_pylist()
        size = len(self.classes)
        matrix = [[0] * size for _ in range(size)]
        for entry in self.relations["confusion_matrix"].to_pylist():
            matrix[entry["target_index"]][entry["predicted_index"]] = entry["n"]
        per_class = ("class", "support", "predicted", "precision", "recall", "f1")
        classes = self.relations["class_report"].to_pylist()
        return {
            "run_id": self.run_id,
            "classes": list(self.classes),
            "n_windows": rows[0]["n_items"],
            "n_failed": rows[0]["n_failed"],
            "metrics": {row["metric"]: row["value"] for row in rows},
            "undefined": {row["metric"]: row["reason"] for row in rows if row["status"] != "ok"},
            "metric_fingerprints": self.identity.published_fingerprints,
            "parameters": dict(self.identity.parameters),
            "per_class": [{k: entry[k] for k in per_class} for entry in classes],
            "reasons": {"per_class": {entry["class"]: why for entry in classes if (why := _reasons(entry))}},
            "confusion_matrix": matrix,
            "data_digest": self.data_digest,
            "data_sha256": self.data_sha256,
            "checkpoint_sha256": self.checkpoint_sha256,
        }

    def to_json(self) -> str:
        """OUT.json as text."""
        return to_json(self.command, self.body(), self.identity.to_json())


def _reasons(entry: Mapping[str, Any]) -> dict[str, str]:
    """Why ratios of a class have no value."""
    known = {"precision": "no_predicted_positives", "recall": "no_positives"}
    return {name: reason for name, reason in known.items() if entry[name] is None}


@loosely
def score(
    predictions: Path | str,
    *,
    output: Path | None = None,
    classes: Path | None = None,
    keys: Mapping[str, str] | None = None,
    store: Path | str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    force: bool = False,
) -> Classified:
    """Score saved predictions (.npz, .parquet, .arrow, .csv) under `wisp-har/1`.

    output: OUT.json to write. classes: JSON list of class names in order, unless an NPZ holds them. keys: what the
    file calls a field, where it is not our name. store: folder to seal the run and its results in. run_id: default
    the file's name without suffix. settings: protocol parameters. relations: a folder of the user's own relations.
    Raises InputError or UsageError (exit 2), ContractError (exit 4) or StoreConflict (exit 4); nothing is written then.
    """
    path = Path(predictions)
    with spooled() as spool:
        saved = read_predictions(path, run_id=named(run_id, path.stem, tags), classes=classes, keys=keys, spool=spool)

        def finished(scored: Scored) -> Classified:
            return Classified(**vars(scored), classes=saved.classes, data_sha256=saved.data_sha256)

        scored = score_run(
            _run(saved, tags or {}),
            protocol(PROTOCOL),
            settings,
            store=None if store is None else Store.open(store, create=True),
            relations=catalogue(relations),
            also=VIEWS,
            admit=refusing(output, lambda scored: finished(scored).to_json(), force=force),
        )
    result = finished(scored)
    if output is not None:
        write_text(output, result.to_json(), force=force)
    return result


def _run(saved: SavedPredictions, tags: Mapping[str, str]) -> Run:
    return Run(saved.run_id, "wisp", saved.dataset_id, saved.tables, saved.inputs, tags)
