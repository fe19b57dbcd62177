"""The same small predictions saved in every format, for the tests of reading them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import (
    EvalframeError,
)
from evalframe.sources.classification import SavedPredictions, read_predictions
from tests.sources.windows import CLASSES, columns, write_classes, write_csv, write_npz, write_parquet


def npz(folder: Path, classes: Any = CLASSES, **changed: Any) -> SavedPredictions:
    return read_predictions(write_npz(folder, columns(**changed), classes), run_id="r")


def parquet(folder: Path, **changed: Any) -> SavedPredictions:
    return read_predictions(write_parquet(folder, columns(**changed)), run_id="r", classes=write_classes(folder))


def csv(folder: Path, **changed: Any) -> SavedPredictions:
    return read_predictions(write_csv(folder, columns(**changed)), run_id="r", classes=write_classes(folder))


def refusal(kind: type[EvalframeError], act: Callable[[], object]) -> EvalframeError:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 4
    return caught.value


def label(saved: SavedPredictions, table: str, name: str) -> list[Any]:
    return saved.tables[table][name].to_pylist()


READERS = pytest.mark.parametrize("read", [npz, parquet, csv])
