"""Labels, vocabularies and failures of saved predictions, the same from every format."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.contracts import contract, validate
from evalframe.errors import (
    ContractError,
    ExitCode,
    InputError,
    LabelRefused,
    UsageError,
)
from evalframe.sources.classification import SavedPredictions, read_predictions
from tests.sources.saved_predictions import READERS, csv, label, npz, parquet, refusal
from tests.sources.windows import CLASSES, columns, write_classes, write_csv, write_npz, write_parquet


@READERS
def test_every_format_comes_to_the_same_tables(tmp_path: Path, read: Callable[..., SavedPredictions]) -> None:
    saved = read(tmp_path)
    assert saved.tables["class_vocabulary"].to_pylist() == [
        {"run_id": "r", "class_index": index, "class": name} for index, name in enumerate(CLASSES)
    ]
    assert saved.tables["class_labels"].to_pylist() == [
        {
            "run_id": "r",
            "item_index": row,
            "sample_id": None,
            "participant": "p1" if row < 3 else "p2",
            "time": float(row % 3),
            "class_index": index,
        }
        for row, index in enumerate([0, 0, 2, 1, 2, 0])
    ]
    assert saved.tables["class_predictions"].to_pylist() == [
        {"run_id": "r", "item_index": row, "class_index": index} for row, index in enumerate([0, 2, 2, 1, 0, 0])
    ]
    assert saved.classes == CLASSES
    for name, table in saved.tables.items():
        validate(contract(name), table, references=saved.tables).raise_for_failures()


def test_the_data_set_has_one_id_in_every_format_and_order(tmp_path: Path) -> None:
    ids = {read(tmp_path).dataset_id for read in (npz, parquet, csv)}
    backwards = {name: values[::-1] for name, values in columns(y_pred=["sit"] * 6).items()}
    ids.add(npz(tmp_path, **backwards).dataset_id)
    assert len(ids) == 1
    (one,) = ids
    assert len(one) == 16
    assert int(one, 16) >= 0
    assert npz(tmp_path, y_true=["sit", "sit", "walk", "stand", "walk", "walk"]).dataset_id != one
    assert npz(tmp_path, participant=["p1"] * 6).dataset_id != one


def test_the_vocabulary_order_is_no_part_of_the_data_set(tmp_path: Path) -> None:
    assert npz(tmp_path).dataset_id == npz(tmp_path, classes=("walk", "sit", "stand")).dataset_id


@READERS
def test_digests_are_those_of_the_file(tmp_path: Path, read: Callable[..., SavedPredictions]) -> None:
    saved = read(tmp_path)
    suffix = {"npz": ".npz", "parquet": ".parquet", "csv": ".csv"}[read.__name__]
    digest = hashlib.sha256((tmp_path / f"predictions{suffix}").read_bytes()).hexdigest()
    assert saved.data_sha256 == saved.inputs["predictions_sha256"] == digest
    if suffix != ".npz":
        assert saved.inputs["classes_sha256"] == hashlib.sha256((tmp_path / "classes.json").read_bytes()).hexdigest()


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", ">i4", "int64", "uint64"])
def test_integers_are_class_indices_in_npz(tmp_path: Path, dtype: str) -> None:
    saved = npz(tmp_path, y_true=np.array([0, 0, 2, 1, 2, 0], dtype), y_pred=np.array([0, 2, 2, 1, 0, 0], dtype))
    assert label(saved, "class_labels", "class_index") == [0, 0, 2, 1, 2, 0]
    assert label(saved, "class_predictions", "class_index") == [0, 2, 2, 1, 0, 0]


def test_integers_are_class_indices_in_parquet(tmp_path: Path) -> None:
    saved = parquet(tmp_path, y_true=[0, 0, 2, 1, 2, 0], y_pred=[0, 2, 2, 1, 0, None])
    assert label(saved, "class_predictions", "class_index") == [0, 2, 2, 1, 0, None]


def test_csv_is_text_also_where_it_looks_like_a_number(tmp_path: Path) -> None:
    path = write_csv(tmp_path, columns(y_true=["1", "01", "2"] * 2, y_pred=["01", "01", "1"] * 2))
    saved = read_predictions(path, run_id="r", classes=write_classes(tmp_path, ["01", "1", "2"]))
    assert label(saved, "class_labels", "class_index") == [1, 0, 2, 1, 0, 2]
    assert label(saved, "class_predictions", "class_index") == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("name", ["y_true", "y_pred"])
@pytest.mark.parametrize("odd", ["1", "01", "1.4", "Sit", "sit ", ""])
def test_a_label_outside_the_vocabulary_names_its_row(tmp_path: Path, name: str, odd: str) -> None:
    values = columns()[name]
    error = refusal(LabelRefused, lambda: npz(tmp_path, **{name: [*values[:4], odd, values[5]]}))
    assert error.exit_code is ExitCode.CONTRACT
    assert error.found == f"{odd!r} in row 4 (from 0)"
    assert name in error.what


@pytest.mark.parametrize("name", ["y_true", "y_pred"])
@pytest.mark.parametrize("odd", [-1, 3, 2**40])
def test_an_index_outside_the_vocabulary_names_its_row(tmp_path: Path, name: str, odd: int) -> None:
    indices = {"y_true": [0, 0, 2, 1, 2, 0], "y_pred": [0, 2, 2, 1, 0, 0]}
    indices[name] = [*indices[name][:2], odd, *indices[name][3:]]
    for read in (npz, parquet):
        error = refusal(LabelRefused, lambda read=read: read(tmp_path, **indices))
        assert error.found == f"{odd} in row 2 (from 0)"
        assert "`failed`" in error.hint


def test_uint64_is_not_wrapped_into_the_vocabulary(tmp_path: Path) -> None:
    huge = np.array([2**64 - 1, 0, 0, 0, 0, 0], np.uint64)
    assert (
        "18446744073709551615 in row 0"
        in refusal(LabelRefused, lambda: npz(tmp_path, y_true=huge, y_pred=[0] * 6)).found
    )


@pytest.mark.parametrize("odd", [[1.0] * 6, [True] * 6, np.arange(6, dtype=np.float16)], ids=["float", "bool", "half"])
def test_labels_are_neither_floats_nor_truth_values(tmp_path: Path, odd: Any) -> None:
    assert "integers" in refusal(ContractError, lambda: npz(tmp_path, y_true=odd, y_pred=odd)).expected


def test_indices_are_never_matched_with_labels(tmp_path: Path) -> None:
    error = refusal(ContractError, lambda: npz(tmp_path, y_true=[0, 0, 2, 1, 2, 0]))
    assert "int64" in error.found
    assert "string" in error.found


@pytest.mark.parametrize("read", [parquet, csv])
def test_a_window_without_a_true_class_is_refused(tmp_path: Path, read: Callable[..., SavedPredictions]) -> None:
    values = ["sit", "sit", None, "stand", "walk", "sit"]
    assert "row 2" in refusal(ContractError, lambda: read(tmp_path, y_true=values)).found


def test_one_name_in_two_normal_forms_is_one_class(tmp_path: Path) -> None:
    composed, decomposed = "café", unicodedata.normalize("NFD", "café")
    saved = npz(
        tmp_path,
        classes=(composed, "x"),
        y_true=[decomposed, composed] * 3,
        y_pred=["x"] * 6,
        participant=[decomposed] * 6,
    )
    assert label(saved, "class_labels", "class_index") == [0] * 6
    assert label(saved, "class_labels", "participant") == [composed] * 6


# ---- the vocabulary -------------------------------------------------------------------------------------------------


def test_a_repeated_class_is_refused(tmp_path: Path) -> None:
    error = refusal(LabelRefused, lambda: npz(tmp_path, classes=("sit", "walk", "sit")))
    assert error.found == "'sit' at 0 and 2 (from 0)"
    forms = ("é", unicodedata.normalize("NFD", "é"))
    refusal(LabelRefused, lambda: npz(tmp_path, classes=forms))


@pytest.mark.parametrize("classes", [[1, 2, 3], [0.5], [], [b"sit", b"\xff"]], ids=str)
def test_classes_are_named_by_text(tmp_path: Path, classes: Any) -> None:
    with pytest.raises(ContractError):
        npz(tmp_path, classes=classes)


def test_bytes_are_read_as_utf8(tmp_path: Path) -> None:
    saved = npz(tmp_path, classes=np.array([name.encode() for name in CLASSES]), y_true=np.array([b"sit"] * 6))
    assert saved.classes == CLASSES


@pytest.mark.parametrize("write", [write_parquet, write_csv])
def test_labels_alone_do_not_tell_the_classes(tmp_path: Path, write: Callable[..., Path]) -> None:
    error = refusal(UsageError, lambda: read_predictions(write(tmp_path, columns()), run_id="r"))
    assert error.exit_code is ExitCode.USAGE
    assert "--classes CLASSES.json" in error.hint


def test_an_npz_without_classes_takes_them_from_the_option(tmp_path: Path) -> None:
    path = write_npz(tmp_path, columns(), classes=None)
    assert read_predictions(path, run_id="r", classes=write_classes(tmp_path)).classes == CLASSES
    refusal(UsageError, lambda: read_predictions(path, run_id="r"))


def test_two_vocabularies_must_agree(tmp_path: Path) -> None:
    path = write_npz(tmp_path, columns())
    assert read_predictions(path, run_id="r", classes=write_classes(tmp_path)).classes == CLASSES
    other = write_classes(tmp_path, ["stand", "sit", "walk"])
    refusal(LabelRefused, lambda: read_predictions(path, run_id="r", classes=other))


@pytest.mark.parametrize("text", ["", "{", '{"classes": ["a"]}', "[1, 2]", '["a", null]', '["a", NaN]', "[" * 100_000])
def test_a_class_file_is_a_json_list_of_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "classes.json"
    path.write_text(text, encoding="utf-8")
    saved = write_npz(tmp_path, columns(), classes=None)
    assert refusal(InputError, lambda: read_predictions(saved, run_id="r", classes=path)).exit_code is ExitCode.USAGE


def test_a_missing_class_file_is_told(tmp_path: Path) -> None:
    saved = write_npz(tmp_path, columns(), classes=None)
    with pytest.raises(InputError, match="cannot be read"):
        read_predictions(saved, run_id="r", classes=tmp_path / "none.json")


# ---- failed windows -------------------------------------------------------------------------------------------------


def test_a_failed_window_has_no_prediction_whatever_stands_there(tmp_path: Path) -> None:
    failed = [False, True, False, False, True, False]
    saved = npz(tmp_path, y_true=[0, 0, 2, 1, 2, 0], y_pred=[0, -1, 2, 1, 99, 0], failed=failed)
    assert label(saved, "class_predictions", "class_index") == [0, None, 2, 1, None, 0]
    saved = npz(tmp_path, y_pred=["sit", "", "walk", "stand", "error", "sit"], failed=failed)
    assert label(saved, "class_predictions", "class_index") == [0, None, 2, 1, None, 0]


@pytest.mark.parametrize("read", [parquet, csv])
def test_a_null_prediction_is_a_failed_window(tmp_path: Path, read: Callable[..., SavedPredictions]) -> None:
    saved = read(tmp_path, y_pred=["sit", None, "walk", "stand", None, "sit"])
    assert label(saved, "class_predictions", "class_index") == [0, None, 2, 1, None, 0]
    assert label(read(tmp_path, y_pred=[None] * 6), "class_predictions", "class_index") == [None] * 6


def test_failed_is_spelled_in_csv(tmp_path: Path) -> None:
    saved = csv(tmp_path, failed=["true", "False", "false", "TRUE", "false", "false"])
    assert label(saved, "class_predictions", "class_index") == [None, 2, 2, None, 0, 0]
    assert "'1' in row 1" in refusal(ContractError, lambda: csv(tmp_path, failed=["true", "1", *["false"] * 4])).found


@pytest.mark.parametrize("odd", [[0] * 6, [0.0] * 6])
def test_failed_holds_truth_values(tmp_path: Path, odd: list[Any]) -> None:
    assert "boolean" in refusal(ContractError, lambda: npz(tmp_path, failed=odd)).expected


def test_it_must_be_said_of_every_window_whether_it_failed(tmp_path: Path) -> None:
    failed = [False, None, True, True, True, True]
    assert "row 1" in refusal(ContractError, lambda: parquet(tmp_path, failed=failed)).found
