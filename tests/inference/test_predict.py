"""Predictions: the order a decoder is given, the bits that come out, and that nothing is learnt on the way."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evalframe.errors import (
    CheckpointMismatch,
    ContractError,
    EvalframeError,
    LabelRefused,
    MissingField,
    ProtocolError,
)
from evalframe.inference.checkpoint import Loaded, load
from evalframe.inference.predict import digest_of_state, predict, run_one_batch
from evalframe.sources.signals import read_windows
from tests.inference.models import (
    CLASSES,
    ConvSequence,
    CrfSequence,
    GruSequence,
    MaskedSequence,
    WindowNet,
    export,
    metadata,
    save_state,
    seeded,
    windows,
    write,
)
from tests.inference.payloads import sound

SEQUENCE = "per_participant_sequence"


def predicted(loaded: Loaded, path: Path, **options: Any) -> list[int | None]:
    data = read_windows(path, run_id="r", classes=loaded.metadata.classes)
    return list(predict(loaded, data, **options).to_pylist())


def by_hand(module: torch.nn.Module, arrays: dict[str, Any]) -> list[int]:
    """What a sequence module says when each participant's windows are sorted by hand and put back."""
    out = np.zeros(len(arrays["y"]), int)
    for person in set(arrays["participant"]):
        rows = [i for i, who in enumerate(arrays["participant"]) if who == person]
        rows.sort(key=lambda i: arrays["time"][i])  # Python's sort is stable
        with torch.no_grad():
            x = torch.from_numpy(np.ascontiguousarray(arrays["X"][rows].swapaxes(1, 2)).astype(np.float32))[None]
            scores = module(x)[0]
        out[rows] = scores.argmax(-1) if scores.ndim == 2 else scores
    return out.tolist()


@pytest.fixture(scope="module")
def shuffled() -> dict[str, Any]:
    """Windows in no order, with times that tie."""
    arrays, rng = windows(60, people=3), np.random.default_rng(3)
    order = rng.permutation(60)
    arrays = {name: array if name == "classes" else array[order] for name, array in arrays.items()}
    arrays["time"] = np.round(arrays["time"] / 8)
    return arrays


def test_a_window_decoder_gives_each_window_its_own_answer(tmp_path: Path, shuffled: dict[str, Any]) -> None:
    module = seeded(1, WindowNet, 3)
    loaded = load(export(module, tmp_path / "w.pt2", metadata()))
    path = write(tmp_path / "x.npz", shuffled)
    with torch.no_grad():
        wanted = module(torch.from_numpy(shuffled["X"].swapaxes(1, 2).copy())).argmax(-1).tolist()
    assert predicted(loaded, path) == wanted
    assert predicted(loaded, path, batch_size=7) == wanted


@pytest.mark.parametrize("make", [ConvSequence, MaskedSequence, GruSequence, CrfSequence])
def test_a_sequence_decoder_is_given_windows_in_stable_chronological_order(
    make: type[torch.nn.Module], tmp_path: Path, shuffled: dict[str, Any]
) -> None:
    module = seeded(3, make, 3)
    path = write(tmp_path / "x.npz", shuffled)
    if make is ConvSequence:
        loaded = load(export(module, tmp_path / "s.pt2", metadata(SEQUENCE, time="dynamic")))
    elif make is MaskedSequence:
        loaded = load(export(module, tmp_path / "s.pt2", metadata(SEQUENCE, time=25), (1, 25, 6, 20)))
        module = module.inner  # type: ignore[assignment]
    else:
        factory = {GruSequence: "build_gru", CrfSequence: "build_crf"}[make]
        saved = save_state(module, tmp_path / "s.pt", metadata(SEQUENCE))
        loaded = load(saved, module=f"tests.inference.models:{factory}")
    wanted = by_hand(module, shuffled)
    assert predicted(loaded, path) == wanted
    assert len(set(wanted)) > 1


def test_seconds_and_ordinals_of_one_order_are_the_same_to_a_decoder(tmp_path: Path, shuffled: dict[str, Any]) -> None:
    loaded = load(export(seeded(2, ConvSequence, 3), tmp_path / "s.pt2", metadata(SEQUENCE)))
    seconds = predicted(loaded, write(tmp_path / "a.npz", shuffled))
    ordinals = {**shuffled, "time": np.argsort(np.argsort(shuffled["time"], kind="stable"), kind="stable")}
    reverse = {**shuffled, "time": -shuffled["time"]}
    assert predicted(loaded, write(tmp_path / "b.npz", ordinals)) == seconds
    assert predicted(loaded, write(tmp_path / "c.npz", reverse)) != seconds


def test_predicting_changes_no_weight_no_buffer_and_no_random_state(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npz", windows())
    for loaded in (
        load(sound(tmp_path)),
        load(
            save_state(seeded(2, GruSequence), tmp_path / "g.pt", metadata(SEQUENCE)),
            module="tests.inference.models:build_gru",
        ),
    ):
        torch.manual_seed(5)
        states = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
        before, modes = digest_of_state(loaded.state), torch.are_deterministic_algorithms_enabled()
        first = predicted(loaded, path)
        assert predicted(loaded, path) == first
        assert digest_of_state(loaded.state) == before
        assert torch.equal(torch.get_rng_state(), states[0])
        assert (np.random.get_state()[1].tolist(), random.getstate()) == states[1:]
        assert torch.are_deterministic_algorithms_enabled() is modes
        assert all(value.grad is None for value in loaded.state.values())


def test_loading_a_state_dict_draws_no_random_number_of_the_caller(tmp_path: Path) -> None:
    path = save_state(seeded(2, GruSequence), tmp_path / "g.pt", metadata(SEQUENCE))
    torch.manual_seed(5)
    before = torch.get_rng_state()
    load(path, module="tests.inference.models:build_gru")
    assert torch.equal(torch.get_rng_state(), before)


class Learner(WindowNet):
    """Batch normalisation that goes on learning: it is never put into evaluation mode."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.norm.train()
        return super().forward(x)


def build_learner() -> torch.nn.Module:
    return Learner(3)


def test_a_model_that_learns_while_it_predicts_is_refused(tmp_path: Path) -> None:
    path = save_state(seeded(1, Learner, 3), tmp_path / "l.pt", metadata())
    loaded = load(path, module="tests.inference.test_predict:build_learner")
    with pytest.raises(ProtocolError, match="changes its own"):
        predicted(loaded, write(tmp_path / "x.npz", windows()))


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_signals_of_every_width_are_taken(kind: str, tmp_path: Path) -> None:
    loaded = load(sound(tmp_path))
    arrays = windows()
    coarse = arrays["X"].astype(np.float16)  # a value of every width
    wanted = predicted(loaded, write(tmp_path / "a.npz", {**arrays, "X": coarse.astype(np.float32)}))
    assert predicted(loaded, write(tmp_path / "b.npz", {**arrays, "X": coarse.astype(kind)})) == wanted


def test_arrays_that_are_not_contiguous_are_the_same_arrays(tmp_path: Path) -> None:
    loaded = load(sound(tmp_path))
    arrays = windows()
    wanted = predicted(loaded, write(tmp_path / "a.npz", arrays))
    assert predicted(loaded, write(tmp_path / "b.npz", {**arrays, "X": np.asfortranarray(arrays["X"])})) == wanted


def test_the_layout_of_data_is_turned_to_the_checkpoints(tmp_path: Path) -> None:
    said = metadata(channels=6, length=20)
    loaded = load(export(seeded(1, WindowNet, 3), tmp_path / "w.pt2", said))
    arrays = windows()
    turned = write(tmp_path / "t.npz", {**arrays, "X": arrays["X"].swapaxes(1, 2)})
    straight = write(tmp_path / "s.npz", arrays)
    assert predicted(loaded, turned, layout="NCT") == predicted(loaded, straight, layout="NTC")
    with pytest.raises(CheckpointMismatch, match="shape") as refused:
        predicted(loaded, turned, layout="NTC")
    assert "--layout NCT" in refused.value.hint


def test_a_layout_that_only_the_model_can_tell_is_refused_by_the_model(tmp_path: Path) -> None:
    loaded = load(sound(tmp_path))
    with pytest.raises(CheckpointMismatch, match="does not take"):
        predicted(loaded, write(tmp_path / "s.npz", windows()), layout="NCT")


def nan(at: int = 17) -> dict[str, Any]:
    arrays = windows()
    arrays["X"][at, 3, 2] = np.nan
    return arrays


BAD: dict[str, tuple[dict[str, Any], type[EvalframeError], str]] = {
    "NaN signal": (nan(), ContractError, "17"),
    "infinite signal": (windows(X=np.full((48, 20, 6), np.inf, np.float32)), ContractError, "window 0"),
    "integers": (windows(X=np.zeros((48, 20, 6), int)), ContractError, "int64"),
    "two dimensions": (windows(X=np.zeros((48, 20), np.float32)), ContractError, "[48, 20]"),
    "fewer labels": (windows(y=np.zeros(47, int)), ContractError, "47"),
    "no participant": (windows(participant=None), MissingField, "participant"),
    "empty participant": (windows(participant=np.array([""] * 48)), ContractError, "row 0"),
    "NaN time": (windows(time=np.array([*range(47), np.nan])), ContractError, "row 47"),
    "no time": (windows(time=None), MissingField, "no times"),
    "no signals": (windows(X=None), MissingField, "X"),
    "label outside": (windows(y=np.full(48, 3)), LabelRefused, "3 in row 0"),
    "classes in another order": (windows(classes=np.array(["walk", "stand", "sit"])), LabelRefused, "walk"),
    "other number of classes": (windows(classes=np.array([*CLASSES, "run"])), LabelRefused, "4"),
}


@pytest.mark.parametrize(("arrays", "error", "told"), BAD.values(), ids=list(BAD))
def test_data_that_cannot_be_meant_are_refused(
    arrays: dict[str, Any], error: type[EvalframeError], told: str, tmp_path: Path, dynamic: Loaded
) -> None:
    with pytest.raises(error) as refused:
        predicted(dynamic, write(tmp_path / "x.npz", arrays))
    assert told in f"{refused.value.what} {refused.value.expected} {refused.value.found}"


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = tmp_path_factory.mktemp("dynamic")
    return load(export(seeded(2, ConvSequence, 3), folder / "s.pt2", metadata(SEQUENCE, time="dynamic")))


def test_a_checkpoint_that_yields_another_number_of_classes_is_refused(tmp_path: Path) -> None:
    loaded = load(export(seeded(1, WindowNet, 5), tmp_path / "w.pt2", metadata()))
    with pytest.raises(CheckpointMismatch, match="another number"):
        predicted(loaded, write(tmp_path / "x.npz", windows()))


def test_a_participant_longer_than_a_fixed_sequence_is_refused(tmp_path: Path) -> None:
    loaded = load(export(seeded(2, MaskedSequence, 3), tmp_path / "s.pt2", metadata(SEQUENCE, time=9)))
    with pytest.raises(CheckpointMismatch, match="more windows") as refused:
        predicted(loaded, write(tmp_path / "x.npz", windows()))
    assert "12 windows of participant 'p0'" in refused.value.found


class Undecided(torch.nn.Module):
    """Scores that are NaN where the first sample is negative, and equal elsewhere."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x[:, :1, 0] < 0, torch.nan, 1.0).expand(-1, 3)


def build_undecided() -> torch.nn.Module:
    return Undecided()


def test_of_equal_scores_the_first_class_is_taken_and_nan_is_a_failure(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "u.pt")
    save_state(Undecided(), tmp_path / "u.pt", metadata())
    loaded = load(tmp_path / "u.pt", module="tests.inference.test_predict:build_undecided")
    arrays = windows()
    arrays["X"][:, 0, 0] = np.where(np.arange(48) % 5 == 0, -1, 1)
    assert predicted(loaded, write(tmp_path / "x.npz", arrays)) == [None if i % 5 == 0 else 0 for i in range(48)]


def test_one_batch_runs_on_data_or_on_zeros_or_says_that_it_cannot(tmp_path: Path) -> None:
    program = load(sound(tmp_path))
    assert run_one_batch(program, None) == "zeros"
    data = read_windows(write(tmp_path / "x.npz", windows()), run_id="r")
    assert run_one_batch(program, data, batch_size=5) == "data"
    state = save_state(seeded(2, GruSequence), tmp_path / "g.pt", metadata(SEQUENCE))
    module = "tests.inference.models:build_gru"
    assert run_one_batch(load(state, module=module), None) is None
    save_state(seeded(2, GruSequence), tmp_path / "g.pt", metadata(SEQUENCE, channels=6, length=20))
    assert run_one_batch(load(state, module=module), None) == "zeros"


def test_no_windows_are_predicted_as_none(tmp_path: Path, dynamic: Loaded) -> None:
    arrays = windows()
    nothing = {name: array if name == "classes" else array[:0] for name, array in arrays.items()}
    assert predicted(dynamic, write(tmp_path / "x.npz", nothing)) == []
