"""A folder of Delta tables, one per table of the star schema, written by delta-rs (extra `delta`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalframe.errors import ExtraMissing
from evalframe.publish.folders import Folder
from evalframe.publish.rows import reader
from evalframe.publish.star import Star
from evalframe.store import faults


@dataclass(frozen=True)
class Delta(Folder):
    """Delta tables. An export is a first version each time: what was there is replaced as a whole."""

    kind: ClassVar[str] = "delta"

    def _write_files(self, folder: Path, star: Star) -> None:
        try:
            from deltalake import write_deltalake
        except ImportError as error:
            raise ExtraMissing(
                "an export as Delta tables needs delta-rs",
                expected="the extra `delta`",
                found=f"no module {error.name}",
                where="--to delta:",
                hint="pip install 'evalframe[delta]'",
            ) from None
        for name, rows in star.tables.items():
            faults.reach("output.member")
            write_deltalake(folder / name, reader(name, rows), name=name, description=star.definitions[name])
