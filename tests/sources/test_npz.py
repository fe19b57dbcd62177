"""Archives that lie, are cut off or would have to be unpickled: refused before anything is allocated or run."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.errors import ArchiveRefused, ExitCode, UsageError
from evalframe.sources.npz import Limits, Npz

SMALL = Limits(array_bytes=1 << 20, expansion=100, free_bytes=1 << 16, members=8)


def member(header: str, values: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """A .npy file with a header of our own."""
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + values


def plain(shape: str = "(2,)", descr: str = "'<i8'", fortran: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as zipped:
        for name, content in members.items():
            zipped.writestr(f"{name}.npy", content)
    return path


def read(path: Path, name: str, limits: Limits = SMALL) -> np.ndarray:
    with path.open("rb") as file, Npz(file, str(path), limits) as opened:
        return opened.read(name)


def refusal(path: Path, name: str = "x", limits: Limits = SMALL) -> ArchiveRefused:
    with pytest.raises(ArchiveRefused) as caught:
        read(path, name, limits)
    assert caught.value.exit_code is ExitCode.USAGE
    assert len(str(caught.value).splitlines()) == 4
    return caught.value


ARRAYS = [
    np.arange(5),
    np.arange(5, dtype=">i4"),
    np.arange(6, dtype=np.uint8).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(20, dtype=np.float16)[::3],
    np.arange(24, dtype=">f4").reshape(2, 3, 4).transpose(2, 0, 1),
    np.array(["sit", "stand", "naïve", ""]),
    np.array([b"sit", b"walk"]),
    np.array([True, False]),
    np.array(7.5),
    np.empty(0, np.int16),
    np.empty((0, 3), "<f8"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_values_come_back_in_c_order_and_native_bytes(
    tmp_path: Path, array: np.ndarray, save: Callable[..., None]
) -> None:
    save(tmp_path / "a.npz", x=array)
    found = read(tmp_path / "a.npz", "x")
    np.testing.assert_array_equal(found, array)
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.dtype.isnative
    assert found.flags.c_contiguous


def test_names_are_those_of_the_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", y_true=np.arange(2), y_pred=np.arange(2))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as zipped:
        zipped.writestr("readme.txt", "not an array")
    with (tmp_path / "a.npz").open("rb") as file, Npz(file, "a.npz") as opened:
        assert opened.names == ("y_true", "y_pred")


class Planted:
    """A pickle of this writes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.open, (str(self.path), os.O_CREAT | os.O_WRONLY)


def test_an_object_array_is_refused_and_its_pickle_never_runs(tmp_path: Path) -> None:
    trace = tmp_path / "unpickled"
    header = plain("(1,)", "'|O'")
    archive(tmp_path / "a.npz", {"x": member(header, pickle.dumps(np.array([Planted(trace)], dtype=object)))})
    error = refusal(tmp_path / "a.npz")
    assert error.what == "array x holds Python objects"
    assert "dtype=str" in error.hint
    assert not trace.exists()


def test_an_object_array_beside_plain_ones_leaves_them_readable(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array(["a", None], dtype=object), y=np.arange(3))
    assert read(tmp_path / "a.npz", "y").tolist() == [0, 1, 2]
    refusal(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "content",
    [
        member(plain("(2,)"), b"\0" * 15),
        member(plain("(2,)"), b"\0" * 17),
        member(plain("(1000000000000,)")),
        member(plain("(-2, -1)"), b"\0" * 16),
        member(plain("(99999999999999999999999, 0)")),
        member(plain("(4611686018427387904, 4611686018427387904, 0)")),
        member(plain(f"({'1, ' * 70})"), b"\0" * 8),
        member(plain("(True,)"), b"\0" * 8),
        member(plain("(2.0,)"), b"\0" * 16),
        member(plain("(2,)", "'<i9'"), b"\0" * 18),
        member(plain("(0,)", "'<U4000000000'")),
        member(plain("(2,)", "[('a', '<i8')]"), b"\0" * 16),
        member(plain("(2,)", "'<M8[s]'"), b"\0" * 16),
        member(plain("(2,)", "'|V8'"), b"\0" * 16),
        member("{'descr': '<i8'}", b"\0" * 16),
        member("not a header"),
        member("(" * 5000),
        member(plain(), b"\0" * 16, version=(3, 0)),
        member(plain(), b"\0" * 16, version=(9, 9)),
        member(plain() + " " * 20_000, b"\0" * 16),
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 100,
        b"\x93NUMPY",
        b"",
        b"no array at all",
    ],
    ids=lambda content: repr(content[8:60]),
)
def test_a_header_that_lies_or_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    refusal(archive(tmp_path / "a.npz", {"x": content}))


def test_a_boolean_byte_is_0_or_1(tmp_path: Path) -> None:
    error = refusal(archive(tmp_path / "a.npz", {"x": member(plain("(2,)", "'|b1'"), b"\0\2")}))
    assert "booleans of 0 and 1" in error.expected


def test_an_array_over_the_limit_is_refused_before_it_is_allocated(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(30 << 20, np.uint8))
    tracemalloc.start()
    error = refusal(tmp_path / "a.npz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20
    assert error.hint.startswith(f"export EVALFRAME_NPZ_ARRAY_BYTES={30 << 20}")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(900_000, np.uint8))
    error = refusal(tmp_path / "a.npz")
    assert error.what == "array x unpacks too far"
    found = int(error.found)
    raised = Limits(array_bytes=1 << 20, expansion=found, free_bytes=1 << 16)
    assert read(tmp_path / "a.npz", "x", raised).sum() == 0


def test_small_arrays_may_pack_as_tightly_as_they_like(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(60_000, np.uint8))
    assert len(read(tmp_path / "a.npz", "x")) == 60_000


def central_directory_with(path: Path, *, unpacked: int | None = None, packed: int | None = None) -> None:
    """Rewrite the sizes that the ZIP's directory claims for its first member."""
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    if packed is not None:
        content[entry + 20 : entry + 24] = struct.pack("<I", packed)
    if unpacked is not None:
        content[entry + 24 : entry + 28] = struct.pack("<I", unpacked)
    path.write_bytes(content)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("packed", [None, 1 << 20])
def test_a_directory_that_claims_more_than_the_file_can_hold_is_refused(
    tmp_path: Path, compression: int, packed: int | None
) -> None:
    header = plain("(1000000,)", "'|u1'")
    path = archive(tmp_path / "a.npz", {"x": member(header, b"\1" * 16)}, compression)
    central_directory_with(path, unpacked=len(member(header)) + 1_000_000, packed=packed)
    tracemalloc.start()
    refusal(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000


def test_a_wrong_checksum_is_noticed(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(5000))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(np.arange(5000).tobytes()) + 39_000] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    assert refusal(tmp_path / "a.npz").what == "array x is damaged"


def test_an_array_stored_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as zipped:
        zipped.writestr("x.npy", member(plain(), b"\0" * 16))
        with pytest.warns(UserWarning, match="Duplicate name"):
            zipped.writestr("x.npy", member(plain(), b"\1" * 16))
    assert refusal(tmp_path / "a.npz").what == "an array is stored twice"


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    archive(tmp_path / "a.npz", {f"x{i}": member(plain(), b"\0" * 16) for i in range(9)})
    assert "EVALFRAME_NPZ_MEMBERS=9" in refusal(tmp_path / "a.npz").hint


@pytest.mark.parametrize("kept", [0, 1, 30, 100, 300])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    np.savez(tmp_path / "whole.npz", x=np.arange(100))
    (tmp_path / "a.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:kept])
    assert refusal(tmp_path / "a.npz").what == "this is not a readable NPZ archive"


@given(st.integers(0, 2**32 - 1), st.binary(min_size=1, max_size=4))
def test_no_damage_escapes_as_another_error(at: int, patch: bytes) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.arange(300), y=np.array(["a", "b"]))
    content = bytearray(buffer.getvalue())
    at %= len(content)
    content[at : at + len(patch)] = patch
    with contextlib.suppress(ArchiveRefused), Npz(io.BytesIO(content), "fuzzed.npz", SMALL) as opened:
        for name in opened.names:
            opened.read(name)


def test_limits_come_from_the_environment() -> None:
    assert Limits.from_environment({}) == Limits()
    assert Limits.from_environment({"EVALFRAME_NPZ_EXPANSION": "1000"}) == Limits(expansion=1000)
    for text in ("-1", "1e9", "", "٣"):
        with pytest.raises(UsageError, match="EVALFRAME_NPZ_ARRAY_BYTES is not a count"):
            Limits.from_environment({"EVALFRAME_NPZ_ARRAY_BYTES": text})


def test_the_hint_of_a_limit_is_what_lifts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(10))
    monkeypatch.setenv("EVALFRAME_NPZ_ARRAY_BYTES", "79")
    with (tmp_path / "a.npz").open("rb") as file, Npz(file, "a.npz") as opened, pytest.raises(ArchiveRefused) as caught:
        opened.read("x")
    setting = caught.value.hint.split()[1]
    monkeypatch.setenv(*setting.split("="))
    with (tmp_path / "a.npz").open("rb") as file, Npz(file, "a.npz") as opened:
        assert opened.read("x").sum() == 45
