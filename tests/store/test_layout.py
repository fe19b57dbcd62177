"""Ids become file names that are distinct, stay where they belong, and need not be read back."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.errors import UsageError
from evalframe.store import layout

IDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.text("ab/.%~\0\n é", max_size=260)


@pytest.mark.parametrize(
    ("run_id", "folder"),
    [
        ("fold0", "part_run=r-fold0"),
        ("00042", "part_run=r-00042"),
        ("", "part_run=r-"),
        ("NULL", "part_run=r-NULL"),
        ("CON", "part_run=r-CON"),
        ("..", "part_run=r-.."),
        ("../x", "part_run=r-..%2Fx"),
        ("a=b%c d", "part_run=r-a%3Db%25c%20d"),
        ("é~", "part_run=r-%C3%A9%7E"),
        ("a\0\n", "part_run=r-a%00%0A"),
        ("x" * 150, "part_run=r-" + "x" * 150),
        ("x" * 151, "part_run=r-" + "x" * 100 + "~" + "8eb827e6964db1e28caafb07b408d441"),
    ],
)
def test_a_run_has_its_folder(run_id: str, folder: str) -> None:
    assert layout.run_stem("class_labels", run_id) == (f"class_labels/{folder}", "part")


def test_a_result_has_its_folder_and_its_fingerprint() -> None:
    folder, stem = layout.result_stem("metric_values", "a/b", "kev-choice/2", "ef1-0123456789abcdef" + "0" * 48)
    assert folder == "metric_values/part_protocol=p-kev-choice%2F2/part_run=r-a%2Fb"
    assert stem == "0123456789abcdef"


def test_a_fingerprint_of_another_form_still_has_16_hex() -> None:
    assert re.fullmatch("[0-9a-f]{16}", layout.short("../../etc"))
    assert layout.short("a") != layout.short("b")


@given(IDS)
def test_an_id_never_leaves_its_folder(text: str) -> None:
    name = layout.encode(text)
    assert re.fullmatch(r"[A-Za-z0-9._%~-]*", name)
    assert len(name) <= 150
    folder, _ = layout.run_stem("t", text)
    assert PurePosixPath(folder).parts == ("t", f"part_run=r-{name}")


@given(IDS, IDS)
def test_two_ids_never_share_a_name(one: str, other: str) -> None:
    assert (layout.encode(one) == layout.encode(other)) == (one == other)
    assert (layout.run_key(one) == layout.run_key(other)) == (one == other)


@given(IDS)
def test_what_a_seal_belongs_to_stands_in_its_name(text: str) -> None:
    key = layout.run_key(text)
    run = layout.seal_name(f"{layout.RUNS}/{key}", "f" * 64)
    result = layout.seal_name(f"{layout.RESULTS}/{layout.result_key(text, 'ef1-' + 'a' * 64)}", "f" * 64)
    assert layout.run_key_of(run) == layout.run_key_of(result) == key
    assert layout.slot_of(run) == f"{layout.RUNS}/{key}"
    assert layout.is_seal(run)
    assert layout.is_seal(result)
    assert layout.run_key_of(layout.seal_name(f"{layout.RECORDS}/{layout.record_key('t', text)}", "f" * 64)) is None


def test_a_lone_surrogate_is_not_text() -> None:
    with pytest.raises(UsageError, match="not text"):
        layout.encode("\ud800")
