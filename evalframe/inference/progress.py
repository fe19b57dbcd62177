"""What a progress predictor is: the one thing a user writes to have their model evaluated.

A factory is named on the command line as `module:factory` and called once per checkpoint. What it returns is asked
about prefixes of videos, several at a time:

    class MyModel:
        def predict(self, queries):
            return [(progress, success_probability) for query in queries]

    def factory(checkpoint, *, device, robometer_repo):
        return MyModel(...)

A query holds what the model may see: frames and a task. It holds no label, no target and no id.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evalframe.errors import EvalframeError, PredictorRefused


@dataclass(frozen=True, slots=True)
class Query:
    """One prefix of one video, for one task.

    frames: uint8 (8, H, W, 3), spread over the prefix, the last being its last frame; a prefix of fewer frames repeats
    its last one. n_frames: how many of the eight are frames of their own.
    """

    task: str
    frames: NDArray[np.uint8]
    n_frames: int


class Predictor(Protocol):
    """One loaded checkpoint."""

    def predict(self, queries: Sequence[Query]) -> Sequence[tuple[float, float]]:
        """(progress, success probability) after the last frame of each query, in their order.

        The same queries must give the same numbers, or an interrupted evaluation cannot be resumed to the same bytes.
        Videos of one batch may differ in height and width. An exception fails the trajectories of the batch that raise
        when they are asked about alone; so do NaN, infinities and probabilities outside [0, 1].
        """


class Factory(Protocol):
    """Makes a predictor of a checkpoint folder."""

    def __call__(self, checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Predictor:
        """checkpoint: the folder, read only. device: as the user wrote it. robometer_repo: the user's checkout."""


def load_factory(name: str) -> Factory:
    """The factory that `module:factory` names; modules are looked for as Python does, and in the current folder.

    Raises PredictorRefused where the text has another form, the module cannot be imported or holds no such callable.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise _refused(name, "is not of the form module:factory", name or "nothing")
    try:
        with _current_folder():
            module = import_module(module_name)
    except Exception as error:
        refused = _refused(name, "cannot be imported", f"{type(error).__name__}: {error}")
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            refused.hint = "pip install 'evalframe[torch]'"
        raise refused from error
    found = getattr(module, attribute, None)
    if not callable(found):
        kind = "nothing of that name" if found is None else type(found).__name__
        raise _refused(name, "is not callable", f"{kind} in {module_name}")
    factory: Factory = found
    return factory


def load_predictor(factory: Factory, checkpoint: Path, *, device: str, robometer_repo: Path | None) -> Predictor:
    """What the factory makes of a checkpoint. Raises PredictorRefused where it raises, or makes what cannot predict."""
    name = getattr(factory, "__qualname__", type(factory).__qualname__)
    try:
        made = factory(checkpoint, device=device, robometer_repo=robometer_repo)
    except EvalframeError:
        raise
    except Exception as error:
        raise _refused(name, f"cannot be made of {checkpoint}", f"{type(error).__name__}: {error}") from error
    if not callable(getattr(made, "predict", None)):
        raise _refused(name, "has no method predict", f"{type(made).__name__} from the factory")
    return made


@contextmanager
def _current_folder() -> Iterator[None]:
    """As `python -m` does; an installed program does not look there by itself."""
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        yield
    finally:
        if added and here in sys.path:
            sys.path.remove(here)


def _refused(name: str, what: str, found: str) -> PredictorRefused:
    return PredictorRefused(
        f"the predictor {name} {what}",
        expected="module:factory, a callable (checkpoint, *, device, robometer_repo)",
        found=found,
        where="--predictor",
        hint="--predictor evalframe.inference.brightness:factory  # a small working one, to copy from",
    )
