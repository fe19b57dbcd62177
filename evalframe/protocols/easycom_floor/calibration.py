"""Who calibrates whom: the folds of an evaluation, and the guard that keeps evaluated sessions out of calibration."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evalframe.errors import CalibrationLeak, CalibrationMissing, FileUnreadable, FoldsRefused, UsageError
from evalframe.identity import canonical_json

Mode = Literal["calibrated", "cross_fitted", "in_sample"]

IN_SAMPLE_TAINT = "in_sample_thresholds"
"""Why results in mode `in_sample` are not results: thresholds were chosen on the sessions they are reported on."""

_HINT = (
    "evalframe floor evaluate ... --calibration-sessions Session_12"
    "  (exploratory only: --allow-in-sample-test-thresholds)"
)
_FOLDS_HINT = "echo 'folds: [{evaluate: [Session_4], calibrate: [Session_5, Session_6]}]' > folds.yaml"


@dataclass(frozen=True, slots=True)
class Fold:
    """Sessions evaluated together and the sessions that choose their thresholds."""

    name: str
    evaluate: tuple[str, ...]
    calibrate: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The folds of an evaluation. Without cross-fitting there is one, named by empty text."""

    mode: Mode
    folds: tuple[Fold, ...]

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Every evaluated session, in the order of the folds."""
        return tuple(session for fold in self.folds for session in fold.evaluate)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Every calibration session, sorted."""
        return tuple(sorted({session for fold in self.folds for session in fold.calibrate}))

    @property
    def taint(self) -> str | None:
        """Why the numbers are no result; None where they are one."""
        return IN_SAMPLE_TAINT if self.mode == "in_sample" else None

    def parameters(self) -> dict[str, str]:
        """What enters the fingerprint of everything that depends on a threshold."""
        if self.mode == "cross_fitted":
            folds = [{"calibrate": sorted(f.calibrate), "evaluate": sorted(f.evaluate)} for f in self.folds]
            text = canonical_json(sorted(folds, key=canonical_json))
        else:
            text = canonical_json(self.sessions)
        return {"calibration_mode": self.mode, "calibration_sessions": text}


def calibrated(sessions: Sequence[str], calibration: Sequence[str], official: Sequence[str]) -> Calibration:
    """Thresholds from `calibration`, results on `sessions`.

    Raises CalibrationMissing without calibration sessions and CalibrationLeak where one is evaluated or official.
    """
    if not calibration:
        raise CalibrationMissing(
            "no calibration session is named",
            expected="training-side sessions that choose the thresholds",
            found="none",
            where="--calibration-sessions",
            hint=_HINT,
        )
    _refuse_leak([s for s in calibration if s in set(sessions)], "outside the evaluated ones")
    _refuse_leak([s for s in calibration if s in set(official)], f"outside the official {', '.join(official)}")
    return Calibration("calibrated", (Fold("", _once(sessions), _once(calibration)),))


def in_sample(sessions: Sequence[str]) -> Calibration:
    """Thresholds from the evaluated sessions themselves: exploratory, and tainted for good."""
    return Calibration("in_sample", (Fold("", _once(sessions), _once(sessions)),))


def cross_fitted(folds: Sequence[Fold], sessions: Sequence[str], official: Sequence[str]) -> Calibration:
    """Thresholds of each fold from its own calibration sessions.

    Raises FoldsRefused unless every session is evaluated in exactly one fold, CalibrationMissing for a fold that
    calibrates on nothing, and CalibrationLeak where a fold calibrates on what it evaluates or on an official session.
    """
    places = [session for fold in folds for session in fold.evaluate]
    for session in dict.fromkeys([*places, *sessions]):
        if places.count(session) != 1 or session not in sessions:
            raise FoldsRefused(
                f"session {session} is not evaluated in exactly one fold",
                expected=f"each of {', '.join(sessions)} once under `evaluate`, and no other",
                found=f"{places.count(session)} times" + ("" if session in sessions else ", and not in --sessions"),
                where="--cross-fit",
                hint=_FOLDS_HINT,
            )
    for fold in folds:
        if not fold.calibrate:
            raise CalibrationMissing(
                f"fold {fold.name} calibrates on nothing",
                expected="one or more sessions under `calibrate`",
                found="none",
                where="--cross-fit",
                hint=_FOLDS_HINT,
            )
        _refuse_leak(
            [s for s in fold.calibrate if s in fold.evaluate],
            f"outside what fold {fold.name} evaluates",
            "--cross-fit",
            _FOLDS_HINT,
        )
        _refuse_leak(
            [s for s in fold.calibrate if s in set(official)],
            f"outside the official {', '.join(official)}",
            "--cross-fit",
            _FOLDS_HINT,
        )
    return Calibration("cross_fitted", tuple(folds))


def read_folds(path: Path) -> tuple[Fold, ...]:
    """The folds of a YAML file: `folds: [{evaluate: [S..], calibrate: [S..]}]`, named 1, 2, ... in its order."""
    import yaml

    from evalframe.contracts import yaml_text

    try:
        content = yaml_text.parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FileUnreadable(
            f"{path.name} cannot be read",
            expected="YAML in UTF-8",
            found=" ".join(str(error).split()),
            where=str(path),
            hint=_FOLDS_HINT,
        ) from None
    folds = content.get("folds") if isinstance(content, Mapping) and set(content) == {"folds"} else None
    if not isinstance(folds, list) or not folds or not all(map(_is_fold, folds)):
        raise FoldsRefused(
            f"{path.name} does not say who calibrates whom",
            expected="folds: [{evaluate: [names], calibrate: [names]}], names as text, each once in its list",
            found=_shortened(content),
            where=str(path),
            hint=_FOLDS_HINT,
        )
    return tuple(
        Fold(str(number), *(tuple(map(_nfc, fold[role])) for role in ("evaluate", "calibrate")))
        for number, fold in enumerate(folds, 1)
    )


def official_sessions(setting: str) -> tuple[str, ...]:
    """The protocol parameter `official_test_sessions` as names. Raises UsageError where it is no JSON list of text."""
    try:
        names = json.loads(setting)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            "official_test_sessions is no JSON list of names",
            expected='["Session_1","Session_2","Session_3"]',
            found=setting,
            where="--set official_test_sessions",
            hint="evalframe floor evaluate ... --set 'official_test_sessions=[\"Session_1\"]'",
        )
    return tuple(map(_nfc, names))


def _nfc(name: str) -> str:
    """A session's name as it is known elsewhere: in another spelling it would pass the guard unseen."""
    return unicodedata.normalize("NFC", name)


def _is_fold(fold: Any) -> bool:
    if not isinstance(fold, Mapping) or set(fold) != {"evaluate", "calibrate"}:
        return False
    lists = (fold["evaluate"], fold["calibrate"])
    return all(
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and len(set(map(_nfc, names))) == len(names)
        for names in lists
    )


def _once(sessions: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sessions))


def _shortened(content: Any) -> str:
    text = repr(content)
    return text if len(text) <= 200 else text[:199] + "…"


def _refuse_leak(leaked: Sequence[str], rule: str, where: str = "--calibration-sessions", hint: str = _HINT) -> None:
    if leaked:
        raise CalibrationLeak(
            "calibration uses sessions it must not",
            expected=f"calibration sessions {rule}",
            found=", ".join(dict.fromkeys(leaked)),
            where=where,
            hint=hint,
        )
