"""Two output folders side by side: which settings differ, and which of them make the numbers incomparable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.errors import ExitCode
from evalframe.verbs.outputs import to_json
from evalframe.verbs.results import Rows
from evalframe.verbs.robometer_output import Output, read_manifest

_KINDS = {
    "protocol": ("protocol", "parameters"),
    "selection": ("split", "dataset_id", "dataset_sha256", "task_registry_sha256", "tasks", "n_trajectories"),
}
"""What the numbers answer to. Everything else, the model above all, is what a comparison is about."""

_SCHEMA = pa.schema(
    {
        "field": pa.large_string(),
        "kind": pa.large_string(),
        "first": pa.large_string(),
        "second": pa.large_string(),
        "same": pa.bool_(),
    }
)


@dataclass(frozen=True, repr=False)
class ManifestComparison(Rows):
    """One row per field of either manifest: its kind (protocol, selection or run) and both values as JSON."""

    def differing(self, *kinds: str) -> list[str]:
        """Fields of these kinds (default: any) that differ."""
        return [r["field"] for r in self.to_pylist() if not r["same"] and (not kinds or r["kind"] in kinds)]

    @property
    def comparable(self) -> bool:
        """Whether protocol and selection are the same."""
        return not self.differing("protocol", "selection")

    @property
    def exit_code(self) -> ExitCode:
        """What the command ends with."""
        return ExitCode.OK if self.comparable else ExitCode.NOT_COMPARABLE

    def headlines(self) -> list[str]:
        """The verdict first."""
        if self.comparable:
            others = self.differing()
            return [f"comparable: same protocol and selection{'; differing: ' + ', '.join(others) if others else ''}"]
        return [f"not comparable: {', '.join(self.differing('protocol', 'selection'))}"]

    def shown(self) -> pa.Table:
        """The fields that differ; all of them stand in the table and in the JSON."""
        return self.table.filter(pc.invert(self.table["same"])).select(["field", "kind", "first", "second"])

    def to_json(self) -> str:
        """The rows and the verdict as one JSON object."""
        body = {
            "verdict": "comparable" if self.comparable else "not_comparable",
            "differing": self.differing(),
            "fields": [{**row, **{s: json.loads(row[s]) for s in ("first", "second")}} for row in self.to_pylist()],
        }
        return to_json("robometer compare-manifests", body)


def compare_manifests(first: Path | str, second: Path | str) -> ManifestComparison:
    """Compare two output folders (or run_manifest.json files) field by field. Raises InputError where one has none."""
    sides = [_described(Path(first)), _described(Path(second))]
    rows = []
    for name in sorted({*sides[0], *sides[1]}):
        one, other = (side.get(name) for side in sides)
        rows.append(
            {"field": name, "kind": _kind(name), "first": _text(one), "second": _text(other), "same": one == other}
        )
    return ManifestComparison(pa.Table.from_pylist(rows, _SCHEMA))


def _described(path: Path) -> dict[str, Any]:
    manifest = read_manifest(path)
    flat = dict(_flat(manifest))
    if path.is_dir():
        steps = Output(path).steps()
        flat["steps.finished"] = [step.step for step in steps if step.finished]
        flat["steps.workers"] = {
            f"{step.step:06d}": step.owner() for step in steps if (step.folder / "claim").is_file()
        }
    return flat


def _flat(body: Mapping[str, Any], at: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in body.items():
        found += _flat(value, f"{at}{name}.") if isinstance(value, Mapping) else [(f"{at}{name}", value)]
    return found


def _kind(field: str) -> str:
    return next((kind for kind, names in _KINDS.items() if field.split(".")[0] in names), "run")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
