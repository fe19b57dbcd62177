"""Writes one set of saved predictions in every format that is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

CLASSES = ("sit", "stand", "walk")


def columns(**changed: Any) -> dict[str, Any]:
    """Six windows of two participants, with labels as text; a column given as None is left out."""
    whole = {
        "y_true": ["sit", "sit", "walk", "stand", "walk", "sit"],
        "y_pred": ["sit", "walk", "walk", "stand", "sit", "sit"],
        "participant": ["p1", "p1", "p1", "p2", "p2", "p2"],
        "time": [0.0, 1.0, 2.0, 0.0, 1.0, 2.0],
    }
    return {name: values for name, values in {**whole, **changed}.items() if values is not None}


def write_npz(folder: Path, values: Mapping[str, Any], classes: Any = CLASSES) -> Path:
    path = folder / "predictions.npz"
    arrays = {name: np.asarray(column) for name, column in values.items()}
    if classes is not None:
        arrays["classes"] = np.asarray(classes)
    np.savez(path, **arrays)
    return path


def write_parquet(folder: Path, values: Mapping[str, Any]) -> Path:
    path = folder / "predictions.parquet"
    pa.parquet.write_table(pa.table(dict(values)), path)
    return path


def write_csv(folder: Path, values: Mapping[str, Any]) -> Path:
    path = folder / "predictions.csv"
    names = list(values)
    rows = zip(*(values[name] for name in names), strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([",".join(names), *lines, ""]), encoding="utf-8")
    return path


def write_classes(folder: Path, classes: Any = CLASSES) -> Path:
    path = folder / "classes.json"
    path.write_text(json.dumps(classes), encoding="utf-8")
    return path
