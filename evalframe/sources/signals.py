"""Labelled windows in an NPZ: signals `X [N,T,C]` beside class_vocabulary and class_labels; nothing is predicted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts.shards import Spool, whole
from evalframe.errors import ContractError, LabelRefused
from evalframe.sources.classification import WINDOW_FIELDS, Windows, vocabulary_of, vocabulary_table
from evalframe.sources.fields import Fields, column_of, unreadable, written_names
from evalframe.sources.npz import Npz
from evalframe.sources.values import truths
from evalframe.sources.vocabulary import Vocabulary

WINDOWS = ("y", *WINDOW_FIELDS)
SIGNALS = ("X", *WINDOWS, "classes", "failed")
"""What a file of labelled windows may hold."""

_ROWS = 4096  # windows looked at together


@dataclass(frozen=True)
class LabelledWindows:
    """One file of labelled windows. signals: [N, ...] as stored, finite, in C order, axes in the order of the file.

    tables: class_vocabulary, class_labels. sha256: of the file's bytes. inputs: digests and options. failed: which
    windows count as failed whatever is predicted for them; None where the file does not say.
    """

    run_id: str
    dataset_id: str
    classes: tuple[str, ...]
    signals: NDArray[Any]
    tables: Mapping[str, pa.Table]
    sha256: str
    where: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    failed: pa.Array | None = None

    @property
    def participants(self) -> NDArray[Any]:
        """The participant of each window, text."""
        return np.asarray(self.tables["class_labels"]["participant"].to_pylist(), dtype=object)

    @property
    def times(self) -> NDArray[np.float64] | None:
        """The time of each window; None where the file gives none."""
        column = self.tables["class_labels"]["time"]
        return None if len(column) and column.null_count else column.to_numpy()


def read_windows(
    path: Path,
    *,
    run_id: str,
    classes: tuple[str, ...] | None = None,
    keys: Mapping[str, str] | None = None,
    spool: Spool | None = None,
) -> LabelledWindows:
    """The labelled windows of an .npz file.

    classes: the vocabulary that the file must have, if it names one, in this order. keys: what the file calls an array.
    spool: where signals and rows go that do not fit into memory; default memory.
    Raises InputError (exit 2: unreadable, unsafe, no such array), LabelRefused (other classes, or in another order), or
    ContractError naming the row (exit 4: signals that are not three-dimensional floats, or not finite; and what saved
    predictions are refused for).
    """
    where, spool = str(path), spool or Spool()
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        with Npz(file, where) as archive:
            written = written_names(archive.names, SIGNALS, ("X", "y", "participant"), keys or {}, where)
            header = archive.header(written["X"])
            if len(header.shape) != 3 or header.dtype.kind != "f":
                raise ContractError(
                    f"array {written['X']} holds no windows",
                    expected="float16, float32 or float64 of three dimensions: windows, time, channels",
                    found=f"{header.dtype} of shape {list(header.shape)}",
                    where=where,
                    hint="--key X=NAME  # what the file calls its signals",
                )
            columns = {name: column_of(archive.read(key), key, where) for name, key in written.items() if name != "X"}
            signals = archive.read(written["X"], spool.allocate)
            present = archive.names
    fields = Fields(where=where, columns=columns, written=written, present=present, sha256=digest)
    if fields.rows(*WINDOWS, "failed") != len(signals):
        raise ContractError(
            "signals and labels are of unequal lengths",
            expected=f"{len(signals)} labels, one for each window of {written['X']}",
            found=str(fields.rows(*WINDOWS, "failed")),
            where=where,
            hint="write the arrays again from one table of windows",
        )
    _refuse_not_finite(signals, written["X"], where)
    vocabulary = _vocabulary(fields, classes)
    rows = Windows(run_id, vocabulary, "y", spool)
    rows.add(fields)
    labels = rows.labels()
    return LabelledWindows(
        run_id=run_id,
        dataset_id=rows.dataset_id(labels),
        classes=vocabulary.names,
        signals=signals,
        tables={"class_vocabulary": vocabulary_table(run_id, vocabulary), "class_labels": whole(labels)},
        sha256=digest,
        where=where,
        inputs={"data_sha256": digest, "keys": dict(sorted((keys or {}).items()))},
        failed=truths(columns["failed"], written["failed"], where) if "failed" in columns else None,
    )


def _vocabulary(fields: Fields, classes: tuple[str, ...] | None) -> Vocabulary:
    """The file's vocabulary, which must be the one asked for; or that one where the file names none."""
    if classes is None or "classes" in fields.columns:
        vocabulary = vocabulary_of(fields, None)
        if classes is not None and vocabulary.names != classes:
            moved = sorted(vocabulary.names) == sorted(classes)
            raise LabelRefused(
                "data and checkpoint have their classes in another order"
                if moved
                else "data and checkpoint differ in classes",
                expected=f"{len(classes)}: {', '.join(classes)}",
                found=f"{len(vocabulary)}: {', '.join(vocabulary.names)}",
                where=fields.where,
                hint="write the data with the checkpoint's classes, in its order",
            )
        return vocabulary
    return Vocabulary(classes, fields.where)


def _refuse_not_finite(signals: NDArray[Any], name: str, where: str) -> None:
    for start in range(0, len(signals), _ROWS):
        part = signals[start : start + _ROWS]
        finite = np.isfinite(part).all(axis=(1, 2))
        if not finite.all():
            row = start + int((~finite).argmax())
            value = signals[row][~np.isfinite(signals[row])][0]
            raise ContractError(
                f"{name} is not finite in a window",
                expected="a finite number in every sample",
                found=f"{value} in window {row} (from 0)",
                where=where,
                hint="leave the window out, or fill the gap before it is cut into windows",
            )
