"""Checkpoint files that lie about their size, are cut off, or are something else; limits that can be raised."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from evalframe.errors import (
    CheckpointRefused,
    DigestMismatch,
    EvalframeError,
    FileUnreadable,
    MetadataRefused,
    UsageError,
)
from evalframe.inference.archive import read_checkpoint
from evalframe.inference.checkpoint import load
from tests.inference.models import CLASSES, WindowNet, build_gru, metadata, save_state, seeded
from tests.inference.payloads import rewritten, sound, zipped


def packed(folder: Path) -> Path:
    """Ten megabytes of zeros in ten kilobytes."""
    return zipped(folder / "model.pt2", {"model/data/weights/weight_0": bytes(10 << 20)}, zipfile.ZIP_DEFLATED)


def overlapping(folder: Path) -> Path:
    """Two members that are the same bytes of the file: the directory's second entry points to the first's."""
    path = zipped(folder / "model.pt2", {f"model/data/weights/weight_{n}": bytes(4096) for n in range(3)})
    content = bytearray(path.read_bytes())
    entries = [i for i in range(len(content)) if content[i : i + 4] == b"PK\1\2"]
    first = content[entries[0] + 42 : entries[0] + 46]
    for entry in entries[1:]:
        content[entry + 42 : entry + 46] = first
    path.write_bytes(bytes(content[: 4096 + 100]) + bytes(content[entries[0] :]))
    return path


def overstated(folder: Path) -> Path:
    """A member that is said to be a terabyte."""
    path = zipped(folder / "model.pt2", {"model/data/weights/weight_0": bytes(16)})
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\1\2")
    content[entry + 20 : entry + 28] = struct.pack("<II", 0xFFFFFF00, 0xFFFFFF00)
    path.write_bytes(bytes(content))
    return path


def twice(folder: Path) -> Path:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("model/version", b"3")
        file.writestr("model/VERSION", b"4")
    (folder / "model.pt2").write_bytes(made.getvalue())
    return folder / "model.pt2"


def cut(folder: Path) -> Path:
    path = sound(folder)
    path.write_bytes(path.read_bytes()[:-200])
    return path


def no_zip(folder: Path) -> Path:
    (folder / "model.pt2").write_bytes(b"\x80\x02}q\x00.")
    return folder / "model.pt2"


def empty(folder: Path) -> Path:
    (folder / "model.pt2").write_bytes(b"")
    return folder / "model.pt2"


def flipped(folder: Path) -> Path:
    """One byte of a weight is another: the checksum tells."""
    path = sound(folder)
    with zipfile.ZipFile(path) as file:
        at = file.getinfo("model/data/weights/weight_0").header_offset + 200
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(bytes(content))
    return path


BROKEN = (packed, overlapping, overstated, twice, cut, no_zip, empty, flipped)


@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
@pytest.mark.parametrize("trust", [False, True], ids=["unknown", "trusted"])
def test_a_file_that_lies_or_is_broken_is_refused(make: Callable[[Path], Path], trust: bool, tmp_path: Path) -> None:
    with pytest.raises(CheckpointRefused):
        load(make(tmp_path), trust_pickle=trust)


def test_members_and_bytes_are_limited_and_the_limits_can_be_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = sound(tmp_path)
    monkeypatch.setenv("EVALFRAME_CHECKPOINT_MEMBERS", "3")
    with pytest.raises(CheckpointRefused, match="too many members") as refused:
        load(archive)
    assert "EVALFRAME_CHECKPOINT_MEMBERS" in refused.value.hint
    monkeypatch.setenv("EVALFRAME_CHECKPOINT_MEMBERS", "100")
    monkeypatch.setenv("EVALFRAME_CHECKPOINT_BYTES", "1000")
    with pytest.raises(CheckpointRefused, match="too large"):
        load(archive)
    monkeypatch.setenv("EVALFRAME_CHECKPOINT_BYTES", "10000000")
    assert load(archive).metadata.classes == CLASSES
    monkeypatch.setenv("EVALFRAME_CHECKPOINT_BYTES", "lots")
    with pytest.raises(UsageError):
        load(archive)


def test_torch_is_given_what_was_looked_at(tmp_path: Path) -> None:
    """A copy without notes on where nodes came from. Bytes in front, which another reader might read, are refused."""
    archive = sound(tmp_path)
    whole = archive.read_bytes()
    with archive.open("rb") as file:
        checkpoint = read_checkpoint(file, str(archive))
    with zipfile.ZipFile(checkpoint.rebuilt()) as again:
        assert len(again.namelist()) == len(checkpoint.members)
        graph = json.loads(again.read("archive/models/model.json"))
    assert all(node["metadata"] == {} for node in graph["graph_module"]["graph"]["nodes"])
    archive.write_bytes(b"something in front" + whole)
    with pytest.raises(CheckpointRefused, match="does not begin"):
        load(archive)


def test_the_digest_is_checked_before_anything_else(tmp_path: Path) -> None:
    with pytest.raises(DigestMismatch) as refused:
        load(no_zip(tmp_path), sha256="0" * 64)
    assert refused.value.exit_code == 5
    archive = sound(tmp_path)
    digest = load(archive).sha256
    assert load(archive, sha256=digest.upper()).sha256 == digest


def test_a_missing_checkpoint_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable):
        load(tmp_path / "none.pt2")


SAID: dict[str, object] = {
    "unknown key": {**metadata(), "colour": 1},
    "no classes": {"layout": "NCT", "decoder": "per_window"},
    "classes no list": {**metadata(), "classes": "sit"},
    "other layout": metadata(layout="TNC"),
    "other decoder": metadata(decoder="per_hour"),
    "time of zero": metadata(time=0),
    "channels true": metadata(channels=True),
    "no object": [1],
    "two decoders": {**metadata(), "mode": "per_participant_sequence"},
}


@pytest.mark.parametrize("said", SAID.values(), ids=list(SAID))
def test_metadata_that_cannot_be_meant_are_refused(said: object, tmp_path: Path) -> None:
    archive = rewritten(sound(tmp_path), lambda m: m.update({"extra/evalframe.json": json.dumps(said).encode()}))
    with pytest.raises(MetadataRefused):
        load(archive)


def test_the_word_for_what_a_call_predicts_is_known_under_any_name(tmp_path: Path) -> None:
    said = metadata("per_participant_sequence")
    said["prediction"] = said.pop("decoder")
    archive = rewritten(sound(tmp_path), lambda m: m.update({"extra/evalframe.json": json.dumps(said).encode()}))
    assert load(archive).metadata.decoder == "per_participant_sequence"


def test_metadata_may_stand_beside_the_archive_and_must_then_agree(tmp_path: Path) -> None:
    archive = rewritten(sound(tmp_path), lambda members: members.pop("extra/evalframe.json"))
    with pytest.raises(MetadataRefused, match="does not say"):
        load(archive)
    beside = tmp_path / "model.pt2.json"
    beside.write_text(json.dumps(metadata()))
    assert load(archive).metadata.layout == "NCT"
    sound(tmp_path)
    beside.write_text(json.dumps(metadata(layout="NTC")))
    with pytest.raises(MetadataRefused, match="different things"):
        load(archive)


def test_a_state_dict_needs_the_module_that_it_fits(tmp_path: Path) -> None:
    path = save_state(build_gru(), tmp_path / "gru.pt", metadata("per_participant_sequence"))
    with pytest.raises(UsageError, match="no model"):
        load(path)
    with pytest.raises(UsageError, match="cannot be imported"):
        load(path, module="tests.inference.models:nothing")
    with pytest.raises(CheckpointRefused, match="does not fit"):
        load(path, module="tests.inference.models:build_crf")
    assert load(path, module="tests.inference.models:build_gru").sample_shape is None


def test_a_file_of_something_else_is_no_state_dict(tmp_path: Path) -> None:
    path = save_state(seeded(1, WindowNet, 3), tmp_path / "x.pt", metadata())
    torch.save([1, 2, 3], path)
    with pytest.raises(CheckpointRefused, match="no state dict"):
        load(path, module="tests.inference.models:build_gru")


def test_a_device_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EvalframeError) as refused:
        load(sound(tmp_path), device="cuda:99")
    assert refused.value.where == "--device"
