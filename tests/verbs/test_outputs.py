"""Output files: whole or absent, never silently replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalframe.errors import InputError, StoreConflict
from evalframe.verbs.outputs import to_json, write_text


def test_the_same_result_again_is_a_no_op(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.json"
    assert write_text(path, "a")
    assert not write_text(path, "a")


def test_a_differing_result_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_text(path, "a")
    with pytest.raises(StoreConflict):
        write_text(path, "b")
    assert path.read_text() == "a"
    assert write_text(path, "b", force=True)
    assert path.read_text() == "b"


def test_a_failed_write_leaves_nothing_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "out.json", "a")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_an_output_file(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_text(tmp_path, "a")


def test_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json("x", {"value": float("nan")})
    assert to_json("x", {"b": 1, "a": None}).splitlines()[1:3] == [' "a": null,', ' "b": 1,']
