"""What sound seals say, kept in columns while a store is verified: as objects they weigh half as much again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.store.catalogue import SEALS_INDEX
from evalframe.store.seals import RunSeal, Seal, SealedFile
from evalframe.store.tables import among, files_index, runs_table, seals_index

_AT_ONCE = 512
_TEXT = pa.large_string()
_FILES = pa.schema(
    [("seal", _TEXT), ("run_id", _TEXT), ("table", _TEXT), ("path", _TEXT), ("size", pa.int64()), ("sha256", _TEXT)]
)


class Sealed(NamedTuple):
    """A file that a seal lists. seal: its name."""

    seal: str
    run_id: str | None
    table: str
    path: str
    size: int
    sha256: str


class Known:
    """Sound seals in the order in which they are added. names: of all of them."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.n_files = 0
        self._waiting: dict[str, Seal] = {}
        self._runs: set[str] = set()
        self._about: list[tuple[str, str]] = []
        self._seals: list[pa.Table] = []
        self._index: list[pa.Table] = []
        self._files: list[pa.Table] = []
        self._rows: list[pa.Table] = []

    def add(self, name: str, seal: Seal) -> None:
        """One more."""
        self.names.add(name)
        self.n_files += len(seal.files)
        self._waiting[name] = seal
        run = getattr(seal, "run_id", None)
        if isinstance(seal, RunSeal):
            self._runs.add(seal.run_id)
        elif run is not None:
            self._about.append((name, run))
        if len(self._waiting) >= _AT_ONCE:
            self._put()

    def _put(self) -> None:
        """Those that wait, into columns."""
        self._seals.append(seals_index(self._waiting))
        self._index.append(files_index(self._waiting))
        rows = [
            (name, getattr(seal, "run_id", None), file.table, file.path, file.size, file.sha256)
            for name, seal in self._waiting.items()
            for file in seal.files
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(_FILES)
        self._files.append(pa.table([pa.array(c, f.type) for c, f in zip(columns, _FILES, strict=True)], schema=_FILES))
        self._rows.append(runs_table([seal for seal in self._waiting.values() if isinstance(seal, RunSeal)]))
        self._waiting = {}

    def without_run(self) -> Iterator[tuple[str, str]]:
        """(seal, run) of those that are about a run of which there is no sound seal."""
        return (about for about in self._about if about[1] not in self._runs)

    def files(self) -> Iterator[Sealed]:
        """All files that are listed, by seal."""
        self._put()
        for table in self._files:
            yield from map(Sealed._make, zip(*(column.to_pylist() for column in table.columns), strict=True))

    def paths(self) -> set[str]:
        """Where they lie."""
        return {path for table in self._files for path in table.column("path").to_pylist()}

    def with_digest(self, sha256: str) -> Sealed | None:
        """The last file listed with this digest."""
        for table in reversed(self._files):
            found = table.filter(pc.equal(table.column("sha256"), sha256))
            if len(found):
                return Sealed(**found.slice(len(found) - 1).to_pylist()[0])
        return None

    def index(self, table: str, seals: Collection[str]) -> pa.Table:
        """What an index of a segment over these seals must hold."""
        whole, by = (self._seals, ("seal",)) if table == SEALS_INDEX else (self._index, ("table", "seal", "path"))
        return among(pa.concat_tables(whole), "seal", seals).sort_by([(name, "ascending") for name in by])

    def sealed(self, table: str, seals: Collection[str]) -> list[SealedFile]:
        """The files of a table that these seals list; how many rows they have is not kept."""
        listed = among(pa.concat_tables(self._files), "seal", seals)
        rows = listed.filter(pc.equal(listed.column("table"), table)).to_pylist()
        return [SealedFile(row["table"], row["path"], 0, row["size"], row["sha256"]) for row in rows]

    def runs(self, seals: Collection[str]) -> pa.Table:
        """Table `runs` of these seals."""
        listed = among(pa.concat_tables(self._seals), "seal", seals)
        return among(pa.concat_tables(self._rows), "run_id", listed["run_id"].to_pylist())
