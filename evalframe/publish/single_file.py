"""An export that is one file: what is there is looked at, the new one is made beside it and renamed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalframe.contracts.shards import Rows
from evalframe.publish.describing import tables_of
from evalframe.publish.star import Star
from evalframe.publish.targets import Outcome, other_content
from evalframe.store import faults, staging


@dataclass(frozen=True)
class SingleFile(ABC):
    """One file of tables. One that no export wrote is never replaced."""

    path: Path
    kind: ClassVar[str] = ""
    compares: ClassVar[bool] = True

    @property
    def shown(self) -> str:
        """How `--to` names it."""
        return f"{self.kind}:{self.path}" if self.kind else str(self.path)

    def write(self, star: Star, *, force: bool) -> Outcome:
        """Write beside, then rename."""
        staging.recover(self.path)
        if self.path.exists():
            found = self._held()
            if found == star.digest:
                return "unchanged"
            if found is None or not force:
                raise other_content(self.path.name, str(self.path), ours=found is not None)
        with staging.made(self.path, option="--to") as new:
            self._fill(new, star)
        return "written"

    @abstractmethod
    def _held(self) -> str | None:
        """The digest of the content that the file says it holds; None where no export wrote it."""

    @abstractmethod
    def _fill(self, new: Path, star: Star) -> None:
        """Write the file."""


def one_by_one(star: Star) -> Iterator[tuple[str, Rows]]:
    """Every table that a file holds by its name, each after a place at which a test may stop the export."""
    for name, rows in tables_of(star).items():
        faults.reach("output.member")
        yield name, rows
