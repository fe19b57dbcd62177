"""Folders of `save_to_disk`: shards in the order of state.json, either width of text, and every damage named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalframe.errors import ContractError, SavedDatasetRefused
from evalframe.sources.save_to_disk import open_saved


def shard(folder: Path, name: str, rows: dict[str, pa.Array], chunk: int = 2) -> None:
    table = pa.table(rows)
    with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=chunk)


def state(folder: Path, names: list[Any], **more: Any) -> None:
    (folder / "state.json").write_text(json.dumps({"_data_files": names, **more}), encoding="utf-8")


def files(*names: str) -> list[dict[str, str]]:
    return [{"filename": name} for name in names]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shard(tmp_path, "a.arrow", {"id": pa.array(["1", "2", "3"]), "x": pa.array([1.0, 2.0, 3.0])})
    shard(tmp_path, "b.arrow", {"id": pa.array(["4"], pa.large_string()), "x": pa.array([4.0])})
    state(tmp_path, files("b.arrow", "a.arrow"))
    return tmp_path


def test_rows_come_in_the_order_of_the_state_and_know_their_place(folder: Path) -> None:
    batches = list(open_saved(folder).batches(["id"]))
    assert [(b.shard, b.first_row, b.rows.to_pydict()["id"]) for b in batches] == [
        ("b.arrow", 0, ["4"]),
        ("a.arrow", 0, ["1", "2"]),
        ("a.arrow", 2, ["3"]),
    ]


def test_an_empty_shard_carries_its_types(folder: Path) -> None:
    shard(folder, "c.arrow", {"id": pa.array([], pa.string()), "x": pa.array([], pa.float64())})
    state(folder, files("c.arrow", "a.arrow"))
    assert sum(b.rows.num_rows for b in open_saved(folder).batches(["id", "x"])) == 3


def test_shards_that_differ_in_a_type_are_refused(folder: Path) -> None:
    shard(folder, "b.arrow", {"id": pa.array([4]), "x": pa.array([4.0])})
    with pytest.raises(ContractError, match="differ in their columns") as caught:
        open_saved(folder)
    assert "id int64" in caught.value.expected


def test_a_missing_column_is_named(folder: Path) -> None:
    with pytest.raises(ContractError, match="lacks column frames"):
        list(open_saved(folder).batches(["id", "frames"]))


def remove_state(folder: Path) -> None:
    (folder / "state.json").unlink()


def cut_shard(folder: Path) -> None:
    whole = (folder / "a.arrow").read_bytes()
    (folder / "a.arrow").write_bytes(whole[: len(whole) // 2])


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no folder": lambda f: [path.unlink() for path in f.iterdir()],
    "no state": remove_state,
    "state is no JSON": lambda f: (f / "state.json").write_text("{", encoding="utf-8"),
    "state is a list": lambda f: (f / "state.json").write_text("[]", encoding="utf-8"),
    "no files": lambda f: state(f, []),
    "files are numbers": lambda f: state(f, [1, 2]),
    "a file outside": lambda f: state(f, files("../a.arrow")),
    "a file twice": lambda f: state(f, files("a.arrow", "a.arrow")),
    "a file that is not there": lambda f: state(f, files("z.arrow")),
    "a selection not applied": lambda f: state(f, files("a.arrow"), _indices_data_files=files("i.arrow")),
    "a shard of noise": lambda f: (f / "a.arrow").write_bytes(b"noise" * 100),
    "a shard cut off": cut_shard,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_cannot_be_read_in_order_is_refused(folder: Path, damage: str) -> None:
    DAMAGE[damage](folder)
    with pytest.raises(SavedDatasetRefused) as caught:
        list(open_saved(folder).batches(["id"]))
    assert len(str(caught.value).splitlines()) == 4


def test_a_dictionary_of_data_sets_says_so(tmp_path: Path) -> None:
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}', encoding="utf-8")
    with pytest.raises(SavedDatasetRefused, match="dictionary of data sets"):
        open_saved(tmp_path)
