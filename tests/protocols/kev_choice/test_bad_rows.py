"""Rows that cannot be meant: a typed error that names the row, and nothing written."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import (
    ChoiceRowRefused,
    ContractError,
    DuplicateItem,
    EvalframeError,
    ExitCode,
    FileUnreadable,
    InputError,
    RowTooLong,
)
from evalframe.sources.choice import read_rows
from evalframe.verbs.kev import score

GOOD: dict[str, Any] = {"id": "a", "type": "choice", "keys": ["x", "y"], "label": 0, "p": [0.25, 0.75]}


def good(**changed: Any) -> dict[str, Any]:
    return {**GOOD, **changed}


def pair(sibling: str | None, **changed: Any) -> dict[str, Any]:
    return good(id=f"pair {sibling} {changed.get('id', '')}", pair_id="p", sibling=sibling)


BAD_ROWS: dict[str, tuple[list[dict[str, Any]], type[EvalframeError], str]] = {
    "sum off by more than rounding": ([good(p=[0.25, 0.73])], ChoiceRowRefused, "a sum of 0.98"),
    "sum of two halves of nothing": ([good(p=[0.24, 0.25])], ChoiceRowRefused, "a sum of 0.49"),
    "200 options of zero": ([good(keys=[str(i) for i in range(200)], p=[0.0] * 200)], ChoiceRowRefused, "a sum of 0.0"),
    "below 0": ([good(p=[-0.25, 1.0])], ChoiceRowRefused, "-0.25"),
    "above 1": ([good(p=[0.0, 1.5])], ChoiceRowRefused, "1.5"),
    "a huge integer": ([good(p=[0, 10**400])], ChoiceRowRefused, "1000000"),
    "truth as probability": ([good(p=[True, False])], ChoiceRowRefused, "True"),
    "text as probability": ([good(p=["0.25", "0.75"])], ChoiceRowRefused, "'0.25'"),
    "null as probability": ([good(p=[None, 1.0])], ChoiceRowRefused, "None"),
    "one probability too few": ([good(p=[1.0])], ChoiceRowRefused, "found:    1 in row 0"),
    "probabilities by key": ([good(p={"x": 0.25, "y": 0.75})], ChoiceRowRefused, "{'x'"),
    "no probabilities": ([{k: v for k, v in GOOD.items() if k != "p"}], ChoiceRowRefused, "nothing"),
    "failed without a reason": ([good(p=None)], ChoiceRowRefused, "no error"),
    "failed and answered": ([good(error="timeout")], ChoiceRowRefused, "both"),
    "one option": ([good(keys=["x"], p=[1.0])], ChoiceRowRefused, "keys: 2 to"),
    "no options": ([good(keys=[], p=[])], ChoiceRowRefused, "keys: 2 to"),
    "no keys": ([good(keys=None)], ChoiceRowRefused, "a list of option names"),
    "a repeated option": ([good(keys=["x", "x"])], ChoiceRowRefused, "'x' twice"),
    "options equal in normal form": ([good(keys=["\u00e9", "e\u0301"])], ChoiceRowRefused, "twice"),
    "an option that is a list": ([good(keys=["x", ["y"]])], ChoiceRowRefused, "keys: text"),
    "an option that is no text": ([good(keys=["x", 1])], ChoiceRowRefused, "keys: text"),
    "label too large": ([good(label=2)], ChoiceRowRefused, "from 0 to 1"),
    "label below 0": ([good(label=-1)], ChoiceRowRefused, "from 0 to 1"),
    "label as float": ([good(label=1.0)], ChoiceRowRefused, "1.0"),
    "label as truth": ([good(label=True)], ChoiceRowRefused, "True"),
    "label as text": ([good(label="x")], ChoiceRowRefused, "'x'"),
    "unknown type": ([good(type="boolean")], ChoiceRowRefused, "'boolean'"),
    "no type": ([good(type=None)], ChoiceRowRefused, "choice or noul or score"),
    "no id": ([good(id=None)], ChoiceRowRefused, "a name for the row"),
    "an id that is no text": ([good(id=["a"])], ChoiceRowRefused, "id: text"),
    "half a surrogate pair": ([good(id="\ud800")], ChoiceRowRefused, "Unicode text"),
    "the same question twice": ([GOOD, good(id="b"), GOOD], DuplicateItem, "rows 0 and 2"),
    "the same in normal form": ([good(id="\u00e9"), good(id="e\u0301")], DuplicateItem, "rows 0 and 1"),
    "a sibling twice": ([pair("a"), pair("a", id="again")], ChoiceRowRefused, "in row 1 beside rows 0"),
    "no sibling name twice": ([pair(None), pair(None, id="again")], ChoiceRowRefused, "in row 1 beside rows 0"),
    "a third sibling": ([pair("a"), pair("b"), pair("c")], ChoiceRowRefused, "in row 2 beside rows 0, 1"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("form", ["list", "lines"])
def test_a_row_is_refused_by_name_and_nothing_is_written(tmp_path: Path, name: str, form: str) -> None:
    rows, error, told = BAD_ROWS[name]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows) if form == "list" else "\n".join(map(json.dumps, rows)))
    with pytest.raises(error) as refused:
        score(rows=path, output=tmp_path / "out" / "OUT.json", store=tmp_path / "store")
    assert refused.value.exit_code is ExitCode.CONTRACT
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.json"]


LATER = json.dumps(GOOD)
BAD_TEXTS: dict[str, tuple[str, type[EvalframeError], str]] = {
    "NaN in a list": ('[{"id": "a", "p": [NaN, 1]}]', ChoiceRowRefused, "NaN in row 0"),
    "NaN in lines": (LATER + '\n{"id": "a", "p": [NaN, 1]}', ChoiceRowRefused, "NaN in row 1"),
    "an infinity": ('[{"id": "a", "p": [-Infinity, 1]}]', ChoiceRowRefused, "-Infinity in row 0"),
    "a key twice": (f'[{LATER}, {{"id": "a", "id": "b"}}]', ChoiceRowRefused, "'id' twice in row 1"),
    "a key twice further in": ('{"id": "a", "meta": {"x": 1, "x": 2}}', ChoiceRowRefused, "'x' twice in row 0"),
    "a number among rows": (f"[{LATER}, 3]", ChoiceRowRefused, "another value in row 1"),
    "a list a line": (f"{LATER}\n[1]", ChoiceRowRefused, "another value in row 1"),
    "cut off in a row": (f"[{LATER}, {LATER[:30]}", FileUnreadable, "row 1"),
    "cut off between rows": (f"[{LATER},", FileUnreadable, "row 1"),
    "cut off after a row": (f"[{LATER}", FileUnreadable, "the end of the file"),
    "a line cut off": (f"{LATER}\n{LATER[:30]}", FileUnreadable, "row 1"),
    "no comma": (f"[{LATER} {LATER}]", FileUnreadable, "'{' instead of ','"),
    "a comma too many": (f"[{LATER},]", FileUnreadable, "row 1"),
    "two lists": (f"[{LATER}] []", FileUnreadable, "after the end of the list"),
    "an object over two lines": (LATER.replace(", ", ",\n"), FileUnreadable, "row 0"),
    "not JSON": ("id,p\na,0.5\n", FileUnreadable, "row 0"),
    "nested too deep": ('[{"id": ' + "[" * 200_000 + "]" * 200_000 + "}]", FileUnreadable, "nested too deep"),
    "an integer of 5,000 digits": (f'[{{"id": {"9" * 5000}}}]', FileUnreadable, "row 0"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_text_that_is_no_row_is_refused_by_place(tmp_path: Path, name: str) -> None:
    text, error, told = BAD_TEXTS[name]
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(error) as refused:
        read_rows(path, "r")
    assert refused.value.exit_code is (ExitCode.CONTRACT if error is ChoiceRowRefused else ExitCode.USAGE)
    assert told in str(refused.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    for name, content in (("lines", b'{"id": "\xff"}'), ("list", b'[{"id": "\xff"}]')):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(FileUnreadable, match="cannot be read"):
            read_rows(path, "r")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable):
        read_rows(tmp_path / "rows.jsonl", "r")
    with pytest.raises(FileUnreadable):
        read_rows(tmp_path, "r")


@pytest.mark.parametrize("start", ['{"id": "', '[{"id": "'])
def test_a_line_without_end_is_refused_before_it_is_held(tmp_path: Path, start: str) -> None:
    """A gigabyte of one row, on paper: the file is sparse, and little of it is read."""
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(start.encode() + b"x" * (1 << 21))
        file.truncate(1 << 30)
    limit = 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(RowTooLong) as refused:
            for _ in _objects(path, limit):
                pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(refused.value, InputError)
    assert "in row 0" in str(refused.value)
    assert peak < 32 * limit


def _objects(path: Path, limit: int) -> Any:
    from evalframe.sources.choice_json import read_objects

    return read_objects(path, limit)


def test_long_rows_within_the_limit_are_read_in_either_form(tmp_path: Path) -> None:
    """Rows that straddle the chunks in which a file is read."""
    rows = [good(id=f"{i}", note="é" * 700_000 * (i % 3)) for i in range(6)]
    found = []
    for name, text in (("a.json", json.dumps(rows)), ("b.jsonl", "\n".join(map(json.dumps, rows)))):
        (tmp_path / name).write_text(text)
        found.append(read_rows(tmp_path / name, "r").tables["choice_questions"])
    assert found[0] == found[1]
    assert len(found[0]) == 6


ACCEPTED: dict[str, tuple[str, list[float]]] = {
    "integers among floats": ('[{"id": "a", "type": "noul", "keys": ["x", "y"], "p": [0, 1.0]}]', [0.0, 1.0]),
    "a byte order mark": ('\ufeff[{"id": "a", "type": "noul", "keys": ["x", "y"], "p": [0.5, 0.5]}]', [0.5, 0.5]),
    "a mark before lines": ('\ufeff{"id": "a", "type": "noul", "keys": ["x", "y"], "p": [0.5, 0.5]}\n\n', [0.5, 0.5]),
    "white space": (' \n[ {"id": "a", "type": "noul", "keys": ["x", "y"], "p": [1e0, -0.0]} ] \n', [1.0, 0.0]),
    "a sum that is off by rounding": (
        '{"id": "a", "type": "noul", "keys": ["x", "y"], "p": [0.5, 0.504]}',
        [0.5 / 1.004, 0.504 / 1.004],
    ),
    "a sum within 1e-12": (
        '{"id": "a", "type": "noul", "keys": ["x", "y"], "p": [0.5, 0.5000000000005]}',
        [0.5, 0.5000000000005],
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_read_as_it_is_meant(tmp_path: Path, name: str) -> None:
    text, p = ACCEPTED[name]
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    one = read_rows(path, "r")
    assert one.tables["choice_probabilities"]["p"].to_pylist() == [p]
    assert str(one.tables["choice_probabilities"]["p"].to_pylist()[0]) == str(p)  # the sign of zero too


def test_fields_that_are_missing_are_null_and_unknown_ones_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(good(kernels=["fast"], zero_count=3, group="", variant=None, task=17)))
    question = read_rows(path, "r").tables["choice_questions"].to_pylist()[0]
    assert question["question"] == "decision"
    assert question["variant"] == "clean"
    assert question["task"] == "17"
    assert {name for name, value in question.items() if value is None} == {
        "group", "source", "pair_id", "sibling", "control_id", "parent", "family",
    }  # fmt: skip


def test_the_allowed_error_of_a_sum_grows_with_the_options() -> None:
    """|s - 1| may be 0.005 K + 1e-8: rounding to two decimals, option by option."""
    from evalframe.sources.choice_rows import kept_probabilities

    assert kept_probabilities([0.99, 0.0]) is not None
    assert kept_probabilities([0.9899, 0.0]) is None
    assert kept_probabilities([0.95] + [0.0] * 9) is not None
    assert kept_probabilities([0.49] + [0.0] * 150) is None  # within 0.005 K, yet less than half of everything


def test_all_that_is_wrong_is_a_contract_error() -> None:
    assert issubclass(ChoiceRowRefused, ContractError)
    assert issubclass(DuplicateItem, ContractError)
