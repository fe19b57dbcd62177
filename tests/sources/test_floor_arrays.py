"""Saved and raw forecast arrays, targets and names: what turns into what, and what is refused before it is believed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from evalframe.errors import ArchiveRefused, FileUnreadable, ForecastRefused, SessionMissing, SessionNameRefused
from evalframe.floor import convert_miniroada
from evalframe.sources.floor_forecasts import by_source_row
from evalframe.sources.floor_miniroada import read_miniroada
from evalframe.sources.floor_sessions import checked_name, session_files
from evalframe.sources.floor_targets import read_targets
from evalframe.sources.npy import read_npy
from evalframe.sources.npz import Limits
from tests.oracles import floor as oracle
from tests.properties.floor_worlds import labels_of, random_session


def test_saved_forecasts_turn_from_the_row_they_are_for_to_the_row_they_were_made_at() -> None:
    """Step j + 1 of source row s is pred[s + j + 1, :, j]; what would fall outside the session is not valid."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        session = random_session(rng, "s")
        pred, valid = np.array(session.pred), np.array(session.valid)
        turned = by_source_row(labels_of(session, 0), pred, valid)
        for s in range(len(pred)):
            for j in range(10):
                inside = s + j + 1 < len(pred)
                wanted = session.forecast(s, j + 1) if inside else None
                assert turned.usable[s, j] == (wanted is not None)
                assert wanted is None or turned.p_wearer[s, j] == wanted
        assert turned.n_not_finite == int((valid & ~np.isfinite(pred)).sum())


def test_float32_forecasts_are_widened_once() -> None:
    session = oracle.Session("s", [(0, 0)] * 12, [], [], [(0, 12)])
    pred = np.full((12, 10), np.float32(0.7))
    turned = by_source_row(labels_of(session, 0), pred, np.ones((12, 10), bool))
    assert turned.p_wearer[0, 0] == float(np.float32(0.7)) != 0.7


# ---- MiniROADA ------------------------------------------------------------------------------------------------------


def raw(tmp_path: Path, array: np.ndarray) -> Path:
    np.save(tmp_path / "s.npy", array)
    return tmp_path / "s.npy"


def test_raw_forecasts_by_their_definition(tmp_path: Path) -> None:
    made = np.random.default_rng(1).random((13, 10, 3)).astype(np.float32)
    aligned = read_miniroada(raw(tmp_path, made), 23, "s")
    pred, valid = np.zeros((23, 3, 10), np.float32), np.zeros((23, 10), bool)
    for i in range(13):
        for j in range(10):
            pred[i + 1 + j, :, j] = made[i, j, :]
            valid[i + 1 + j, j] = True
    assert aligned.pred.tobytes() == pred.tobytes()
    assert np.array_equal(aligned.valid, valid)


@pytest.mark.parametrize("shape", [(12, 10, 3), (14, 10, 3), (13, 3, 10), (13, 10), (13, 10, 3, 1), (23, 10, 3)])
def test_raw_arrays_of_another_shape_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(ForecastRefused):
        read_miniroada(raw(tmp_path, np.zeros(shape, np.float32)), 23, "s")


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.0001, -0.0001])
def test_raw_values_that_are_no_probability_are_named(tmp_path: Path, value: float) -> None:
    made = np.zeros((13, 10, 3))
    made[4, 6, 2] = value
    with pytest.raises(ForecastRefused, match="session s row 4 step 7"):
        read_miniroada(raw(tmp_path, made), 23, "s")


def test_nothing_is_written_where_one_session_is_refused(tmp_path: Path) -> None:
    for folder in ("raw", "target"):
        (tmp_path / folder).mkdir()
    for name, rows in (("a", 13), ("b", 12)):
        np.save(tmp_path / "raw" / f"{name}.npy", np.zeros((rows, 10, 3), np.float32))
        np.save(tmp_path / "target" / f"{name}.npy", np.zeros((23, 3), np.float32))
    with pytest.raises(ForecastRefused):
        convert_miniroada(tmp_path / "raw", tmp_path / "target", tmp_path / "out", sessions=["a", "b"])
    assert not (tmp_path / "out").exists()


# ---- names and ranks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "/a", "a\\b", ".hidden", "a\x00", "a\nb", "a\u202eb"])
def test_names_that_could_be_another_path(name: str) -> None:
    with pytest.raises(SessionNameRefused):
        checked_name(name, "--sessions")


def test_names_are_text_in_one_normal_form() -> None:
    assert checked_name("cafe\u0301", "x") == "caf\u00e9"
    assert checked_name("001", "x") == "001"
    assert checked_name("a..b c", "x") == "a..b c"


def test_a_rank_is_among_all_sessions_of_the_folder(tmp_path: Path) -> None:
    for name in ("b", "a", "10", "2"):
        np.save(tmp_path / f"{name}.npy", np.zeros((3, 3)))
    targets = read_targets(tmp_path, ["b", "2"])
    assert {name: s.index for name, s in targets.sessions.items()} == {"b": 3, "2": 1}
    assert targets.tables()["floor_segments"]["session"].to_pylist() == ["2", "b"]


def test_the_data_set_is_named_after_its_content(tmp_path: Path) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.zeros((3, 3)))
    one, same, fewer = (read_targets(tmp_path, names).dataset_id for names in (["a", "b"], ["b", "a"], ["a"]))
    assert one == same != fewer
    (tmp_path / "s.csv").write_text("session,first_row,n_rows\na,0,2\nb,0,3\n")
    assert read_targets(tmp_path, ["a", "b"], tmp_path / "s.csv").dataset_id != one
    np.save(tmp_path / "b.npy", np.array([[0, 1, 0]] * 3))
    assert read_targets(tmp_path, ["a", "b"]).dataset_id != one


def test_a_folder_without_sessions(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(SessionMissing):
            session_files(folder)


# ---- NPY files ------------------------------------------------------------------------------------------------------


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    "array", [np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(4, dtype=">i4"), np.eye(2) > 0]
)
def test_plain_arrays_of_any_layout(tmp_path: Path, array: np.ndarray) -> None:
    (tmp_path / "a.npy").write_bytes(npy(array))
    found = read_npy(tmp_path / "a.npy").array
    assert np.array_equal(found, array)
    assert found.flags["C_CONTIGUOUS"]
    assert found.dtype.isnative


WHOLE = npy(np.arange(6.0))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        WHOLE[:5],
        WHOLE[:40],
        WHOLE[:-1],
        WHOLE + b"\0",
        b"PK" + WHOLE,
        WHOLE.replace(b"(6,)", b"(7,)"),
        WHOLE.replace(b"(6,)", b"-6,)"),
        WHOLE.replace(b"<f8", b"|O8"),
        npy(np.array(["a"])),
        WHOLE.replace(b"'shape': (6,), }", b"'shape': (10**12,),}"),
    ],
)
def test_damaged_files(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(damaged)
    with pytest.raises(ArchiveRefused):
        read_npy(tmp_path / "a.npy")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ArchiveRefused):
        read_npy(tmp_path / "a.npy")


def test_booleans_of_neither_kind_and_sizes_over_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy(np.array([True, False]))[:-1] + b"\2")
    with pytest.raises(ArchiveRefused):
        read_npy(tmp_path / "a.npy")
    (tmp_path / "b.npy").write_bytes(WHOLE)
    with pytest.raises(ArchiveRefused):
        read_npy(tmp_path / "b.npy", limits=Limits(array_bytes=47))
    with pytest.raises(FileUnreadable):
        read_npy(tmp_path / "absent.npy")
