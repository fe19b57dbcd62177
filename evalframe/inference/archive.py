"""Checkpoint files as ZIPs, looked at before torch is: known members only, stored and of honest sizes, no pickles.

`torch.export.load` falls back to unrestricted unpickling, loads compiled libraries, and evaluates text of the graph as
Python. A `.pt2` file is therefore opened here, member by member, and torch is given an archive written anew from what
was looked at: two readers that see two different ZIPs in one file cannot be played against each other.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from evalframe.contracts.json_values import parse_json
from evalframe.errors import CheckpointRefused
from evalframe.inference.program import unsafe_text, without_origins
from evalframe.sources.limits import from_environment
from evalframe.sources.npz import BROKEN, told_by

EXTRA = "extra/evalframe.json"
"""Member of a `.pt2` archive that says what the model takes and yields."""

SAMPLES = "data/sample_inputs/model.pt"
"""The inputs that a model was exported with: the one member that torch wrote with pickle."""

_MODEL = "models/model.json"
_WEIGHTS = "data/weights/model_weights_config.json"
_CONSTANTS = "data/constants/model_constants_config.json"

KNOWN = re.compile(
    r"archive_format|archive_version|byteorder|version|\.format_version|\.storage_alignment"
    r"|\.data/(?:version|serialization_id)|extra/[A-Za-z0-9_.-]+"
    rf"|{re.escape(_MODEL)}|{re.escape(SAMPLES)}"
    rf"|{re.escape(_WEIGHTS)}|data/weights/weight_[0-9]+"
    rf"|{re.escape(_CONSTANTS)}|data/constants/tensor_[0-9]+"
)
"""Members of a `.pt2` archive as torch.export.save writes it: no legacy `*.pt`, no custom object, no compiled code."""

_STATE = re.compile(
    r"data\.pkl|byteorder|version|\.format_version|\.storage_alignment|\.data/serialization_id|data/[0-9]+"
)
"""Members of a file that torch.save wrote."""

TRUST = "only for a file of your own: --trust-pickle"
"""What helps where a file could run code."""


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """What a checkpoint may ask for; raised by EVALFRAME_CHECKPOINT_MEMBERS and EVALFRAME_CHECKPOINT_BYTES.

    members: entries of the archive. bytes: all members together.
    """

    members: int = 4096
    bytes: int = 8 << 30


@dataclass(frozen=True)
class Checkpoint:
    """One opened checkpoint file. kind: `program` (.pt2) or `state` (a state dict). members: by name below the root.

    root: the folder that torch writes all members in; none in archives of an older layout.
    """

    kind: str
    members: Mapping[str, bytes]
    where: str
    root: str = "archive/"

    def rebuilt(self) -> io.BytesIO:
        """An archive of exactly these members, for torch to read."""
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
            for name, content in self.members.items():
                archive.writestr(zipfile.ZipInfo(self.root + name), content)
        made.seek(0)
        return made


def read_checkpoint(file: IO[bytes], where: str, *, trust: bool = False) -> Checkpoint:
    """The members of an open checkpoint file. trust: take what could run code, so long as the sizes are honest.

    Raises CheckpointRefused, and nothing was loaded then: no ZIP, too large, a compressed or unknown member, a pickle
    where raw bytes are expected, text in the graph that torch would evaluate as more than shapes.
    """
    try:
        size = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            _check_sizes(infos, size, where)
            legacy = trust and _layout_fault(infos) is not None
            named = _named(infos, where, legacy)
            members = {name: archive.read(info) for name, info in named.items()}
    except BROKEN as error:
        raise refused(where, "this is no readable checkpoint", "a ZIP that torch wrote", told_by(error)) from None
    kind = "state" if "data.pkl" in members else "program"
    checkpoint = Checkpoint(kind, members, where, "" if legacy else "archive/")
    if not trust:
        _check_members(checkpoint)
        if kind == "program":
            members[_MODEL] = json.dumps(without_origins(_json(checkpoint, _MODEL))).encode()
    return checkpoint


def refused(where: str, what: str, expected: str, found: str, hint: str = "") -> CheckpointRefused:
    """The refusal of a checkpoint file."""
    return CheckpointRefused(
        what, expected=expected, found=found[:300], where=where, hint=hint or f"unzip -v {shlex.quote(where)}"
    )


def _check_sizes(infos: list[zipfile.ZipInfo], size: int, where: str) -> None:
    limits = from_environment(CheckpointLimits(), "EVALFRAME_CHECKPOINT_")
    if len(infos) > limits.members:
        hint = f"export EVALFRAME_CHECKPOINT_MEMBERS={len(infos)}  # only for a file of your own"
        raise refused(where, "the archive has too many members", f"at most {limits.members}", str(len(infos)), hint)
    for info in infos:
        # torch never compresses, and a stored member cannot be larger than the file it stands in.
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1 or info.compress_size != info.file_size:
            raise refused(
                where,
                "a member is packed",
                "members stored as they are, as torch writes them",
                f"{info.filename}: {info.compress_size} bytes for {info.file_size}",
            )
    # An archive within an archive (sample inputs are one) must not pass for the whole when the end of the file is gone.
    if not infos or min(info.header_offset for info in infos) != 0:
        raise refused(where, "the archive does not begin where the file does", "a complete ZIP", "other bytes in front")
    total = sum(info.file_size for info in infos)
    if total > size:
        raise refused(where, "members overlap", f"at most the file's {size} bytes", f"{total} bytes declared")
    if total > limits.bytes:
        hint = f"export EVALFRAME_CHECKPOINT_BYTES={total}  # only for a file of your own"
        raise refused(where, "the checkpoint is too large", f"at most {limits.bytes} bytes", str(total), hint)


def _layout_fault(infos: list[zipfile.ZipInfo]) -> str | None:
    """What there is besides the one root folder that torch writes; None where there is just that."""
    bare = sorted(info.filename for info in infos if "/" not in info.filename)
    roots = {info.filename.partition("/")[0] for info in infos if "/" in info.filename}
    return ", ".join(bare[:5]) if bare else None if len(roots) == 1 else f"{len(roots)} folders"


def _named(infos: list[zipfile.ZipInfo], where: str, legacy: bool) -> dict[str, zipfile.ZipInfo]:
    """Members by their name below the root folder, or by their whole name in a trusted archive of an older layout."""
    fault = None if legacy else _layout_fault(infos)
    if fault is not None:
        raise refused(
            where,
            "the archive is of a legacy or unknown layout",
            "one folder that holds every member, as torch.export.save and torch.save write it",
            fault,
            TRUST,
        )
    named: dict[str, zipfile.ZipInfo] = {}
    lower: set[str] = set()
    for info in infos:
        name = info.filename if legacy else info.filename.partition("/")[2]
        if name.lower() in lower:
            raise refused(where, "a member stands twice", "each name once", name)
        lower.add(name.lower())
        named[name] = info
    return named


def _check_members(checkpoint: Checkpoint) -> None:
    known = KNOWN if checkpoint.kind == "program" else _STATE
    for name in checkpoint.members:
        if not known.fullmatch(name):
            raise refused(
                checkpoint.where,
                f"member {name} has no place in a checkpoint",
                "weights and constants as raw bytes, one graph, sample inputs, extra files"
                if checkpoint.kind == "program"
                else "data.pkl and the bytes of its tensors",
                name,
                TRUST,
            )
    if checkpoint.kind == "state":
        return
    for config in (_WEIGHTS, _CONSTANTS):
        _check_config(checkpoint, config)
    graph = _json(checkpoint, _MODEL)
    if (found := unsafe_text(graph)) is not None:
        raise refused(
            checkpoint.where,
            "the graph holds text that torch would evaluate",
            "ATen operators, names, and arithmetic over shapes",
            found,
            TRUST,
        )


def _check_config(checkpoint: Checkpoint, name: str) -> None:
    """Every payload is raw bytes in a member of the archive; none is a pickle."""
    config = _json(checkpoint, name)
    payloads = config.get("config") if isinstance(config, dict) else None
    if not isinstance(payloads, dict):
        raise refused(checkpoint.where, f"{name} lists no payloads", '{"config": {...}}', str(config))
    folder = name.rpartition("/")[0]
    for title, payload in payloads.items():
        path = payload.get("path_name") if isinstance(payload, dict) else None
        if not isinstance(path, str) or payload.get("use_pickle") is not False:
            raise refused(
                checkpoint.where,
                f"{title} is a pickle",
                "raw bytes (use_pickle: false): a pickle can run any code",
                f"{name}: {payload}",
                TRUST,
            )
        if not KNOWN.fullmatch(f"{folder}/{path}") or f"{folder}/{path}" not in checkpoint.members:
            raise refused(checkpoint.where, f"the bytes of {title} are not there", f"a member of {folder}/", path)


def _json(checkpoint: Checkpoint, name: str) -> Any:
    if name not in checkpoint.members:
        raise refused(checkpoint.where, "the archive is of a legacy or unknown layout", f"a member {name}", "none")
    try:
        return parse_json(checkpoint.members[name])
    except ValueError as error:
        raise refused(checkpoint.where, f"{name} is no JSON", "one JSON value", told_by(error)) from None
