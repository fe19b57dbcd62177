"""inventory.csv: the retained models, each with the files that belong to it. Paths are relative to the inventory."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from evalframe.contracts import Contract, read_table
from evalframe.errors import DuplicateItem, InventoryRefused, MissingField, UsageError
from evalframe.sources.values import normalised

REQUIRED = (
    "model_id", "method", "dataset", "fold", "seed", "checkpoint", "checkpoint_sha256", "sidecar", "predictions",
)  # fmt: skip
OPTIONAL = ("data", "data_sha256", "export", "export_sha256", "module")
TAGS = ("method", "dataset", "fold", "seed")

# No column is declared, so every cell comes as the text that is written.
_AS_WRITTEN = Contract("inventory", "", "", columns=(), key=(), references=())


@dataclass(frozen=True)
class Model:
    """One line of an inventory. Paths are None where the cell is empty; whether the files exist is not asked here."""

    model_id: str
    method: str
    dataset: str
    fold: str
    seed: str
    checkpoint: Path | None
    checkpoint_sha256: str
    sidecar: Path | None
    predictions: Path | None
    data: Path | None
    data_sha256: str
    export: Path | None
    export_sha256: str
    module: str | None

    @property
    def tags(self) -> dict[str, str]:
        """What is known of the model besides its files; empty cells are left out."""
        return {name: getattr(self, name) for name in TAGS if getattr(self, name)}


def read_inventory(path: Path) -> tuple[Model, ...]:
    """The models in the order of the file.

    Raises InputError (exit 2: unreadable, a column is missing), InventoryRefused or DuplicateItem (exit 4: no model, a
    line without a model_id, an id that stands twice).
    """
    cells = text_columns(path, REQUIRED, OPTIONAL)
    ids = model_ids(cells["model_id"], path)
    if not ids:
        raise InventoryRefused(
            "the inventory names no model", expected="a line for each model", found="none", where=str(path),
            hint=f"head {shlex.quote(str(path))}",
        )  # fmt: skip
    folder = path.parent

    def file(name: str, row: int) -> Path | None:
        return folder / cells[name][row] if cells[name][row] else None

    return tuple(
        Model(
            **{name: cells[name][row] for name in ("method", "dataset", "fold", "seed")},
            **{name: cells[name][row] for name in ("checkpoint_sha256", "data_sha256", "export_sha256")},
            model_id=model_id,
            checkpoint=file("checkpoint", row),
            sidecar=file("sidecar", row),
            predictions=file("predictions", row),
            data=file("data", row),
            export=file("export", row),
            module=cells["module"][row] or None,
        )
        for row, model_id in enumerate(ids)
    )


def text_columns(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, list[str]]:
    """Columns of a text table by name, empty text for an empty cell and for an optional column that is not there."""
    table = read_table(_AS_WRITTEN, path)
    if missing := [name for name in required if name not in table.column_names]:
        raise MissingField(
            f"{path.name} has no column {missing[0]}",
            expected=", ".join(required),
            found=", ".join(table.column_names) or "nothing",
            where=str(path),
            hint=f"head -1 {shlex.quote(str(path))}",
        )
    nothing = [""] * len(table)
    return {
        name: [(cell or "").strip() for cell in _cells(table, name)] if name in table.column_names else nothing
        for name in (*required, *optional)
    }


def _cells(table: pa.Table, name: str) -> list[str | None]:
    """A column as text in one Unicode form; null where nothing is written."""
    chunks = table[name].cast(pa.large_string()).chunks
    cells: list[str | None] = normalised(pa.concat_arrays(chunks)).to_pylist() if chunks else []
    return cells


def model_ids(cells: Sequence[str], path: Path) -> list[str]:
    """The ids as they are, each once. Raises InventoryRefused (an empty one), DuplicateItem naming both lines."""
    lines: dict[str, int] = {}
    for line, model_id in enumerate(cells, 2):
        if not model_id:
            raise InventoryRefused(
                "a line names no model", expected="a model_id in every line", found=f"none in line {line}",
                where=str(path), hint=f"sed -n {line}p {shlex.quote(str(path))}",
            )  # fmt: skip
        if model_id in lines:
            raise DuplicateItem(
                "model_id names two lines",
                expected="an id of its own for every model",
                found=f"{model_id!r} in lines {lines[model_id]} and {line}",
                where=str(path),
                hint="correct the ids; which of the lines is meant cannot be told",
            )
        lines[model_id] = line
    return list(cells)


def select(models: Sequence[Model], selections: Sequence[str]) -> tuple[Model, ...]:
    """The models that one of `selections` names: `all`, or `dataset=ADL-Wrist,fold=0` (all of its parts hold).

    Raises UsageError for a part that is no NAME=VALUE of the inventory, and for a selection that names no model.
    """
    chosen: set[str] = set()
    for selection in selections:
        wanted = {} if selection == "all" else _parts(selection)
        found = [each.model_id for each in models if all(getattr(each, k) == v for k, v in wanted.items())]
        if not found:
            raise UsageError(
                "the selection names no model",
                expected=", ".join(sorted({f"{k}={getattr(m, k)}" for m in models for k in wanted})[:10]),
                found=selection,
                where="--full-inference",
                hint="--full-inference all",
            )
        chosen.update(found)
    return tuple(each for each in models if each.model_id in chosen)


def _parts(selection: str) -> Mapping[str, str]:
    wanted = {}
    for part in selection.split(","):
        name, sign, value = part.strip().partition("=")
        if not sign or name not in ("model_id", *TAGS):
            raise UsageError(
                "the selection is not of columns of the inventory",
                expected=f"all, or NAME=VALUE of {', '.join(('model_id', *TAGS))}, joined by commas",
                found=part,
                where="--full-inference",
                hint="--full-inference dataset=NAME,fold=0",
            )
        wanted[name] = value
    return wanted


def keys_present(keys: Mapping[str, str], names: Sequence[str], present: Collection[str]) -> dict[str, str]:
    """Of `keys`, those for fields `names` that a file with the arrays `present` can follow: files of one inventory need
    not all call a field alike."""
    return {name: key for name, key in keys.items() if name in names and key in present}
