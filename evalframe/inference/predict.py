"""Labelled windows through a loaded checkpoint -> one class index per window. Deterministic; nothing is fitted.

A per-window decoder is given batches in the order of the file. A per-participant-sequence decoder is given each
participant's windows in stable chronological order, equal times by their place in the file, and its answers are put
back where the windows came from. Elapsed time is not used: seconds and ordinals of one order are the same to it.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.errors import CheckpointMismatch, EvalframeError, MissingField, ProtocolError
from evalframe.inference.checkpoint import Loaded, imported_torch
from evalframe.inference.metadata import Layout
from evalframe.sources.npz import told_by
from evalframe.sources.signals import LabelledWindows
from evalframe.underway import portions


@dataclass(frozen=True)
class Batch:
    """What goes through the model in one call. rows: places in the file. mask: for a fixed sequence length, else None.
    signals: [B, ...] for windows, [1, L, ...] for a sequence, in the model's layout."""

    rows: NDArray[np.int64]
    signals: NDArray[Any]
    mask: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.rows)


def predict(
    loaded: Loaded,
    windows: LabelledWindows,
    *,
    layout: Layout = "NTC",
    batch_size: int = 256,
) -> pa.Array:
    """int16 class index per window; null where the model's scores are NaN, which is a failure of that window, and for
    windows that the data say failed.

    layout: axes of the signals in the file. batch_size: windows of one call of a per-window decoder.
    Raises CheckpointMismatch (shapes, number of classes), MissingField (a sequence decoder without times), or
    ProtocolError where predicting changed a parameter or buffer.
    """
    _check_shapes(loaded, windows, layout)
    found = np.full(len(windows.signals), -1, np.int16)
    with _predicting(loaded) as run:
        for batch in portions("windows", batches(loaded, windows, layout, batch_size), len(found)):
            found[batch.rows] = _classes(run(batch), batch, loaded)
    failed = found < 0 if windows.failed is None else (found < 0) | np.asarray(windows.failed)
    return pa.array(found, mask=failed)


def run_one_batch(
    loaded: Loaded, windows: LabelledWindows | None, *, layout: Layout = "NTC", batch_size: int = 256
) -> Literal["data", "zeros"] | None:
    """Run the model once: on the first batch of `windows`, or on zeros of the shape it declares; which of the two.

    None, and nothing was run, where there are no windows and the checkpoint declares no shape. Raises as `predict`.
    """
    what: Literal["data", "zeros"]
    if windows is not None and len(windows.signals):
        _check_shapes(loaded, windows, layout)
        batch = next(batches(loaded, windows, layout, batch_size))
        what = "data"
    elif (zeros := _zeros(loaded)) is not None:
        batch, what = zeros, "zeros"
    else:
        return None
    with _predicting(loaded) as run:
        _classes(run(batch), batch, loaded)
    return what


def _zeros(loaded: Loaded) -> Batch | None:
    """Zeros of the shape the archive was exported with, or of the T and C that the metadata declare."""
    metadata, shape = loaded.metadata, loaded.sample_shape
    if shape is None:
        if metadata.channels is None or metadata.length is None:
            return None
        window = (metadata.length, metadata.channels)
        window = window if metadata.layout == "NTC" else window[::-1]
        length = 2 if metadata.time == "dynamic" else metadata.time
        shape = (2, *window) if metadata.decoder == "per_window" else (1, length, *window)
    signals = np.zeros(shape, metadata.dtype)
    if metadata.decoder == "per_window":
        return Batch(np.arange(shape[0]), signals)
    mask = None if metadata.time == "dynamic" else np.ones(shape[:2], bool)
    return Batch(np.arange(shape[1]), signals, mask)


def batches(loaded: Loaded, windows: LabelledWindows, layout: Layout, batch_size: int) -> Iterator[Batch]:
    """The calls to make, in order."""
    metadata = loaded.metadata

    def fitted(rows: NDArray[np.int64]) -> NDArray[Any]:
        signals = windows.signals[rows]
        if metadata.layout != layout:
            signals = signals.swapaxes(1, 2)
        return np.ascontiguousarray(signals, dtype=metadata.dtype)

    if metadata.decoder == "per_window":
        for start in range(0, len(windows.signals), batch_size):
            rows = np.arange(start, min(start + batch_size, len(windows.signals)))
            yield Batch(rows, fitted(rows))
        return
    for rows in chronological(windows):
        signals, length = fitted(rows), metadata.time
        if length == "dynamic":
            yield Batch(rows, signals[np.newaxis])
            continue
        if len(rows) > length:
            raise _mismatch(
                loaded,
                "a participant has more windows than the checkpoint takes",
                f"at most {length}: it was exported for that many",
                f"{len(rows)} windows of participant {windows.participants[rows[0]]!r}",
                "export the model with a dynamic time axis, or with a longer one",
            )
        padded = np.zeros((1, length, *signals.shape[1:]), signals.dtype)
        padded[0, : len(rows)] = signals
        yield Batch(rows, padded, (np.arange(length) < len(rows))[np.newaxis])


def chronological(windows: LabelledWindows) -> list[NDArray[np.int64]]:
    """Per participant, sorted by name, the places of its windows in stable chronological order."""
    times = windows.times
    if times is None:
        raise MissingField(
            "a sequence decoder needs to know the order of the windows",
            expected="an array time, one finite number per window",
            found="no times",
            where=windows.where,
            hint="--key time=NAME  # what the file calls it",
        )
    rows: dict[str, list[int]] = {}
    for row, participant in enumerate(windows.participants):
        rows.setdefault(participant, []).append(row)
    ordered = []
    for participant in sorted(rows):
        own = np.asarray(rows[participant])
        ordered.append(own[np.argsort(times[own], kind="stable")])
    return ordered


def digest_of_state(state: Mapping[str, Any]) -> str:
    """64 hex over every parameter and buffer: names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        values = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {values.dtype} {list(values.shape)}\n".encode())
        digest.update(values.reshape(-1).view(imported_torch().uint8).numpy())
    return digest.hexdigest()


def _check_shapes(loaded: Loaded, windows: LabelledWindows, layout: Layout) -> None:
    said = {"T": loaded.metadata.length, "C": loaded.metadata.channels}
    found = dict(zip(layout[1:], windows.signals.shape[1:], strict=True))
    wrong = {axis: size for axis, size in found.items() if said[axis] not in (None, size)}
    if wrong and len(windows.signals):
        turned = "NCT" if layout == "NTC" else "NTC"
        raise _mismatch(
            loaded,
            "the signals are not of the shape that the checkpoint was fitted on",
            ", ".join(f"{axis} = {said[axis]}" for axis in wrong),
            f"{list(windows.signals.shape)} read as {layout}: " + ", ".join(f"{a} = {n}" for a, n in wrong.items()),
            f"--layout {turned}  # if the other axis holds the channels",
        )


@contextmanager
def _predicting(loaded: Loaded) -> Iterator[Callable[[Batch], NDArray[Any]]]:
    """Calls of the model that learn nothing; a model that changes its own state all the same is refused afterwards."""
    torch = imported_torch()
    before = digest_of_state(loaded.state)
    with _deterministic(torch), torch.inference_mode():
        yield lambda batch: _run(torch, loaded, batch)
    if digest_of_state(loaded.state) != before:
        raise ProtocolError(
            "the checkpoint changes its own weights or buffers while it predicts",
            expected="a model in evaluation mode, exported with .eval()",
            found="other values after predicting than before",
            where=loaded.where,
            hint="torch.export.save(torch.export.export(model.eval(), ...), ...)",
        )


def _run(torch: Any, loaded: Loaded, batch: Batch) -> NDArray[Any]:
    given = [batch.signals] if batch.mask is None else [batch.signals, batch.mask]
    try:
        out = loaded.module(*(torch.from_numpy(array).to(loaded.device) for array in given))
    except EvalframeError:
        raise
    except Exception as error:  # a guard of the archive, or an operator given shapes it cannot take
        raise _mismatch(
            loaded,
            "the checkpoint does not take these signals",
            f"a model for {loaded.metadata.decoder} in {loaded.metadata.layout}",
            f"shape {list(batch.signals.shape)}: {told_by(error)[:200]}",
            "--layout NCT, or NTC, as the file has its axes",
        ) from None
    if not torch.is_tensor(out):
        raise _mismatch(loaded, "the checkpoint yields no tensor", "scores or class indices", type(out).__name__)
    array: NDArray[Any] = out.detach().cpu().numpy() if out.dtype != torch.bfloat16 else out.float().cpu().numpy()
    return array


def _classes(out: NDArray[Any], batch: Batch, loaded: Loaded) -> NDArray[np.int16]:
    """Scores or indices as one class index a window, -1 for scores that are NaN. Of equal scores the first class."""
    size, n = len(loaded.metadata.classes), len(batch.rows)
    sequence = loaded.metadata.decoder != "per_window"
    if sequence and out.ndim and out.shape[0] == 1:
        out = out[0]
    steps = batch.signals.shape[1] if sequence else n
    if out.dtype.kind == "f" and out.shape == (steps, size):
        scores = out[:n]
        return np.where(np.isnan(scores).any(axis=1), -1, scores.argmax(axis=1)).astype(np.int16)
    if out.dtype.kind in "iu" and out.shape == (steps,):
        indices = out[:n]
        if n and (indices.min() < 0 or indices.max() >= size):
            raise _mismatch(
                loaded, "the checkpoint predicts a class that it does not name", f"0 to {size - 1}", str(indices.max())
            )
        return indices.astype(np.int16)
    raise _mismatch(
        loaded,
        "the checkpoint yields another number of windows or classes",
        f"scores of shape {[steps, size]} for {size} classes, or {[steps]} class indices",
        f"{out.dtype} of shape {list(out.shape)}",
    )


@contextmanager
def _deterministic(torch: Any) -> Iterator[None]:
    """The same bits for the same call, and every random state as it was."""
    was = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    cuda = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(0)
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            torch.use_deterministic_algorithms(was[0], warn_only=was[1])


def _mismatch(loaded: Loaded, what: str, expected: str, found: str, hint: str = "") -> CheckpointMismatch:
    return CheckpointMismatch(
        what, expected=expected, found=found, where=loaded.where, hint=hint or "check evalframe.json of the checkpoint"
    )
