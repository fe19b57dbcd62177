"""One .hyper file, the extract that Tableau opens, written by pantab (extra `hyper`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from evalframe.errors import ExtraMissing
from evalframe.publish.describing import INFO
from evalframe.publish.rows import reader
from evalframe.publish.single_file import SingleFile, one_by_one
from evalframe.publish.star import Star


@dataclass(frozen=True)
class Hyper(SingleFile):
    """A Tableau extract. It has no views and no comments: meanings are in data_dictionary, sums in the facts."""

    kind: ClassVar[str] = "hyper"

    def _held(self) -> str | None:
        pantab = _pantab()
        query = f'SELECT "value" FROM "{INFO}" WHERE "name" = \'content_sha256\''
        with TemporaryDirectory() as logs:
            options = {"return_type": "pyarrow", "process_params": {"log_dir": logs}}
            try:
                found = pantab.frame_from_hyper_query(self.path, query, **options)
            except RuntimeError:  # no Hyper file, or no such table in it
                return None
        return str(found["value"][0]) if found.num_rows else None

    def _fill(self, new: Path, star: Star) -> None:
        pantab = _pantab()
        try:
            # Hyper is a server of its own and writes a log: beside the new file, where it is removed.
            readers = {name: reader(name, rows) for name, rows in one_by_one(star)}
            pantab.frames_to_hyper(readers, new, process_params={"log_dir": str(new.parent)})
        except RuntimeError as error:
            raise OSError(str(error)) from error


def _pantab() -> Any:
    try:
        import pantab
    except ImportError as error:
        raise ExtraMissing(
            "an export for Tableau needs pantab",
            expected="the extra `hyper`",
            found=f"no module {error.name}",
            where="--to hyper:",
            hint="pip install 'evalframe[hyper]'",
        ) from None
    return pantab
