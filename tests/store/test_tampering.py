"""Whatever is changed behind the store's back is found by `verify` and named; readers refuse what they can see."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.errors import StoreCorrupt
from evalframe.store import Store, verifying
from evalframe.store.catalogue import Catalogue, Segment
from tests.store.things import write_results, write_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True, durable=False)
    for number, run_id in enumerate(("a", "b")):
        write_run(store, run_id, [number, number])
        write_results(store, run_id, {"accuracy": number / 2})
    return store


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a compaction, put back after each change."""
    store = Store.open(tmp_path_factory.mktemp("sealed") / "store", create=True, durable=False)
    for run_id in ("a", "b"):
        write_run(store, run_id)
        write_results(store, run_id)
    store.compact()
    write_run(store, "c")
    return store


def found(store: Store) -> list[tuple[str, str, str | None]]:
    """Kind, path and run of the findings of a fresh look."""
    rows = Store.open(store.path).verify().to_pylist()
    return [(row["kind"], row["path"], row["run_id"]) for row in rows]


PART = "class_predictions/part_run=r-a/part-0.parquet"
OTHER = "class_predictions/part_run=r-b/part-0.parquet"


@pytest.mark.parametrize("position", [0, 3, 100, -100, -1])
def test_a_flipped_byte(store: Store, position: int) -> None:
    content = bytearray((store.path / PART).read_bytes())
    content[position] ^= 0x40
    (store.path / PART).write_bytes(content)
    assert found(store) == [("changed_file", PART, "a")]


def test_every_flipped_byte(store: Store) -> None:
    content = (store.path / PART).read_bytes()
    for position in range(0, len(content), 37):
        broken = bytearray(content)
        broken[position] ^= 1
        (store.path / PART).write_bytes(broken)
        assert found(store) == [("changed_file", PART, "a")]


@settings(max_examples=60)
@given(st.data())
def test_any_flipped_bit_of_any_file(sealed: Store, data: st.DataObject) -> None:
    """Of predictions, results, seals and the compaction alike: found, and the file is named."""
    there = sorted(path for path in sealed.path.rglob("*") if path.is_file() and "lock" not in path.name)
    path = data.draw(st.sampled_from(there))
    content = path.read_bytes()
    position = data.draw(st.integers(0, len(content) - 1))
    broken = bytearray(content)
    broken[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(broken)
    try:
        name = str(path.relative_to(sealed.path))
        assert name in {where for _, where, _ in found(sealed)}
    finally:
        path.write_bytes(content)


def test_files_swapped_between_runs(store: Store) -> None:
    one, other = (store.path / PART).read_bytes(), (store.path / OTHER).read_bytes()
    (store.path / PART).write_bytes(other)
    (store.path / OTHER).write_bytes(one)
    assert found(store) == [("swapped_file", PART, "a"), ("swapped_file", OTHER, "b")]
    row = Store.open(store.path).verify().to_pylist()[0]
    assert row["found"] == f"{OTHER} of run 'b'"


def test_a_deleted_and_a_shortened_file(store: Store) -> None:
    (store.path / PART).unlink()
    (store.path / OTHER).write_bytes((store.path / OTHER).read_bytes()[:-1])
    assert found(store) == [("missing_file", PART, "a"), ("changed_file", OTHER, "b")]
    with pytest.raises(StoreCorrupt, match="not as it was sealed") as refused:
        store.files("class_predictions", runs=["a"])
    assert refused.value.hint == f"evalframe store verify {store.path}"
    with pytest.raises(StoreCorrupt):
        store.files("class_predictions", runs=["b"])


def test_a_flipped_byte_of_data_is_not_read(store: Store) -> None:
    content = bytearray((store.path / PART).read_bytes())
    content[60] ^= 1
    (store.path / PART).write_bytes(content)
    with pytest.raises(StoreCorrupt):
        store.read("class_predictions", runs=["a"])


@pytest.mark.parametrize(
    "name",
    ["class_predictions/part_run=r-a/part-1.parquet", "class_predictions/part_run=r-c/part-0.parquet", "notes.txt",
     "metric_values/copy.parquet", ".seals/runs/00/mine.txt"],
)  # fmt: skip
def test_a_file_added_by_hand(store: Store, name: str) -> None:
    target = store.path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(store.path / PART, target)
    assert found(store) == [("extra_file", name, None)]
    assert store.read("class_predictions").num_rows == 4


def test_gc_takes_only_what_a_writer_could_have_made(store: Store) -> None:
    for name in (
        "notes.txt",
        "class_predictions/part_run=r-a/mine.parquet",
        "class_predictions/part_run=r-a/part-7.parquet",
    ):
        shutil.copyfile(store.path / PART, store.path / name)
    assert store.gc() == ["class_predictions/part_run=r-a/part-7.parquet"]
    assert len(found(store)) == 2


def edited(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"system": "wisp"', b'"system": "kev"'))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def edited_and_sealed_again(path: Path) -> None:
    """Someone who knows the format: the digest inside is right, but the name is the old content's."""
    import hashlib

    body = path.read_bytes()[len(b'{"seal": ') : -len(b', "digest": ""}\n') - 64].replace(b"wisp", b"kev!")
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b'{"seal": ' + body + b', "digest": "' + digest + b'"}\n')


@pytest.mark.parametrize("edit", [edited, cut, emptied, edited_and_sealed_again])
def test_an_edited_seal(store: Store, edit: Callable[[Path], None]) -> None:
    (path,) = store.path.glob(".seals/runs/*/r-a.*")
    edit(path)
    name = str(path.relative_to(store.path))
    kinds = {finding[0] for finding in found(store)}
    assert ("damaged_seal", name, None) in found(store)
    assert kinds == {"damaged_seal", "orphan_seal", "extra_file"}  # its results and files have no seal any more
    fresh = Store.open(store.path)
    with pytest.raises(StoreCorrupt) as refused:
        fresh.run_ids()
    assert refused.value.where == str(path)
    with pytest.raises(StoreCorrupt):
        fresh.gc()
    assert (store.path / PART).exists()


def test_a_seal_put_in_anothers_place(store: Store) -> None:
    (one,) = store.path.glob(".seals/runs/*/r-a.*")
    (other,) = store.path.glob(".seals/runs/*/r-b.*")
    other.write_bytes(one.read_bytes())
    assert ("damaged_seal", str(other.relative_to(store.path)), None) in found(store)


def test_a_deleted_seal(store: Store) -> None:
    (path,) = store.path.glob(".seals/runs/*/r-a.*")
    path.unlink()
    assert ("orphan_seal", "a") in {(kind, run) for kind, _, run in found(store)}
    assert ("extra_file", PART, None) in found(store)
    assert store.run_ids() == ["b"]


def test_a_stale_compaction(store: Store, tmp_path: Path) -> None:
    store.compact()
    assert found(store) == []
    shutil.copytree(store.path / ".catalogue", tmp_path / "old")
    store.withdraw("a", "a reason")
    assert found(store) == []
    for folder in (tmp_path / "old").iterdir():
        if folder.is_dir():
            shutil.copytree(folder, store.path / ".catalogue" / folder.name, dirs_exist_ok=True)
    findings = found(store)
    assert [(kind, Path(path).name) for kind, path, _ in findings] == [("stale_compaction", "segment.json")] * 2
    assert Store.open(store.path).read("metric_values")["run_id"].to_pylist() == ["b"]


def test_a_compaction_of_rows_that_no_seal_holds(store: Store) -> None:
    """A forged one: sound in itself, but not what the seals hold. Only `verify` looks so closely."""
    from dataclasses import replace

    from evalframe.store.catalogue import packed
    from evalframe.store.compaction import write_part
    from tests.store.things import values

    store.compact()
    (segment,) = Catalogue(store._files).segments("results")
    (part,) = segment.of("metric_values")
    forged = values("a", {"accuracy": 1.0})
    (store.path / segment.folder / part.path).unlink()
    new = write_part(store._files, segment.folder, part.table, [forged], forged.schema, part.fingerprint, part.covers)
    others = tuple(each for each in segment.parts if each != part)
    (store.path / segment.folder / "segment.json").write_bytes(packed(replace(segment, parts=(*others, new))))
    assert found(store) == [("stale_compaction", f"{segment.folder}/{new.path}", None)]


def test_a_damaged_compaction(store: Store) -> None:
    store.compact()
    (path,) = store.path.glob(".catalogue/*/metric_values-0.parquet")
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    assert found(store) == [("damaged_compaction", str(path.relative_to(store.path)), None)]
    (manifest,) = store.path.glob(".catalogue/results-*/segment.json")
    emptied(manifest)
    assert found(store) == [("damaged_compaction", str(manifest.relative_to(store.path)), None)]
    assert len(store.gc()) == 4
    assert found(store) == []


def test_a_compaction_put_into_use_during_the_look_is_sound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Catalogue.segments

    def compacting(catalogue: Catalogue, kind: str) -> list[Segment]:
        before = listed(catalogue, kind)
        Store.open(store.path).compact()
        return before

    with monkeypatch.context() as patch:
        patch.setattr(verifying, "Catalogue", type("Late", (Catalogue,), {"segments": compacting}))
        assert found(store) == []
    assert list(store.path.glob(".catalogue/*/segment.json"))
