"""Checkpoint archives with something in them that would create a file, one for each door of torch's loaders.

`Payload` is what a pickle calls when it is read. Whether a door is real is shown by opening it: with trust, the file
appears.
"""

from __future__ import annotations

import io
import json
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tests.inference.models import CLASSES, WindowNet, export, metadata, save_state, seeded

WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"
SAMPLES = "data/sample_inputs/model.pt"
GRAPH = "models/model.json"


class Payload:
    """Creates `path` when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


def pickled(path: Path) -> bytes:
    """A file of torch.save that creates `path` when it is unpickled without restraint."""
    made = io.BytesIO()
    torch.save(Payload(path), made)
    return made.getvalue()


def sound(folder: Path) -> Path:
    """An archive that is let in."""
    path = folder / "model.pt2"
    path.write_bytes(_sound())
    return path


@cache
def _sound() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return export(seeded(1, WindowNet, len(CLASSES)), Path(folder) / "model.pt2", metadata()).read_bytes()


def rewritten(archive: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The archive with its members changed."""
    with zipfile.ZipFile(archive) as file:
        members = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    change(members)
    return zipped(archive, {f"model/{name}": content for name, content in members.items()})


def zipped(path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    """A ZIP of these members."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def edited(members: dict[str, bytes], name: str, change: Callable[[Any], None]) -> None:
    """Change one JSON member in place."""
    value = json.loads(members[name])
    change(value)
    members[name] = json.dumps(value).encode()


def sample_inputs(folder: Path, target: Path) -> Path:
    """A pickle where the sample inputs stand."""
    return rewritten(sound(folder), lambda members: members.update({SAMPLES: pickled(target)}))


def pickled_weight(folder: Path, target: Path) -> Path:
    """A weight that is said to be a pickle, and is one."""

    def change(members: dict[str, bytes]) -> None:
        members["data/weights/weight_0"] = pickled(target)
        edited(members, WEIGHTS, lambda config: next(iter(config["config"].values())).update(use_pickle=True))

    return rewritten(sound(folder), change)


def pickled_constant(folder: Path, target: Path) -> Path:
    """A constant that is said to be a pickle, and is one."""

    def change(members: dict[str, bytes]) -> None:
        members["data/constants/tensor_0"] = pickled(target)
        payload = {"path_name": "tensor_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
        edited(members, CONSTANTS, lambda config: config["config"].update(c=payload))

    return rewritten(sound(folder), change)


def opaque_object(folder: Path, target: Path) -> Path:
    """A constant that torch hands to pickle itself."""

    def change(members: dict[str, bytes]) -> None:
        members["data/constants/opaque_obj_0"] = pickle.dumps(Payload(target))
        payload = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
        edited(members, CONSTANTS, lambda config: config["config"].update(c=payload))

    return rewritten(sound(folder), change)


def legacy_weights(folder: Path, target: Path) -> Path:
    """All weights in one file of torch.save, as an older layout had them."""
    return rewritten(sound(folder), lambda members: members.update({"data/weights/model.pt": pickled(target)}))


def legacy_constants(folder: Path, target: Path) -> Path:
    """All constants in one file of torch.save."""
    return rewritten(sound(folder), lambda members: members.update({"data/constants/model.pt": pickled(target)}))


def legacy_layout(folder: Path, target: Path) -> Path:
    """The flat archive of an older torch, which the loader still takes when the newer one fails."""
    return zipped(
        folder / "model.pt2",
        {
            "version": b"8.14",
            "serialized_exported_program.json": b"{}",
            "serialized_state_dict.pt": pickled(target),
            "serialized_constants.pt": pickled(target),
            "serialized_example_inputs.pt": pickled(target),
        },
    )


def compiled_code(folder: Path, target: Path) -> Path:
    """A compiled library, which the loader would load into the process."""
    del target
    return rewritten(sound(folder), lambda members: members.update({"data/aotinductor/model/model.so": b"\x7fELF"}))


def shape_expression(folder: Path, target: Path) -> Path:
    """A size that is Python: shapes are parsed with an evaluator."""
    text = f"__import__('pathlib').Path({str(target)!r}).touch()"

    def change(graph: Any) -> None:
        graph["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = {"as_expr": {"expr_str": text, "hint": None}}

    return rewritten(sound(folder), lambda members: edited(members, GRAPH, change))


def guard(folder: Path, target: Path) -> Path:
    """A guard that is Python: guards are compiled into the module."""
    text = f"__import__('pathlib').Path({str(target)!r}).touch() is None"
    return rewritten(
        sound(folder), lambda members: edited(members, GRAPH, lambda graph: graph.update(guards_code=[text]))
    )


def operator(folder: Path, target: Path) -> Path:
    """A node that calls a function found by walking through torch's modules."""

    def change(graph: Any) -> None:
        node = graph["graph_module"]["graph"]["nodes"][0]
        node["target"] = "torch.serialization.os.system"
        node["inputs"] = [{"name": "command", "arg": {"as_string": f"touch {target}"}, "kind": 1}]

    return rewritten(sound(folder), lambda members: edited(members, GRAPH, change))


def mapped_file(folder: Path, target: Path) -> Path:
    """An ATen operator that creates the file it maps."""

    def change(graph: Any) -> None:
        graph["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.aten.from_file.default"

    del target
    return rewritten(sound(folder), lambda members: edited(members, GRAPH, change))


def name_of_input(folder: Path, target: Path) -> Path:
    """An input whose name, compiled into a function's head, is code."""
    text = f"x=open({str(target)!r}, 'w')"
    return rewritten(
        sound(folder),
        lambda members: members.update(
            {GRAPH: members[GRAPH].replace(b'"name": "x"', json.dumps({"name": text}).encode()[1:-1])}
        ),
    )


def imported_type(folder: Path, target: Path) -> Path:
    """A tree of arguments whose type is imported by name."""
    del target

    def change(graph: Any) -> None:
        call = graph["graph_module"]["module_call_graph"][0]["signature"]
        call["in_spec"] = call["in_spec"].replace(
            '"context": "[]"', '"context": "{\\"__enum__\\": true, \\"fqn\\": \\"this:x\\"}"'
        )

    return rewritten(sound(folder), lambda members: edited(members, GRAPH, change))


def state_dict(folder: Path, target: Path) -> Path:
    """A state dict that is another pickle."""
    path = save_state(seeded(1, WindowNet, len(CLASSES)), folder / "model.pt", metadata())
    path.write_bytes(pickled(target))
    return path


OPEN_DOORS = (
    sample_inputs,
    pickled_weight,
    pickled_constant,
    opaque_object,
    legacy_weights,
    legacy_constants,
    shape_expression,
    guard,
)
"""Doors through which the payload is seen to come when the archive is handed to torch.export.load as it is."""

DOORS = (*OPEN_DOORS, operator, name_of_input, legacy_layout, compiled_code, mapped_file, imported_type)
