"""Who spoke from when to when: RTTM files and EasyCom transcription folders -> turns in whole microseconds."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalframe.errors import TurnsRefused
from evalframe.sources.fields import file_sha256, unreadable
from evalframe.sources.floor_sessions import checked_name

MICROSECONDS = 1_000_000
EASYCOM_FRAME = MICROSECONDS // 20
"""EasyCom video runs at 20 frames a second."""

EASYCOM_FILE = 60 * MICROSECONDS
"""EasyCom sessions are cut into files of one minute; where one was redacted, the next file is later."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One person speaks from `start` to `end` (not included), in microseconds of the session."""

    speaker: str
    start: int
    end: int


@dataclass(frozen=True)
class Speech:
    """The turns of one session. recorded: stretches that were recorded, None where the whole session was."""

    session: str
    turns: tuple[Turn, ...]
    recorded: tuple[tuple[int, int], ...] | None
    digests: Mapping[str, str]


def read_rttm(path: Path) -> list[Speech]:
    """The SPEAKER lines of an RTTM file, by the recording they name. Raises TurnsRefused naming the line."""
    turns: dict[str, list[Turn]] = {}
    for number, line in enumerate(_text(path).splitlines(), 1):
        words = line.split()
        if not words or words[0] != "SPEAKER":
            continue
        if len(words) < 8:
            raise _refuse(path, f"line {number} is cut off", "SPEAKER file channel onset duration <NA> <NA> name", line)
        start, length = (_microseconds(path, number, word) for word in words[3:5])
        session = checked_name(words[1], f"{path} line {number}")
        turns.setdefault(session, []).append(Turn(words[7], start, start + length))
    if not turns:
        raise _refuse(path, "there is no SPEAKER line", "an RTTM file", "none")
    return [Speech(session, tuple(some), None, {path.name: file_sha256(path)}) for session, some in turns.items()]


def read_easycom(folder: Path) -> list[Speech]:
    """An EasyCom `Speech_Transcriptions` folder: `<session>/mm-ss-SSS.json`, the name being where the file begins.

    Frames count from 0 at 20 a second, first and last included. Raises TurnsRefused.
    """
    sessions = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    # A session's own folder is taken as well as the folder of all sessions.
    found = [_easycom_session(path) for path in sessions or [folder] if any(path.glob("*.json"))]
    if not found:
        raise _refuse(folder, "there are no transcriptions", "<session>/mm-ss-SSS.json", "none")
    return found


def _easycom_session(folder: Path) -> Speech:
    turns: list[Turn] = []
    recorded: list[tuple[int, int]] = []
    digests: dict[str, str] = {}
    for path in sorted(folder.glob("*.json"), key=_begins):
        start = _begins(path)
        own = [_easycom_turn(path, start, item) for item in _items(path)]
        turns += own
        recorded.append((start, max([start + EASYCOM_FILE, *(turn.end for turn in own)])))
        digests[f"{folder.name}/{path.name}"] = file_sha256(path)
    return Speech(checked_name(folder.name, str(folder)), tuple(turns), tuple(recorded), digests)


def _begins(path: Path) -> int:
    match = re.fullmatch(r"(\d\d+)-([0-5]\d)-(\d\d\d)", path.stem, re.ASCII)
    if match is None:
        raise _refuse(path, f"{path.name} does not say when it begins", "mm-ss-SSS.json", path.name)
    minutes, seconds, milliseconds = map(int, match.groups())
    return ((minutes * 60 + seconds) * 1000 + milliseconds) * 1000


def _items(path: Path) -> list[Mapping[str, Any]]:
    try:
        items = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        found = "a Git LFS pointer" if _text(path).startswith("version https://git-lfs") else str(error)
        raise _refuse(path, f"{path.name} is no JSON", "a list of transcriptions", found) from None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _refuse(path, f"{path.name} is no list of transcriptions", "a list of objects", type(items).__name__)
    return items


def _easycom_turn(path: Path, begins: int, item: Mapping[str, Any]) -> Turn:
    first, last, who = item.get("Start_Frame"), item.get("End_Frame"), item.get("Participant_ID")
    # bool is an int to isinstance; a frame number is not one.
    if type(first) is not int or type(last) is not int or not 0 <= first <= last or type(who) not in (int, str):
        raise _refuse(
            path,
            f"a transcription of {path.name} has no frames",
            "whole Start_Frame <= End_Frame and a Participant_ID",
            str({name: item.get(name) for name in ("Participant_ID", "Start_Frame", "End_Frame")}),
        )
    return Turn(str(who), begins + first * EASYCOM_FRAME, begins + (last + 1) * EASYCOM_FRAME)


def most_speech(turns: Iterable[Turn]) -> str:
    """Who speaks longest, overlapping turns of one person counted once; of equals, the first by name."""
    spoken: dict[str, int] = {}
    until: dict[str, int] = {}
    for turn in sorted(turns, key=lambda turn: turn.start):
        new = max(0, turn.end - max(turn.start, until.get(turn.speaker, 0)))
        spoken[turn.speaker] = spoken.get(turn.speaker, 0) + new
        until[turn.speaker] = max(turn.end, until.get(turn.speaker, 0))
    return min(spoken, key=lambda speaker: (-spoken[speaker], speaker))


def merged(speeches: Sequence[Speech]) -> list[Speech]:
    """Speech of one session that several files hold, put together; sorted by session."""
    found: dict[str, Speech] = {}
    for one in speeches:
        known = found.get(one.session)
        found[one.session] = (
            one
            if known is None
            else Speech(one.session, known.turns + one.turns, known.recorded, {**known.digests, **one.digests})
        )
    return [found[session] for session in sorted(found)]


def _microseconds(path: Path, number: int, word: str) -> int:
    """A time in seconds, exactly; what is finer than a microsecond is refused rather than rounded."""
    try:
        value = Decimal(word) * MICROSECONDS
        exact = value == int(value) and 0 <= value < 10**15
    except (ArithmeticError, ValueError):  # no number, not finite, or beyond what a decimal can say
        exact = False
    if not exact:
        raise _refuse(path, f"line {number} has no time in seconds", "0 or more, in whole microseconds", word)
    return int(value)


def _text(path: Path) -> str:
    """The file as UTF-8, or as Latin-1 where it is not: names and words may hold accents in either."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _refuse(path: Path, what: str, expected: str, found: str) -> TurnsRefused:
    return TurnsRefused(
        what, expected=expected, found=found[:200], where=str(path), hint=f"head {shlex.quote(str(path))}"
    )
