"""No checkpoint runs code by being loaded. Each archive here holds a payload that would create a file."""

from __future__ import annotations

import contextlib
import logging
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from evalframe.errors import CheckpointRefused
from evalframe.inference.archive import read_checkpoint
from evalframe.inference.checkpoint import load
from tests.inference import payloads

Door = Callable[[Path, Path], Path]


def named(door: Door) -> str:
    return door.__name__


@pytest.mark.parametrize("door", payloads.DOORS, ids=named)
def test_an_archive_with_a_payload_is_refused_before_torch_reads_it(door: Door, tmp_path: Path) -> None:
    target = tmp_path / "created"
    archive = door(tmp_path, target)
    with pytest.raises(CheckpointRefused) as refused:
        load(archive)
    assert not target.exists()
    assert refused.value.exit_code == 2
    assert refused.value.where == str(archive)


@pytest.mark.parametrize("door", payloads.OPEN_DOORS, ids=named)
def test_the_door_is_real(door: Door, tmp_path: Path) -> None:
    """Handed to torch as it is, the same archive creates the file: what is refused is no mere oddity."""
    target = tmp_path / "created"
    archive = door(tmp_path, target)
    logging.getLogger("torch.export").setLevel(logging.CRITICAL + 1)
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        torch.export.load(archive).module()(torch.zeros(4, 6, 20))
    assert target.exists()


def test_a_state_dict_is_loaded_as_weights_alone(tmp_path: Path) -> None:
    target = tmp_path / "created"
    archive = payloads.state_dict(tmp_path, target)
    with pytest.raises(CheckpointRefused, match="weights alone"):
        load(archive, module="tests.inference.models:build_gru")
    assert not target.exists()


def test_trust_lets_a_file_of_your_own_run(tmp_path: Path) -> None:
    target = tmp_path / "created"
    archive = payloads.sample_inputs(tmp_path, target)
    with contextlib.suppress(CheckpointRefused):
        load(archive, trust_pickle=True)
    assert target.exists()


def test_trust_hands_an_older_layout_to_torch_as_it_is(tmp_path: Path) -> None:
    with (payloads.legacy_layout(tmp_path, tmp_path / "created")).open("rb") as file:
        checkpoint = read_checkpoint(file, "model.pt2", trust=True)
    with zipfile.ZipFile(checkpoint.rebuilt()) as again:
        assert "serialized_state_dict.pt" in again.namelist()


def test_a_sound_archive_is_let_in(tmp_path: Path) -> None:
    loaded = load(payloads.sound(tmp_path))
    assert loaded.metadata.classes == ("sit", "stand", "walk")
    assert loaded.sample_shape == (4, 6, 20)
