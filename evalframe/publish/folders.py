"""A folder of Parquet or CSV files, one per table, with a manifest that says what they hold."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts.shards import Rows, blocks
from evalframe.publish.formulas import FORMULA
from evalframe.publish.recomputed import VIEWS
from evalframe.publish.rows import passing
from evalframe.publish.star import Star
from evalframe.publish.targets import Outcome, other_content
from evalframe.store import faults, staging

MANIFEST = "manifest.json"
GROUP_ROWS = 1 << 17
"""Rows that a Parquet file holds together, and that are in memory while it is written."""


@dataclass(frozen=True)
class Folder(ABC):
    """A folder of files and a manifest. One that no export wrote is never replaced."""

    path: Path
    kind: ClassVar[str]
    compares: ClassVar[bool] = True
    note: ClassVar[str] = ""

    @property
    def shown(self) -> str:
        """How `--to` names it."""
        return f"{self.kind}:{self.path}"

    def write(self, star: Star, *, force: bool) -> Outcome:
        """Write beside, then rename."""
        staging.recover(self.path)
        manifest = self._manifest(star)
        if self.path.exists() and not self._is_free():
            found = _read_manifest(self.path)
            if found == manifest:
                return "unchanged"
            if found is None or not force:
                raise other_content(f"the folder {self.path.name}", str(self.path), ours=found is not None)
        with staging.made(self.path, option="--to") as new:
            new.mkdir()
            self._fill(new, star, manifest)
        return "written"

    def _is_free(self) -> bool:
        return self.path.is_dir() and not any(self.path.iterdir())

    def _manifest(self, star: Star) -> dict[str, object]:
        counts = {name: rows.num_rows for name, rows in star.tables.items()}
        note = {"note": self.note} if self.note else {}
        return {**star.info(), "format": self.kind, "tables": counts, **note}

    def _fill(self, folder: Path, star: Star, manifest: dict[str, object]) -> None:
        self._write_files(folder, star)
        staging.put(folder / MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())

    @abstractmethod
    def _write_files(self, folder: Path, star: Star) -> None:
        """Everything but the manifest."""


class _Tables(Folder):
    """One file per table."""

    @abstractmethod
    def _write(self, name: str, rows: Rows, path: Path, descriptions: dict[str, str]) -> None: ...

    def _write_files(self, folder: Path, star: Star) -> None:
        columns = star.table("data_dictionary").to_pylist()
        for name, rows in star.tables.items():
            said = {row["column_name"]: row["description"] for row in columns if row["table_name"] == name}
            faults.reach("output.member")
            self._write(name, rows, folder / f"{name}.{self.kind}", said)
        views = "\n".join(f"-- {said}\nCREATE VIEW {name} AS{query};\n" for name, (said, query) in VIEWS.items())
        staging.put(folder / "recomputed.sql", views.encode())


class Parquet(_Tables):
    """Parquet files, each column with its meaning in the field's metadata."""

    kind = "parquet"

    def _write(self, name: str, rows: Rows, path: Path, descriptions: dict[str, str]) -> None:
        import pyarrow.parquet as pq

        described = [
            field.with_metadata({"description": descriptions[field.name]}) if field.name in descriptions else field
            for field in rows.schema
        ]
        with pq.ParquetWriter(path, pa.schema(described), compression="zstd") as writer:
            for group in blocks(passing(name, rows), GROUP_ROWS):
                writer.write_table(group)


class Csv(_Tables):
    """CSV files that a spreadsheet may open: no cell is a formula."""

    kind = "csv"
    note = (
        "A text cell whose first character after any apostrophes starts a formula carries one apostrophe more in front;"
        " empty text is quoted and null is not."
    )

    def _write(self, name: str, rows: Rows, path: Path, descriptions: dict[str, str]) -> None:
        from pyarrow import csv

        with csv.CSVWriter(path, rows.schema) as writer:
            for batch in passing(name, rows):
                safe = [formula_safe(column) if pa.types.is_string(column.type) else column for column in batch]
                writer.write_batch(pa.RecordBatch.from_arrays(safe, schema=rows.schema))


def formula_safe(column: pa.Array) -> pa.Array:
    """Text cells with an apostrophe in front of what a spreadsheet would run; taking one away gives the text back."""
    return pc.replace_substring_regex(column, FORMULA, r"'\1")


def _read_manifest(folder: Path) -> dict[str, object] | None:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("producer") == "evalframe" else None
