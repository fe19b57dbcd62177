"""From outside arrays and turns to the folders that `floor evaluate` reads."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.errors import TurnsRefused, UsageError
from evalframe.protocols.easycom_floor import PRE_BOUNDARY
from evalframe.protocols.easycom_floor.times import microseconds
from evalframe.sources import floor_raster
from evalframe.sources.floor_intervals import Interval
from evalframe.sources.floor_miniroada import check_miniroada, read_miniroada
from evalframe.sources.floor_raster import RULES
from evalframe.sources.floor_sessions import files_of, session_files
from evalframe.sources.floor_targets import read_targets
from evalframe.sources.floor_turns import Speech, merged, most_speech, read_easycom, read_rttm
from evalframe.verbs import drawing
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import listed
from evalframe.verbs.outputs import write_bytes, write_text
from evalframe.verbs.results import Rows

MOST_SPEECH = "most-speech"
MOST_ROWS = 20_000_000
"""46 days of 0.2 s rows: a time beyond is a slip of the pen, and would take gigabytes."""

_ROW_SECONDS = replace(
    next(parameter for parameter in PRE_BOUNDARY.parameters if parameter.name == "row_seconds"), option="--row-seconds"
)
"""The protocol's parameter, which `rasterize` takes by this option alone."""


@dataclass(frozen=True, repr=False)
class Written(Rows):
    """A row per session that was written."""


@loosely
def convert_miniroada(
    prediction_root: Path | str,
    target_root: Path | str,
    output_dir: Path | str,
    *,
    sessions: Sequence[str] | str,
    force: bool = False,
) -> Written:
    """Write `pred/<session>.npy` and `valid/<session>.npy` for raw MiniROADA arrays `<session>.npy` [T-10, 10, 3].

    Every session is read and checked before anything is written, and read again to be written: memory holds one at a
    time. Raises as `read_miniroada` and `read_targets` do.
    """
    raw, out = Path(prediction_root), Path(output_dir)
    targets = read_targets(Path(target_root), listed(sessions))
    files = files_of(targets.sessions, session_files(raw), raw)
    for name, path in files.items():
        check_miniroada(path, targets.sessions[name].n_rows, name)
    rows = []
    for name, path in files.items():
        one = read_miniroada(path, targets.sessions[name].n_rows, name)
        write_bytes(out / "pred" / f"{name}.npy", _npy(one.pred), force=force)
        write_bytes(out / "valid" / f"{name}.npy", _npy(one.valid), force=force)
        rows.append(
            {"session": name, "n_rows": len(one.pred), "n_valid": int(one.valid.sum()), "raw_sha256": one.sha256}
        )
    return Written(pa.Table.from_pylist(rows))


@loosely
def rasterize(
    turns: Sequence[Path | str] | Path | str,
    *,
    wearer: str,
    output_dir: Path | str,
    rule: str = "row-centre",
    row_seconds: str = "0.2",
    force: bool = False,
) -> Written:
    """Write a target array per session of RTTM files, or of an EasyCom transcription folder with its `segments.csv`.

    wearer: whose floor it is, or `most-speech`. row_seconds: exact decimal text. Raises UsageError, TurnsRefused.
    """
    if rule not in RULES:
        raise UsageError(
            "there is no such rule",
            expected=" or ".join(RULES),
            found=rule,
            where="--rule",
            hint=f"evalframe floor rasterize ... --rule {RULES[0]}",
        )
    row_us = microseconds(_ROW_SECONDS.canonical(row_seconds), "--row-seconds")
    speeches, mapped = _read([Path(path) for path in listed(turns)])
    wearers = [_wearer(one, wearer, row_us) for one in speeches]
    out = Path(output_dir)
    rows, segments = [], []
    for speech, who in zip(speeches, wearers, strict=True):
        raster = floor_raster.rasterize(speech, who, row_us, rule)
        write_bytes(out / f"{raster.session}.npy", _npy(raster.target), force=force)
        segments += [(raster.session, segment) for segment in raster.segments]
        rows.append(
            {
                "session": raster.session,
                "wearer": raster.wearer,
                "n_rows": len(raster.target),
                "n_wearer": int(raster.target[:, 1].sum()),
                "n_others": int(raster.target[:, 2].sum()),
                "n_segments": len(raster.segments),
            }
        )
    if mapped:
        write_text(out / "segments.csv", drawing.csv(_segments(segments)), force=force)
    return Written(pa.Table.from_pylist(rows))


def _read(paths: Sequence[Path]) -> tuple[list[Speech], bool]:
    """The speech of every session, and whether it comes with a map of what was recorded."""
    if len(paths) == 1 and paths[0].is_dir():
        return read_easycom(paths[0]), True
    if not paths or any(path.is_dir() for path in paths):
        raise UsageError(
            "these are no turns to rasterise",
            expected="RTTM files, or one EasyCom transcription folder",
            found=", ".join(map(str, paths)) or "nothing",
            where="TURNS",
            hint="evalframe floor rasterize a.rttm b.rttm --wearer most-speech --output-dir DIR",
        )
    return merged([one for path in paths for one in read_rttm(path)]), False


def _wearer(speech: Speech, wearer: str, row_us: int) -> str:
    """Whose floor it is. Raises TurnsRefused where nobody is, or where the session would have too many rows."""
    speakers = sorted({turn.speaker for turn in speech.turns})
    if not speakers or wearer not in (MOST_SPEECH, *speakers):
        raise TurnsRefused(
            f"nobody in session {speech.session} is {wearer}",
            expected=", ".join(speakers) or "one or more turns",
            found=wearer,
            where="--wearer",
            hint=f"evalframe floor rasterize ... --wearer {MOST_SPEECH}",
        )
    n_rows = max(turn.end for turn in speech.turns) // row_us
    if n_rows > MOST_ROWS:
        raise TurnsRefused(
            f"session {speech.session} would have too many rows",
            expected=f"a last turn within {MOST_ROWS} rows",
            found=f"{n_rows} rows of {row_us} microseconds",
            where="TURNS",
            hint="evalframe floor rasterize TURNS --wearer most-speech --row-seconds 0.2 --output-dir DIR",
        )
    return most_speech(speech.turns) if wearer == MOST_SPEECH else wearer


def _segments(segments: Sequence[tuple[str, Interval]]) -> pa.Table:
    rows = [(session, s.first, s.last - s.first + 1) for session, s in segments]
    return pa.table(
        {
            "session": pa.array([row[0] for row in rows], pa.large_string()),
            "first_row": pa.array([row[1] for row in rows], pa.int64()),
            "n_rows": pa.array([row[2] for row in rows], pa.int64()),
        }
    )


def _npy(array: NDArray[Any]) -> bytes:
    """The bytes that `numpy.save` writes."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
