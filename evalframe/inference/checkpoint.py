"""Checkpoint files -> modules that predict. The digest is taken first, the file is looked at second, loaded last."""

from __future__ import annotations

import hashlib
import importlib
import io
import logging
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalframe.errors import DigestMismatch, EvalframeError, TorchMissing, UsageError
from evalframe.inference.archive import SAMPLES, TRUST, Checkpoint, read_checkpoint, refused
from evalframe.inference.metadata import Metadata, metadata_of
from evalframe.sources.fields import unreadable
from evalframe.sources.npz import told_by

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Loaded:
    """A module that is ready to predict, what it says of itself, and the SHA-256 (64 hex) of the file it came from.

    state: its parameters and buffers. sample_shape: of the signals that an archive was exported with.
    """

    module: Callable[..., Any]
    state: dict[str, torch.Tensor]
    metadata: Metadata
    sha256: str
    device: str
    where: str
    sample_shape: tuple[int, ...] | None = None


def load(
    path: Path, *, sha256: str | None = None, module: str | None = None, trust_pickle: bool = False, device: str = "cpu"
) -> Loaded:
    """The fitted model in a checkpoint file: a `.pt2` archive, or a state dict for what `module` builds.

    sha256: what the file must be. module: `module:factory`, a function without arguments that builds the module of a
    state dict. trust_pickle: let a file of your own run code while it loads.
    Raises, in this order: FileUnreadable; DigestMismatch (exit 5); CheckpointRefused, MetadataRefused (exit 2);
    TorchMissing; CheckpointRefused where torch cannot load what looked sound.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        require_digest(path, digest, sha256)
        checkpoint = read_checkpoint(file, str(path), trust=trust_pickle)
    metadata = metadata_of(checkpoint, path)
    with _quiet():
        torch = imported_torch()
        chosen = _device(torch, device)
        if checkpoint.kind == "program":
            shape = _sample_shape(torch, checkpoint, trust_pickle)
            built = _program(torch, checkpoint, chosen)
        else:
            shape = None
            built = _built(torch, checkpoint, chosen, module, trust_pickle)
    state = {**dict(built.named_parameters()), **dict(built.named_buffers())}
    return Loaded(built, state, metadata, digest, device, str(path), shape)


def require_digest(path: Path, found: str, expected: str | None) -> None:
    """Raise DigestMismatch unless the file is the one whose SHA-256 was recorded; None and "" record nothing."""
    if expected and found != expected.strip().lower():
        raise DigestMismatch(
            f"{path.name} is not the file whose digest was recorded",
            expected=expected,
            found=found,
            where=str(path),
            hint=f"sha256sum {shlex.quote(str(path))}",
        )


def imported_torch() -> Any:
    """The torch package. Raises TorchMissing with what to install."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TorchMissing(
            "checkpoints need torch",
            expected="torch 2.8 or newer",
            found="not installed",
            hint="pip install 'evalframe[torch]'",
        ) from None


def _device(torch: Any, name: str) -> Any:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"there is no device {name}",
            expected="cpu, or a device that this torch can use",
            found=told_by(error)[:200],
            where="--device",
            hint="--device cpu",
        ) from None
    return device


def _sample_shape(torch: Any, checkpoint: Checkpoint, trust: bool) -> tuple[int, ...] | None:
    """Shape of the first sample input. Loading the archive would unpickle the samples without restraint, so they are
    loaded here first, as weights alone."""
    content = checkpoint.members.get(SAMPLES)
    if not content:
        return None
    samples = _weights_only(torch, content, checkpoint.where, "sample inputs", trust=trust)
    try:
        return tuple(samples[0][0].shape)
    except (TypeError, LookupError, AttributeError):
        return None


def _program(torch: Any, checkpoint: Checkpoint, device: Any) -> Any:
    with _told(checkpoint.where, "torch cannot load the archive"):
        program = torch.export.load(checkpoint.rebuilt())
        if device.type != "cpu":
            program = importlib.import_module("torch.export.passes").move_to_device_pass(program, device)
        return program.module()


def _built(torch: Any, checkpoint: Checkpoint, device: Any, module: str | None, trust: bool) -> Any:
    if module is None:
        raise UsageError(
            "a state dict holds weights and no model",
            expected="--module module:factory, which builds the model",
            found="no --module",
            where=checkpoint.where,
            hint="--module models:build",
        )
    content = checkpoint.rebuilt().getvalue()
    state = _weights_only(torch, content, checkpoint.where, "the state dict", trust=trust)
    if not isinstance(state, dict) or not all(torch.is_tensor(value) for value in state.values()):
        kinds = sorted({type(value).__name__ for value in state.values()}) if isinstance(state, dict) else type(state)
        raise refused(
            checkpoint.where, "this is no state dict", "tensors by name", str(kinds), "torch.save(m.state_dict())"
        )
    with torch.random.fork_rng(devices=[]), _told(checkpoint.where, f"{module} does not fit the state dict"):
        torch.manual_seed(0)
        built = _factory(module)()
        built.load_state_dict(state, strict=True)
        return built.to(device).eval()


def _weights_only(torch: Any, content: bytes, where: str, what: str, *, trust: bool) -> Any:
    try:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=not trust)
    except Exception as error:
        raise refused(
            where,
            f"{what} cannot be loaded as weights alone",
            "tensors and plain containers: anything else could run code",
            told_by(error),
            TRUST,
        ) from None


def _factory(name: str) -> Callable[[], Any]:
    module, sign, attribute = name.partition(":")
    if not sign or not module or not attribute:
        raise UsageError(
            "--module names no factory", expected="module:factory", found=name, where="--module", hint="models:build"
        )
    sys.path.insert(0, "")  # a console script does not look in the current folder
    try:
        found: Callable[[], Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{name} cannot be imported",
            expected="a function without arguments in a module that Python finds",
            found=told_by(error)[:200],
            where="--module",
            hint=f'python -c "from {module} import {attribute}"',
        ) from None
    finally:
        sys.path.remove("")
    return found


@contextmanager
def _told(where: str, what: str) -> Iterator[None]:
    """Whatever torch raises as a refusal of the checkpoint."""
    try:
        yield
    except EvalframeError:
        raise
    except Exception as error:  # torch raises every kind, down to AttributeError and MemoryError
        raise refused(where, what, "an archive of torch.export.save, or weights that fit", told_by(error)) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """torch tells of its attempts by warnings and by log lines with tracebacks; a refusal here is four lines."""
    loggers = [logging.getLogger(name) for name in ("torch.export", "torch._export")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
