"""Saved class predictions -> class_vocabulary, class_labels, class_predictions.

A file holds one value per window: y_true, y_pred, participant, optionally time, sample_id and failed; an NPZ also
classes. Integers are class indices and text is labels; CSV is text throughout. Nothing is scored here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import conform, contract
from evalframe.contracts.shards import ITEMS, Rows, Spool, batches_of
from evalframe.errors import ContractError, DuplicateItem, LabelRefused, UsageError
from evalframe.sources.fields import Fields, file_sha256, open_fields
from evalframe.sources.values import ids, is_text, repeated, shown, times, truths
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
    tables: Mapping[str, Rows]
    data_sha256: str
    inputs: Mapping[str, Any]


def read_predictions(
    path: Path,
    *,
    run_id: str,
    classes: Path | None = None,
    keys: Mapping[str, str] | None = None,
    spool: Spool | None = None,
) -> SavedPredictions:
    """The predictions saved in an .npz, .parquet, .arrow or .csv file.

    classes: a JSON list of all class names in order, needed unless an NPZ holds them. keys: what the file calls a
    column, where that is not our name for it. spool: where rows go that do not fit into memory; default memory.
    Raises InputError or UsageError (exit 2: unreadable or unsafe, a column is missing, no vocabulary), or ContractError
    naming the row (exit 4: a label outside the vocabulary, a repeated class or sample id, a missing participant, a time
    that is no finite number, columns of unequal lengths or of a type that cannot be meant).
    """
    path, spool = Path(path), spool or Spool()
    named = ("classes",) if path.suffix.lower() == ".npz" else ()
    needed = ("y_true", "y_pred", "participant")
    with open_fields(path, (*PREDICTION_FIELDS, *named), needed, keys) as opened:
        vocabulary = vocabulary_of(opened.whole(*named), classes)
        windows = Windows(run_id, vocabulary, "y_true", spool)
        for part in opened.parts(*PREDICTION_FIELDS):
            _refuse_mixed(part)
            windows.add(part)
            spool.add("class_predictions", prediction_table(run_id, _predicted(part, vocabulary), part.start))
    labels = windows.labels()
    return SavedPredictions(
        run_id=run_id,
        dataset_id=windows.dataset_id(labels),
        classes=vocabulary.names,
        tables={
            "class_vocabulary": vocabulary_table(run_id, vocabulary),
            "class_labels": labels,
            "class_predictions": spool.take("class_predictions", contract("class_predictions").arrow_schema()),
        },
        data_sha256=opened.sha256,
        inputs={
            "predictions_sha256": opened.sha256,
            "classes_sha256": None if classes is None else file_sha256(Path(classes)),
            "keys": dict(sorted((keys or {}).items())),
        },
    )


def _predicted(part: Fields, vocabulary: Vocabulary) -> pa.Array:
    failed = part.columns.get("failed")
    unused = None if failed is None else truths(failed, part.written["failed"], part.where, part.start)
    return vocabulary.indices(part.columns["y_pred"], part.written["y_pred"], part.where, unused, part.start)


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


class Windows:
    """`class_labels` of one file, as its parts come: the column `target` and those of WINDOW_FIELDS."""

    def __init__(self, run_id: str, vocabulary: Vocabulary, target: str, spool: Spool) -> None:
        self._run_id, self._vocabulary, self._target, self._spool = run_id, vocabulary, target, spool
        self._samples, self._times = _AllOrNone("sample_id", ids), _AllOrNone("time", times)
        self._written: Mapping[str, str] = {}
        self._where = ""

    def add(self, part: Fields) -> None:
        """Take the next rows. Raises ContractError where a label, a participant or a given sample id is missing."""
        name, where, start = part.written[self._target], part.where, part.start
        self._written, self._where = part.written, where
        indices = self._vocabulary.indices(part.columns[self._target], name, where, start=start)
        if indices.null_count:
            row = start + pc.index(indices.is_null(), True).as_py()
            raise ContractError(
                f"{name} is missing in a row",
                expected="a true class for every window",
                found=f"nothing in row {row} (from 0)",
                where=where,
                hint=f"fill in {name}, or leave the window out",
            )
        n = len(indices)
        columns = {
            "run_id": repeated(self._run_id, n),
            "item_index": pa.array(np.arange(start, start + n)),
            "sample_id": self._samples.values(part, n, pa.large_string()),
            "participant": ids(part.columns["participant"], part.written["participant"], where, start),
            "time": self._times.values(part, n, pa.float64()),
            "class_index": indices,
        }
        self._spool.add("class_labels", conform(contract("class_labels"), pa.table(columns)))

    def labels(self) -> Rows:
        """The table of all rows."""
        return self._spool.take("class_labels", contract("class_labels").arrow_schema())

    def dataset_id(self, labels: Rows) -> str:
        """16 hex that name the labelled windows in whatever order: the sample id or participant of each, and its label.

        Raises DuplicateItem where two windows have one sample id.
        """
        name = "sample_id" if self._samples.given else "participant"
        names = pa.array(self._vocabulary.names, pa.large_string())
        for batch in batches_of(labels, [name, "class_index"]):
            nothing = pa.nulls(len(batch), pa.large_string())
            label = names.take(batch["class_index"])
            items = {"item_id": batch[name], "label": label, "cluster_id": nothing, "stratum": nothing}
            self._spool.add("items", pa.table(items))
        taken = self._spool.take("items", ITEMS)
        digest, repeats = self._spool.digest(taken)
        self._spool.discard(taken)
        if repeats and self._samples.given:
            self._refuse_repeated(labels)
        return digest[:16]

    def _refuse_repeated(self, labels: Rows) -> None:
        """Name the first row whose sample id stands in a row before it."""
        found: list[tuple[int, int, str]] = []
        name, first = None, 0
        for batch in self._spool.ordered(labels, ["sample_id", "item_index"]):
            for sample, row in zip(batch["sample_id"].to_pylist(), batch["item_index"].to_pylist(), strict=True):
                if sample == name:
                    found = [min([*found, (row, first, sample)])]
                else:
                    name, first = sample, row
        ((again, before, name),) = found
        raise DuplicateItem(
            f"{self._written['sample_id']} names two windows",
            expected="an id of its own for every window",
            found=f"{name!r} in rows {before} and {again} (from 0)",
            where=self._where,
            hint="correct the ids; which of the rows is meant cannot be told",
        )


class _AllOrNone:
    """A column that every row of a file has, or none."""

    def __init__(self, name: str, read: Callable[[pa.Array, str, str, int], pa.Array]) -> None:
        self._name, self._read = name, read
        self.given: bool | None = None

    def values(self, part: Fields, n: int, kind: pa.DataType) -> pa.Array:
        """The column of a part, read; null where the file has none. Raises ContractError where only some rows have."""
        column = part.columns.get(self._name)
        if column is None or not n or (column.null_count == n and not self.given):
            self.given = False if n else self.given
            return pa.nulls(n, kind)
        name = part.written[self._name]
        if self.given is False:  # what came before had none
            self._read(pa.nulls(1, column.type), name, part.where, 0)
        self.given = True
        return self._read(column, name, part.where, part.start)


def prediction_table(run_id: str, indices: pa.Array, start: int = 0) -> pa.Table:
    """`class_predictions` from one int16 class index per window, null where the model failed; of items from `start`."""
    n = len(indices)
    columns = {
        "run_id": repeated(run_id, n),
        "item_index": pa.array(np.arange(start, start + n)),
        "class_index": indices,
    }
    return conform(contract("class_predictions"), pa.table(columns))


def vocabulary_table(run_id: str, vocabulary: Vocabulary) -> pa.Table:
    """`class_vocabulary` of one run."""
    k = len(vocabulary)
    columns = {
        "run_id": repeated(run_id, k),
        "class_index": pa.array(np.arange(k, dtype=np.int16)),
        "class": pa.array(vocabulary.names, pa.large_string()),
    }
    return conform(contract("class_vocabulary"), pa.table(columns))


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
