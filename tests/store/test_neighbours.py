"""A place where there is no store: the hint names one that is near, or makes one where it can lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.cli.run import run
from evalframe.errors import StoreError
from evalframe.store import Store
from evalframe.store.neighbours import MOST, nearest


def _hint(place: Path, *, create: bool = False) -> str:
    with pytest.raises(StoreError) as refusal:
        Store.open(place, create=create)
    return refusal.value.hint


MAKES = "evalframe wisp score --predictions P.npz --output OUT.json --store"


def test_where_nothing_is_near_a_store_is_made_at_the_place_itself(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("absent", "empty"):
        assert _hint(tmp_path / "here" / name) == f"{MAKES} {tmp_path / 'here' / name}"
        (tmp_path / "here").mkdir(exist_ok=True)


@pytest.mark.parametrize("create", [False, True])
def test_where_something_else_lies_a_store_is_made_where_it_can_begin(create: bool, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "read.me").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, free in (("notes", "notes/store"), ("file", "file-store")):
        hint = _hint(tmp_path / name, create=create)
        assert hint == f"{MAKES} {tmp_path / free}"
        assert Store.open(hint.rpartition(" ")[2], create=True).run_ids() == []
        if not create:  # now there is one near
            break


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("results/metric_values", "results"),
        ("results/.seals/run", "results"),
        ("demo", "demo/store"),
        ("demo/stor", "demo/store"),
        ("result", "results"),
        ("resluts2", "results2"),
        ("other/place", None),
    ],
)
def test_the_nearest_store_is_named(asked: str, meant: str | None, tmp_path: Path) -> None:
    for name in ("results", "results2", "demo/store"):
        Store.open(tmp_path / name, create=True)
    assert nearest(tmp_path / asked) == (None if meant is None else tmp_path / meant)
    if meant is not None:
        assert _hint(tmp_path / asked) == f"evalframe runs --store {tmp_path / meant}"


def test_a_store_in_a_folder_beside_is_near(tmp_path: Path) -> None:
    Store.open(tmp_path / "evalframe-demo" / "store", create=True)
    assert nearest(tmp_path / "results") == tmp_path / "evalframe-demo" / "store"


def test_a_place_that_cannot_be_listed_and_a_full_one_are_no_trouble(tmp_path: Path) -> None:
    for number in range(MOST + 10):
        (tmp_path / f"d{number}").mkdir()
    (tmp_path / "file").write_text("mine")
    assert nearest(tmp_path / "absent") is None
    assert nearest(tmp_path / "file" / "below") is None


def test_the_hint_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.open(tmp_path / "my results", create=True)
    assert run(["sql", "SELECT 1", "--store", str(tmp_path / "my result")]) == 2
    words = capsys.readouterr().err.strip().splitlines()
    assert len(words) == 4
    assert words[3].endswith(f"evalframe runs --store '{tmp_path / 'my results'}'")
