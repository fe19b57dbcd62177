"""Copies of sealed files: whole or not there, made once, and no more of them than fit."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from evalframe.errors import UsageError
from evalframe.store.cache import IN_USE_SECONDS, Cache


def kept(cache: Cache, content: bytes) -> Path:
    found = cache.keep(hashlib.sha256(content).hexdigest(), len(content), lambda: [content[:3], content[3:]]).path
    assert found is not None
    return found


def unused(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_copy_is_made_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1000)
    path = kept(cache, b"content")
    assert path.read_bytes() == b"content"
    assert cache.keep(path.stem, 7, lambda: pytest.fail("asked again")) == (path, "")


def test_a_copy_that_was_cut_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1000)
    kept(cache, b"content").write_bytes(b"cont")
    assert kept(cache, b"content").read_bytes() == b"content"


def test_other_content_is_not_kept(tmp_path: Path) -> None:
    found = Cache(tmp_path, 1000).keep("0" * 64, 5, lambda: [b"other"])
    assert found == (None, f"SHA-256 {hashlib.sha256(b'other').hexdigest()}")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_connection_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> object:
        yield b"some"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        Cache(tmp_path, 1000).keep("0" * 64, 9, pieces)  # type: ignore[arg-type]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_was_used_longest_ago_goes_first_and_what_may_be_open_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 25)
    old, older, lately = (kept(cache, bytes([letter]) * 10) for letter in b"abc")
    unused(old, IN_USE_SECONDS + 10)
    unused(older, IN_USE_SECONDS + 20)
    new = kept(cache, b"d" * 10)
    assert [path.exists() for path in (old, older, lately, new)] == [False, False, True, True]
    newest = kept(cache, b"e" * 10)  # more than fits, all of it in use
    assert [path.exists() for path in (lately, new, newest)] == [True, True, True]


def test_using_a_copy_keeps_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 25)
    a, b = kept(cache, b"a" * 10), kept(cache, b"b" * 10)
    unused(a, IN_USE_SECONDS + 20)
    unused(b, IN_USE_SECONDS + 10)
    kept(cache, b"a" * 10)
    kept(cache, b"c" * 10)
    assert (a.exists(), b.exists()) == (True, False)


def test_what_a_killed_process_left_goes_too(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 5)
    left = tmp_path / "ab" / "abc.0123.part"
    left.parent.mkdir()
    left.write_bytes(b"half a copy")
    unused(left, IN_USE_SECONDS + 1)
    kept(cache, b"a")
    assert not left.exists()


def test_the_environment_says_where_and_how_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALFRAME_CACHE", str(tmp_path / "mine"))
    monkeypatch.setenv("EVALFRAME_CACHE_GB", "0.5")
    cache = Cache.of_user()
    assert (cache.folder, cache.limit) == (tmp_path / "mine", 500_000_000)
    monkeypatch.delenv("EVALFRAME_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache.of_user().folder == tmp_path / "evalframe"
    for wrong in ("much", "-1", "nan", "inf"):
        monkeypatch.setenv("EVALFRAME_CACHE_GB", wrong)
        with pytest.raises(UsageError, match="not a size"):
            Cache.of_user()


def test_a_note_is_found_again_unless_it_is_damaged(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1000)
    assert cache.noted("runs/a.json") is None
    cache.note("runs/a.json", b"line\nline\n")
    assert Cache(tmp_path, 1000).noted("runs/a.json") == b"line\nline\n"
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.noted("runs/a.json") is None
    cache.note("runs/a.json", b"line\nline\n")
    assert cache.noted("runs/a.json") == b"line\nline\n"


def test_a_cache_that_cannot_be_written_notes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("no folder")
    cache = Cache(tmp_path / "a file", 1000)
    cache.note("runs/a.json", b"content")
    assert cache.noted("runs/a.json") is None
