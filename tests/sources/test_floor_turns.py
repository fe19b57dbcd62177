"""Turns and their rows: RTTM and EasyCom files, integer microseconds, what was recorded, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.errors import FileUnreadable, SessionNameRefused, TurnsRefused, UsageError
from evalframe.floor import rasterize
from evalframe.sources.floor_intervals import Interval
from evalframe.sources.floor_raster import Rule
from evalframe.sources.floor_raster import rasterize as raster
from evalframe.sources.floor_turns import Speech, Turn, most_speech, read_easycom, read_rttm

ROW = 200_000


def speech(*turns: tuple[str, int, int], recorded: tuple[tuple[int, int], ...] | None = None) -> Speech:
    return Speech("s", tuple(Turn(*turn) for turn in turns), recorded, {})


def active(column: int, *turns: tuple[str, int, int], rule: Rule = "row-centre") -> list[int]:
    return [int(i) for i in np.flatnonzero(raster(speech(*turns), "w", ROW, rule).target[:, column])]


def test_a_row_is_active_from_its_centre() -> None:
    assert active(1, ("w", 100_000, 300_000)) == [0]  # centre 0.1 s is in, 0.3 s is not
    assert active(1, ("w", 100_001, 300_001)) == [1]
    assert active(1, ("w", 110_000, 290_000), ("x", 0, 900_000)) == []  # between two centres
    assert active(2, ("w", 0, 200_000), ("x", 150_000, 700_000)) == [1, 2]


def test_any_overlap_is_the_named_variant() -> None:
    assert active(1, ("w", 199_999, 200_001), rule="any-overlap") == [0, 1]
    assert active(1, ("w", 200_000, 400_000), rule="any-overlap") == [1]
    assert active(1, ("w", 200_000, 200_000), ("x", 0, 900_000), rule="any-overlap") == []  # no time at all


def test_rows_end_with_the_last_turn_and_background_is_silence() -> None:
    target = raster(speech(("w", 0, 200_000), ("x", 800_000, 800_001)), "w", ROW).target
    assert target.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert target.dtype == np.float32


turns = st.lists(
    st.tuples(st.sampled_from("wx"), st.integers(0, 40), st.integers(0, 20)).map(lambda t: (t[0], t[1], t[1] + t[2])),
    min_size=1,
    max_size=8,
)


@given(turns=turns, row=st.integers(1, 9))
def test_every_row_by_its_definition(turns: list[tuple[str, int, int]], row: int) -> None:
    """Rows as short as a microsecond, so that centres fall between microseconds."""
    for rule in ("row-centre", "any-overlap"):
        target = raster(speech(*turns), "w", row, rule).target
        assert len(target) == -(-max(end for _, _, end in turns) // row)
        for i in range(len(target)):
            for column, mine in ((1, "w"), (2, "x")):
                held = any(
                    2 * start <= (2 * i + 1) * row < 2 * end
                    if rule == "row-centre"
                    else start < end and start < (i + 1) * row and end > i * row
                    for who, start, end in turns
                    if who == mine
                )
                assert bool(target[i, column]) == held
            assert target[i, 0] == (target[i, 1] == target[i, 2] == 0)


def test_who_speaks_most() -> None:
    assert most_speech([Turn("a", 0, 10), Turn("b", 0, 11)]) == "b"
    assert most_speech([Turn("a", 0, 10), Turn("a", 2, 9), Turn("b", 0, 11)]) == "b"  # counted once where they overlap
    assert most_speech([Turn("b", 0, 10), Turn("a", 20, 30)]) == "a"  # of equals the first by name


def test_recordings_part_where_a_row_was_not_recorded() -> None:
    def segments(*recorded: tuple[int, int]) -> list[tuple[int, int]]:
        end = max(end for _, end in recorded)
        made = raster(speech(("w", 0, end), recorded=recorded), "w", ROW)
        return [(s.first, s.last) for s in made.segments]

    assert segments((0, 1_000_000), (1_000_000, 2_000_000)) == [(0, 9)]
    assert segments((0, 1_000_000), (1_090_000, 2_000_000)) == [(0, 9)]  # the gap holds no centre
    assert segments((0, 1_000_000), (1_110_000, 2_000_000)) == [(0, 4), (6, 9)]
    assert segments((0, 1_000_000), (995_000, 2_000_000)) == [(0, 9)]  # names may overlap by milliseconds
    assert segments((0, 1_000_000), (3_000_000, 4_000_000)) == [(0, 4), (15, 19)]


def test_without_a_map_everything_was_recorded() -> None:
    assert raster(speech(("w", 0, 400_000)), "w", ROW).segments == (Interval(0, 1),)


# ---- RTTM -----------------------------------------------------------------------------------------------------------

LINE = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"


def test_rttm_times_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.rttm"
    path.write_text(
        ";; a comment\nSPKR-INFO m 1 <NA> <NA> <NA> unknown w <NA> <NA>\n"
        + LINE.format("m", "0.1", "0.2", "w")
        + LINE.format("n", "1e1", "0.000001", "x")
    )
    one, other = read_rttm(path)
    assert (one.session, one.turns) == ("m", (Turn("w", 100_000, 300_000),))
    assert (other.session, other.turns) == ("n", (Turn("x", 10_000_000, 10_000_001),))


@pytest.mark.parametrize(
    "line",
    [
        "SPEAKER m 1 0.1\n",
        LINE.format("m", "-0.1", "0.2", "w"),
        LINE.format("m", "0.1", "-0.2", "w"),
        LINE.format("m", "nan", "0.2", "w"),
        LINE.format("m", "inf", "0.2", "w"),
        LINE.format("m", "1e999999999", "0.2", "w"),
        LINE.format("m", "0.1", "0.0000001", "w"),
        LINE.format("m", "zero", "0.2", "w"),
        "",
    ],
)
def test_rttm_that_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.rttm").write_text(line)
    with pytest.raises(TurnsRefused):
        read_rttm(tmp_path / "a.rttm")


def test_an_rttm_file_cannot_write_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.rttm").write_text(LINE.format("../m", "0.1", "0.2", "w"))
    with pytest.raises(SessionNameRefused):
        rasterize([tmp_path / "a.rttm"], wearer="w", output_dir=tmp_path / "out")
    with pytest.raises(FileUnreadable):
        rasterize([tmp_path / "absent.rttm"], wearer="w", output_dir=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_slip_of_the_pen_does_not_fill_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.rttm").write_text(LINE.format("m", "999999999", "1", "w"))
    with pytest.raises(TurnsRefused, match="too many rows"):
        rasterize([tmp_path / "a.rttm"], wearer="w", output_dir=tmp_path / "out")


def test_one_session_may_come_in_two_files(tmp_path: Path) -> None:
    for name, start in (("a", "0"), ("b", "1")):
        (tmp_path / f"{name}.rttm").write_text(LINE.format("m", start, "0.2", "w") + LINE.format("m", "0", "0.1", "x"))
    done = rasterize([tmp_path / "a.rttm", tmp_path / "b.rttm"], wearer="w", output_dir=tmp_path / "out")
    (row,) = done.to_pylist()
    assert (row["session"], row["n_rows"], row["n_wearer"]) == ("m", 6, 2)


@pytest.mark.parametrize(
    "options",
    [{"wearer": "nobody"}, {"wearer": "w", "rule": "half"}, {"wearer": "w", "row_seconds": "0.0000001"}],
)
def test_questions_that_are_refused(tmp_path: Path, options: dict[str, str]) -> None:
    (tmp_path / "a.rttm").write_text(LINE.format("m", "0", "0.2", "w"))
    with pytest.raises((TurnsRefused, UsageError)):
        rasterize([tmp_path / "a.rttm"], output_dir=tmp_path / "out", **options)
    with pytest.raises(UsageError):
        rasterize([], wearer="w", output_dir=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- EasyCom --------------------------------------------------------------------------------------------------------


def transcript(folder: Path, name: str, *items: dict[str, Any], encoding: str = "utf-8") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_bytes(json.dumps(list(items), ensure_ascii=False).encode(encoding))


def said(who: int, first: int, last: int, text: str = "yes") -> dict[str, Any]:
    return {"Participant_ID": who, "Start_Frame": first, "End_Frame": last, "Transcription": text}


def test_easycom_frames_count_from_the_name_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "Speech_Transcriptions"
    transcript(folder / "Session_4", "00-00-000", said(2, 0, 3))
    transcript(folder / "Session_4", "01-00-288", said(4, 0, 19, "caf\u00e9"), encoding="latin-1")
    transcript(folder / "Session_4", "03-00-310", said(2, 10, 29, "caf\u00e9"))
    (one,) = read_easycom(folder)
    assert one.session == "Session_4"
    assert one.turns == (
        Turn("2", 0, 200_000),  # frames 0 to 3, both included: four of 50 ms
        Turn("4", 60_288_000, 61_288_000),
        Turn("2", 180_810_000, 181_810_000),
    )
    assert one.recorded == ((0, 60_000_000), (60_288_000, 120_288_000), (180_310_000, 240_310_000))


def test_easycom_writes_targets_and_a_segment_map(tmp_path: Path) -> None:
    folder = tmp_path / "Speech_Transcriptions"
    transcript(folder / "Session_4", "00-00-000", said(2, 0, 3))
    transcript(folder / "Session_4", "01-00-000", said(4, 0, 1199))
    transcript(folder / "Session_4", "03-00-000", said(2, 0, 1199))
    transcript(folder / "Session_5", "00-00-000", said(2, 0, 1199), said(3, 100, 200))
    rasterize([folder], wearer="2", output_dir=tmp_path / "out")
    assert (tmp_path / "out" / "segments.csv").read_text().splitlines() == [
        "session,first_row,n_rows",
        "Session_4,0,600",
        "Session_4,900,300",
        "Session_5,0,300",
    ]
    target = np.load(tmp_path / "out" / "Session_4.npy")
    assert target.shape == (1200, 3)
    assert np.flatnonzero(target[:, 1]).tolist() == [0, *range(900, 1200)]
    assert np.flatnonzero(target[:, 2]).tolist() == [*range(300, 600)]


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("00-60-000", [said(2, 0, 3)]),
        ("0-00-000", [said(2, 0, 3)]),
        ("intro", [said(2, 0, 3)]),
        ("00-00-000", [said(2, 3, 2)]),
        ("00-00-000", [said(2, -1, 2)]),
        ("00-00-000", [{"Participant_ID": 2, "Start_Frame": True, "End_Frame": 3}]),
        ("00-00-000", [{"Participant_ID": 2, "Start_Frame": 1.5, "End_Frame": 3}]),
        ("00-00-000", [{"Start_Frame": 0, "End_Frame": 3}]),
        ("00-00-000", ["yes"]),
    ],
)
def test_easycom_that_is_refused(tmp_path: Path, name: str, items: list[Any]) -> None:
    transcript(tmp_path / "Session_4", name, *items)
    with pytest.raises(TurnsRefused):
        read_easycom(tmp_path)


def test_a_pointer_to_a_file_is_not_the_file(tmp_path: Path) -> None:
    (tmp_path / "Session_4").mkdir()
    (tmp_path / "Session_4" / "00-00-000.json").write_text("version https://git-lfs.github.com/spec/v1\noid 1\n")
    with pytest.raises(TurnsRefused) as raised:
        read_easycom(tmp_path)
    assert "LFS" in raised.value.found
    with pytest.raises(TurnsRefused):
        read_easycom(tmp_path / "absent")
