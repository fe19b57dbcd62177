"""Saved class predictions -> class_vocabulary, class_labels, class_predictions.

A file holds one value per window: y_true, y_pred, participant, optionally time, sample_id and failed; an NPZ also
classes. Integers are class indices and text is labels; CSV is text throughout. Nothing is scored here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import conform, contract
from evalframe.errors import ContractError, DuplicateItem, LabelRefused, UsageError
from evalframe.identity import data_digest
from evalframe.sources.fields import Fields, file_sha256, read_fields
from evalframe.sources.npz import Limits
from evalframe.sources.values import ids, is_text, shown, times, truths
from evalframe.sources.vocabulary import Vocabulary

WINDOW_FIELDS = ("participant", "time", "sample_id")
"""What a labelled window carries beside its label."""

PREDICTION_FIELDS = ("y_true", "y_pred", *WINDOW_FIELDS, "failed")
"""What a file of saved predictions may hold, a value per window; `classes`, a value per class, only in NPZ."""


@dataclass(frozen=True)
class SavedPredictions:
    """One file of saved predictions, normalised.

    tables: class_vocabulary, class_labels, class_predictions. data_sha256: of the file's bytes. inputs: digests and
    options that make it the same run again.
    """

    run_id: str
    dataset_id: str
    classes: tuple[str, ...]
    tables: Mapping[str, pa.Table]
    data_sha256: str
    inputs: Mapping[str, Any]


def read_predictions(
    path: Path,
    *,
    run_id: str,
    classes: Path | None = None,
    keys: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> SavedPredictions:
    """The predictions saved in an .npz, .parquet, .arrow or .csv file.

    classes: a JSON list of all class names in order, needed unless an NPZ holds them. keys: what the file calls a
    column, where that is not our name for it. limits: what an NPZ may ask for.
    Raises InputError or UsageError (exit 2: unreadable or unsafe, a column is missing, no vocabulary), or ContractError
    naming the row (exit 4: a label outside the vocabulary, a repeated class or sample id, a missing participant, a time
    that is no finite number, columns of unequal lengths or of a type that cannot be meant).
    """
    path = Path(path)
    named = ("classes",) if path.suffix.lower() == ".npz" else ()
    fields = read_fields(path, (*PREDICTION_FIELDS, *named), ("y_true", "y_pred", "participant"), keys, limits)
    vocabulary = vocabulary_of(fields, classes)
    fields.rows(*PREDICTION_FIELDS)
    _refuse_mixed(fields)

    failed = fields.columns.get("failed")
    unused = None if failed is None else truths(failed, fields.written["failed"], fields.where)
    labels = label_table(run_id, vocabulary, fields, "y_true")
    predicted = vocabulary.indices(fields.columns["y_pred"], fields.written["y_pred"], fields.where, unused)
    return SavedPredictions(
        run_id=run_id,
        dataset_id=dataset_id(vocabulary, labels),
        classes=vocabulary.names,
        tables={
            "class_vocabulary": vocabulary_table(run_id, vocabulary),
            "class_labels": labels,
            "class_predictions": prediction_table(run_id, predicted),
        },
        data_sha256=fields.sha256,
        inputs={
            "predictions_sha256": fields.sha256,
            "classes_sha256": None if classes is None else file_sha256(Path(classes)),
            "keys": dict(sorted((keys or {}).items())),
        },
    )


def vocabulary_of(fields: Fields, classes: Path | None) -> Vocabulary:
    """The vocabulary given by the file, or by `classes`; where both give one they must agree."""
    inside = fields.columns.get("classes")
    found = [] if inside is None else [Vocabulary.from_column(inside, f"{fields.where}: {fields.written['classes']}")]
    found += [] if classes is None else [Vocabulary.from_json(Path(classes))]
    if not found:
        file = shlex.quote(fields.where)
        raise UsageError(
            "the complete list of classes is not known",
            expected="--classes, or an array `classes` in NPZ: labels cannot tell which classes never occur",
            found=f"no --classes, and a file of {', '.join(sorted(fields.present))}",
            where=fields.where,
            hint=f"evalframe wisp score --predictions {file} --classes CLASSES.json --output OUT.json",
        )
    if found[0].names != found[-1].names:
        raise LabelRefused(
            "the file and --classes name different vocabularies",
            expected=shown(found[0].names),
            found=shown(found[-1].names),
            where=str(classes),
            hint="leave out --classes: the file names its own",
        )
    return found[0]


def label_table(run_id: str, vocabulary: Vocabulary, fields: Fields, target: str) -> pa.Table:
    """`class_labels` from the column `target` and those of WINDOW_FIELDS."""
    name, where = fields.written[target], fields.where
    indices = vocabulary.indices(fields.columns[target], name, where)
    if indices.null_count:
        row = pc.index(indices.is_null(), True).as_py()
        raise ContractError(
            f"{name} is missing in a row",
            expected="a true class for every window",
            found=f"nothing in row {row} (from 0)",
            where=where,
            hint=f"fill in {name}, or leave the window out",
        )
    n = len(indices)
    columns = {
        "run_id": _repeated(run_id, n),
        "item_index": pa.array(np.arange(n)),
        "sample_id": _sample_ids(fields, n),
        "participant": ids(fields.columns["participant"], fields.written["participant"], where),
        "time": _times(fields, n),
        "class_index": indices,
    }
    return conform(contract("class_labels"), pa.table(columns))


def prediction_table(run_id: str, indices: pa.Array) -> pa.Table:
    """`class_predictions` from one int16 class index per window, null where the model failed."""
    n = len(indices)
    columns = {"run_id": _repeated(run_id, n), "item_index": pa.array(np.arange(n)), "class_index": indices}
    return conform(contract("class_predictions"), pa.table(columns))


def vocabulary_table(run_id: str, vocabulary: Vocabulary) -> pa.Table:
    """`class_vocabulary` of one run."""
    k = len(vocabulary)
    columns = {
        "run_id": _repeated(run_id, k),
        "class_index": pa.array(np.arange(k, dtype=np.int16)),
        "class": pa.array(vocabulary.names, pa.large_string()),
    }
    return conform(contract("class_vocabulary"), pa.table(columns))


def dataset_id(vocabulary: Vocabulary, labels: pa.Table) -> str:
    """16 hex that name the labelled windows in whatever order: the sample id or participant of each, and its label."""
    named = labels["sample_id"] if labels["sample_id"].null_count == 0 else labels["participant"]
    names = pa.array(vocabulary.names, pa.large_string())
    nothing = pa.nulls(len(labels), pa.large_string())
    label = names.take(labels["class_index"].combine_chunks())
    return data_digest(pa.table({"item_id": named, "label": label, "cluster_id": nothing, "stratum": nothing}))[:16]


def _sample_ids(fields: Fields, n: int) -> pa.Array:
    column = fields.columns.get("sample_id")
    if column is None or (n and column.null_count == n):
        return pa.nulls(n, pa.large_string())
    names = ids(column, fields.written["sample_id"], fields.where)
    coded = names.dictionary_encode()
    if len(coded.dictionary) < n:
        codes = coded.indices.to_numpy(zero_copy_only=False)
        _, firsts = np.unique(codes, return_index=True)
        again = int(np.setdiff1d(np.arange(n), firsts)[0])
        before = int(np.flatnonzero(codes == codes[again])[0])
        raise DuplicateItem(
            f"{fields.written['sample_id']} names two windows",
            expected="an id of its own for every window",
            found=f"{names[again].as_py()!r} in rows {before} and {again} (from 0)",
            where=fields.where,
            hint="correct the ids; which of the rows is meant cannot be told",
        )
    return names


def _times(fields: Fields, n: int) -> pa.Array:
    column = fields.columns.get("time")
    if column is None or (n and column.null_count == n):
        return pa.nulls(n, pa.float64())
    return times(column, fields.written["time"], fields.where)


def _refuse_mixed(fields: Fields) -> None:
    """Indices on one side and labels on the other could only meet through a cast, and `1`, `01` and 1 are not one."""
    kinds = {name: fields.columns[name].type for name in ("y_true", "y_pred")}
    known = [is_text(kind) for kind in kinds.values() if not pa.types.is_null(kind)]
    if len(set(known)) > 1:
        raise ContractError(
            "labels and predictions are of different types",
            expected="class indices in both, or labels in both",
            found=", ".join(f"{fields.written[name]} {kind}" for name, kind in kinds.items()),
            where=fields.where,
            hint="write both as integers, or both as text",
        )


def _repeated(text: str, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.large_string()), n)
