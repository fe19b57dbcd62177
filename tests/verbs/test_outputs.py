"""Output files: whole or absent, never silently replaced."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import evalframe
from evalframe.errors import InputError, StoreConflict
from evalframe.protocols import protocol
from evalframe.store import faults, staging
from evalframe.verbs import demo_data
from evalframe.verbs.outputs import refusing, to_json, write_text, write_texts


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


def test_of_files_that_belong_together_none_is_written_where_one_is_refused(tmp_path: Path) -> None:
    files = {tmp_path / name: name for name in ("a.csv", "b.csv", "c.json")}
    write_text(tmp_path / "b.csv", "another result")
    with pytest.raises(StoreConflict, match=r"b\.csv exists"):
        write_texts(files)
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]
    write_texts(files, force=True)
    write_texts(files)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == files


def test_a_result_is_told_only_where_there_is_a_file_to_compare_it_with(tmp_path: Path) -> None:
    told: list[str] = []

    def text(result: str) -> str:
        told.append(result)
        return result

    output = tmp_path / "out.json"
    refusing(None, text)("a")
    refusing(output, text)("a")
    assert told == []
    write_text(output, "a")
    refusing(output, text)("a")
    assert told == ["a"]
    with pytest.raises(StoreConflict):
        refusing(output, text)("b")


def test_nothing_is_sealed_where_the_output_is_refused(tmp_path: Path) -> None:
    """Else a command that failed would have changed what leaderboards show."""
    windows, questions, sidecar = (tmp_path / name for name in ("w.npz", "q.jsonl", "side.json"))
    windows.write_bytes(demo_data.windows(skill=0.7, seed=1))
    questions.write_bytes(demo_data.questions(skill=0.7, seed=1))
    values = dict.fromkeys(protocol("wisp-har").metrics, 0.5)
    sidecar.write_text(json.dumps(values))
    inventory, frozen = tmp_path / "inventory.csv", tmp_path / "frozen.csv"
    line = {"model_id": "m", "method": "x", "dataset": "d", "fold": "0", "seed": "0"}
    line |= {"checkpoint": "", "checkpoint_sha256": "", "sidecar": sidecar.name, "predictions": windows.name}
    for path, row in ((inventory, line), (frozen, {"model_id": "m", **dict.fromkeys(values, "0.25")})):
        path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    commands: dict[Path, Callable[..., object]] = {
        tmp_path / "wisp.json": partial(evalframe.wisp.score, windows),
        tmp_path / "kev.json": partial(evalframe.kev.score, rows=questions),
        tmp_path / "audit": partial(evalframe.wisp.audit, inventory, frozen),
    }
    for output, command in commands.items():
        told = output if output.suffix else output / "audit.json"
        write_text(told, "another result")
        store = tmp_path / f"{output.stem}_store"
        with pytest.raises(StoreConflict, match="holds a different result"):
            command(output=output, store=store)
        assert not list(store.rglob("*.parquet"))
        command(output=output, store=store, force=True)
        assert list(store.rglob("*.parquet"))


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


@pytest.mark.parametrize("name", ["a\x00b", "n" * 300, "/proc/version/x", "\ud800"])
def test_a_name_that_no_file_can_have_is_a_typed_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / name, "a")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_makes_is_spared(tmp_path: Path) -> None:
    (tmp_path / ".out.json.0000.tmp").mkdir()
    (tmp_path / ".out.json.0000.tmp" / "out.json").write_text("half")
    with staging.made(tmp_path / "out.json") as new:
        write_text(tmp_path / "out.json", "b")
        assert [path.name for path in tmp_path.iterdir() if path.name != "out.json"] == [new.parent.name]
        new.write_text("c")
    assert (tmp_path / "out.json").read_text() == "c"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_was_moved_away_comes_back_when_its_replacement_fails(tmp_path: Path) -> None:
    place = tmp_path / "export"
    (tmp_path / ".export.0000.old").mkdir()
    (tmp_path / ".export.0000.old" / "table.csv").write_text("old")
    faults.arm("output.made=ENOSPC")
    try:
        with pytest.raises(InputError), staging.made(place) as new:
            new.mkdir()
    finally:
        faults.arm(None)
    assert [path.name for path in tmp_path.rglob("*")] == ["export", "table.csv"]
