"""What a checkpoint says of itself: its classes in order, how it wants a window, whether it reads windows or sequences.

    {"classes": ["sit", "walk"], "layout": "NCT", "decoder": "per_window"}
    {"classes": [...], "layout": "NTC", "decoder": "per_participant_sequence", "time": "dynamic"}

It stands in the archive's extra file `evalframe.json`, or beside the checkpoint as `<checkpoint>.json`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from evalframe.contracts.json_values import parse_json
from evalframe.errors import MetadataRefused
from evalframe.inference.archive import EXTRA, Checkpoint
from evalframe.sources.fields import unreadable
from evalframe.sources.vocabulary import Vocabulary

Layout = Literal["NTC", "NCT"]
Decoder = Literal["per_window", "per_participant_sequence"]

_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "decoder": get_args(Decoder),
    "dtype": ("float32", "float64", "float16"),
}


@dataclass(frozen=True)
class Metadata:
    """layout: axes of a batch of windows (window, time, channel). decoder: what one call predicts. time: windows of a
    sequence, `dynamic` or a number; then the model also takes a mask. channels, length: the C and T it was fitted on,
    None where it does not say. dtype: what signals are converted to."""

    classes: tuple[str, ...]
    layout: Layout
    decoder: Decoder
    time: int | Literal["dynamic"] = "dynamic"
    channels: int | None = None
    length: int | None = None
    dtype: str = "float32"

    def to_json(self) -> dict[str, Any]:
        """The metadata as a JSON object."""
        return {**asdict(self), "classes": list(self.classes)}


def metadata_of(checkpoint: Checkpoint, path: Path) -> Metadata:
    """What the checkpoint at `path` says of itself. Raises MetadataRefused; also where both places speak and differ."""
    beside = path.with_name(path.name + ".json")
    said = []
    if EXTRA in checkpoint.members:
        said.append((_parsed(checkpoint.members[EXTRA], f"{path}: {EXTRA}"), f"{path}: {EXTRA}"))
    if beside.is_file():
        try:
            said.append((_parsed(beside.read_bytes(), str(beside)), str(beside)))
        except OSError as error:
            raise unreadable(beside, error) from None
    if not said:
        raise _refuse(
            str(path), "the checkpoint does not say what it takes", f"{EXTRA} in it, or {beside.name}", "neither"
        )
    if said[0][0] != said[-1][0]:
        raise _refuse(str(beside), "archive and file say different things", str(said[0][0]), str(said[1][0]))
    return _checked(*said[0])


def _parsed(content: bytes, where: str) -> Any:
    try:
        return parse_json(content)
    except ValueError as error:  # also bytes that are no UTF-8
        raise _refuse(where, "the metadata is no JSON", "one JSON object", str(error)) from None


def _checked(said: Any, where: str) -> Metadata:
    if not isinstance(said, dict):
        raise _refuse(where, "the metadata is no object", '{"classes": [...], ...}', repr(said))
    said = _with_decoder(said)
    known = Metadata.__dataclass_fields__
    if unknown := sorted(set(said) - set(known)):
        raise _refuse(where, f"{unknown[0]} means nothing here", ", ".join(known), ", ".join(unknown))
    if missing := [name for name in ("classes", "layout", "decoder") if name not in said]:
        raise _refuse(where, f"the metadata lacks {missing[0]}", "classes, layout, decoder", ", ".join(sorted(said)))
    for name, allowed in _ALLOWED.items():
        if name in said and said[name] not in allowed:
            raise _refuse(where, f"{name} has no such value", " or ".join(allowed), repr(said[name]))
    for name in ("channels", "length"):
        if said.get(name) is not None and not _is_count(said[name]):
            raise _refuse(where, f"{name} is no count", "a positive integer", repr(said[name]))
    if said.get("time", "dynamic") != "dynamic" and not _is_count(said["time"]):
        raise _refuse(where, "time is neither", "dynamic, or a positive number of windows", repr(said["time"]))
    classes = said["classes"]
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise _refuse(where, "classes are not named", "a list of text, in the order of the outputs", repr(classes))
    return Metadata(**{**said, "classes": Vocabulary(classes, where).names})


def _with_decoder(said: dict[str, Any]) -> dict[str, Any]:
    """What is said, with what one call predicts under `decoder`: its two words say it under any other name too."""
    names = [name for name, value in said.items() if value in get_args(Decoder)]
    if "decoder" in said or len(names) != 1:
        return said
    return {"decoder" if name == names[0] else name: value for name, value in said.items()}


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def _refuse(where: str, what: str, expected: str, found: str) -> MetadataRefused:
    file = shlex.quote(where.partition(": ")[0])
    hint = f"unzip -p {file} '*/{EXTRA}'" if where.endswith(EXTRA) else f"python -m json.tool {file}"
    return MetadataRefused(what, expected=expected, found=found[:300], where=where, hint=hint)
