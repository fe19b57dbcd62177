"""Names, times and columns of saved predictions: what is kept as it is, and what is refused by row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalframe.errors import (
    ContractError,
    DuplicateItem,
    ExitCode,
    InputError,
    LabelRefused,
    MissingField,
    UnknownName,
    UsageError,
)
from evalframe.sources.classification import SavedPredictions, read_predictions
from tests.sources.saved_predictions import READERS, csv, label, npz, parquet, refusal
from tests.sources.windows import CLASSES, columns, write_classes, write_npz

# ---- who, when, which -----------------------------------------------------------------------------------------------


def test_integer_names_become_their_digits(tmp_path: Path) -> None:
    saved = npz(tmp_path, participant=[7, 7, 7, 10, 10, -2], sample_id=np.arange(6, dtype=np.uint8))
    assert label(saved, "class_labels", "participant") == ["7", "7", "7", "10", "10", "-2"]
    assert label(saved, "class_labels", "sample_id") == list("012345")


@READERS
def test_text_names_stay_as_they_are(tmp_path: Path, read: Callable[..., SavedPredictions]) -> None:
    names = ["001", "1", "1.0", "1e3", "NULL", "true"]
    saved = read(tmp_path, participant=names, sample_id=names)
    assert label(saved, "class_labels", "participant") == names
    assert label(saved, "class_labels", "sample_id") == names


@pytest.mark.parametrize("name", ["participant", "sample_id"])
@pytest.mark.parametrize("read", [parquet, csv])
def test_a_missing_name_is_refused_by_row(tmp_path: Path, name: str, read: Callable[..., SavedPredictions]) -> None:
    values = ["a", "b", "c", None, "d", "e"]
    assert "row 3" in refusal(ContractError, lambda: read(tmp_path, **{name: values})).found
    assert "row 3" in refusal(ContractError, lambda: npz(tmp_path, **{name: ["a", "b", "c", "", "d", "e"]})).found


@pytest.mark.parametrize("odd", [[0.5] * 6, [True] * 6])
def test_a_name_is_text_or_an_integer(tmp_path: Path, odd: list[Any]) -> None:
    assert "text or integers" in refusal(ContractError, lambda: npz(tmp_path, participant=odd)).expected


def test_a_repeated_sample_id_names_the_id_and_both_rows(tmp_path: Path) -> None:
    error = refusal(DuplicateItem, lambda: npz(tmp_path, sample_id=["a", "b", "dup", "c", "dup", "dup"]))
    assert error.found == "'dup' in rows 2 and 4 (from 0)"
    assert error.exit_code is ExitCode.CONTRACT


@pytest.mark.parametrize("read", [parquet, csv])
def test_a_column_without_any_value_counts_as_absent(tmp_path: Path, read: Callable[..., SavedPredictions]) -> None:
    saved = read(tmp_path, time=[None] * 6, sample_id=[None] * 6)
    assert label(saved, "class_labels", "time") == [None] * 6
    assert label(saved, "class_labels", "sample_id") == [None] * 6


def test_time_may_be_left_out(tmp_path: Path) -> None:
    assert label(npz(tmp_path, time=None), "class_labels", "time") == [None] * 6


@pytest.mark.parametrize("dtype", ["float16", "float32", ">f8", "int8", "uint64"])
def test_times_are_widened(tmp_path: Path, dtype: str) -> None:
    saved = npz(tmp_path, time=np.array([0, 1, 2, 0, 1, 2], dtype))
    assert label(saved, "class_labels", "time") == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]


@pytest.mark.parametrize("odd", ["nan", "inf", "-inf", "", "later", "1,5", "0x10"])
def test_a_time_that_is_no_finite_number_is_refused_by_row(tmp_path: Path, odd: str) -> None:
    assert "row 4" in refusal(ContractError, lambda: csv(tmp_path, time=[0, 1, 2, 3, f'"{odd}"', 5])).found


def test_nan_and_missing_times_are_refused_by_row(tmp_path: Path) -> None:
    assert "row 1" in refusal(ContractError, lambda: npz(tmp_path, time=[0.0, float("nan"), 1, 2, 3, 4])).found
    assert "row 5" in refusal(ContractError, lambda: parquet(tmp_path, time=[0.0, 1.0, 2.0, 3.0, 4.0, None])).found


def test_an_integer_time_that_no_double_holds_is_refused(tmp_path: Path) -> None:
    times = [0, 1, 2, 2**53, 4, 5]
    error = refusal(ContractError, lambda: npz(tmp_path, time=times))
    assert error.found == f"{2**53} in row 3 (from 0)"


def test_dates_are_refused(tmp_path: Path) -> None:
    dates = pa.array([0, 1, 2, 3, 4, 5], pa.timestamp("s"))
    assert "seconds or ordinals" in refusal(ContractError, lambda: parquet(tmp_path, time=dates)).expected


# ---- the file -------------------------------------------------------------------------------------------------------


def test_keys_say_what_the_file_calls_a_column(tmp_path: Path) -> None:
    renamed = {"labels": "y_true", "guess": "y_pred", "subject": "participant"}
    given = columns(time=None)
    np.savez(tmp_path / "a.npz", **{new: np.asarray(given[old]) for new, old in renamed.items()}, names=CLASSES)
    keys = {"y_true": "labels", "y_pred": "guess", "participant": "subject", "classes": "names"}
    saved = read_predictions(tmp_path / "a.npz", run_id="r", keys=keys)
    assert label(saved, "class_labels", "class_index") == [0, 0, 2, 1, 2, 0]
    assert saved.inputs["keys"] == keys


@pytest.mark.parametrize("missing", ["y_true", "y_pred", "participant"])
@READERS
def test_a_missing_column_is_told_with_what_is_there(
    tmp_path: Path, missing: str, read: Callable[..., SavedPredictions]
) -> None:
    error = refusal(MissingField, lambda: read(tmp_path, **{missing: None}))
    assert f"--key {missing}=" in error.hint
    assert all(name in error.found for name in columns() if name != missing)


def test_a_key_that_is_not_in_the_file_is_refused_also_for_an_optional_column(tmp_path: Path) -> None:
    path = write_npz(tmp_path, columns())
    refusal(MissingField, lambda: read_predictions(path, run_id="r", keys={"sample_id": "window"}))
    refusal(UnknownName, lambda: read_predictions(path, run_id="r", keys={"labels": "y_true"}))


def test_no_column_is_read_under_two_names(tmp_path: Path) -> None:
    path = write_npz(tmp_path, columns())
    refusal(UsageError, lambda: read_predictions(path, run_id="r", keys={"y_pred": "y_true"}))


def test_unequal_lengths_are_refused(tmp_path: Path) -> None:
    error = refusal(ContractError, lambda: npz(tmp_path, y_pred=["sit"] * 5))
    assert error.found == "y_true 6, y_pred 5, participant 6, time 6"


@pytest.mark.parametrize("shape", [(6, 1), (1, 6), (2, 3), ()])
def test_a_column_has_one_dimension(tmp_path: Path, shape: tuple[int, ...]) -> None:
    odd = np.zeros(shape, int)
    assert str(shape) in refusal(ContractError, lambda: npz(tmp_path, y_true=odd, y_pred=odd)).found


def test_no_windows_are_no_error(tmp_path: Path) -> None:
    nothing = {"y_true": np.array([], int), "y_pred": np.array([], int), "participant": np.array([], str)}
    saved = npz(tmp_path, **nothing, time=np.array([], float))
    assert len(saved.tables["class_labels"]) == len(saved.tables["class_predictions"]) == 0
    assert len(saved.tables["class_vocabulary"]) == 3


def test_dictionaries_and_views_are_text(tmp_path: Path) -> None:
    words = pa.array(columns()["y_true"])
    saved = parquet(tmp_path, y_true=words.dictionary_encode(), participant=pa.array(["p"] * 6, pa.large_string()))
    assert label(saved, "class_labels", "class_index") == [0, 0, 2, 1, 2, 0]


@pytest.mark.parametrize("name", ["missing.npz", "missing.csv", "missing.parquet", "missing.txt", "folder.npz"])
def test_a_file_that_is_not_there_or_unknown_is_an_input_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / name, run_id="r", classes=write_classes(tmp_path))
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_a_file_of_another_format_is_an_input_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"\x93NUMPY\x00\xff\xfe" * 10)
    with pytest.raises(InputError):
        read_predictions(path, run_id="r", classes=write_classes(tmp_path))


def test_a_refusal_can_be_printed_as_json(tmp_path: Path) -> None:
    error = refusal(LabelRefused, lambda: npz(tmp_path, y_true=["\x1b[31m"] * 6))
    assert json.loads(json.dumps(error.to_json()))["code"] == "EF210"
    assert "\x1b" not in str(error)
