"""One write: journal, files, seal. It either seals everything or leaves nothing that a reader sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from evalframe.contracts import contract
from evalframe.errors import StoreConflict, StoreError
from evalframe.store import faults
from evalframe.store.files import reported
from evalframe.store.journal import Journal
from evalframe.store.ledger import Ledger, conflict
from evalframe.store.parquet import Writer, conformed
from evalframe.store.places import Place
from evalframe.store.seals import Seal, SealedFile, differences

Outcome = Literal["written", "unchanged"]
Stems = Mapping[str, tuple[str, str]]


def seal(
    ledger: Ledger,
    given: Seal,
    *,
    tables: Mapping[str, Any],
    stems: Stems,
    ids: Mapping[str, str | None],
    hint: str,
) -> Outcome:
    """Write `tables` and seal them as `given`, unless the same is sealed already.

    tables: name -> Arrow table or RecordBatchReader, in the columns of its contract. stems: folder and start of the
    file names per table. ids: column -> the text every row must carry.
    Raises StoreConflict when other content is sealed under the key (here or by another writer while this one wrote),
    ContractError for rows that break the contract, StoreError when the disk does. Then nothing is sealed, and what was
    written is removed.
    """
    files = ledger.files
    if (sealed := ledger.find(type(given), given.key)) is not None:
        return _same_or_refused(sealed, given, files, hint)
    with Journal(files, [f"{folder}/{start}-" for folder, start in stems.values()]) as journal:
        created: list[str] = []
        ours = given
        try:
            written = [
                part for name, data in tables.items() for part in _write(files, name, data, stems[name], ids, created)
            ]
            with reported("writing", files.root):
                files.settle(*{path.rpartition("/")[0] for path in created})
            versions = {name: contract(name).version for name in tables}
            ours = replace(given, files=tuple(written), contracts=versions)
            first = ledger.publish(journal, ours)
        except BaseException as failure:
            if files.settles_late and ours is not given and not isinstance(failure, StoreConflict):
                journal.keep()  # the seal may still come: `gc` looks again when the journal is old
            elif not _stands(ledger, ours):
                _remove(files, journal, created)
            raise
        if first != ours:
            _remove(files, journal, created)
            return _same_or_refused(first, given, files, hint)
        with reported("ending a write", files.root):
            faults.reach("writer.before_release")
    return "written"


def _write(
    files: Place,
    name: str,
    data: Any,
    stem: tuple[str, str],
    ids: Mapping[str, str | None],
    created: list[str],
) -> list[SealedFile]:
    definition = contract(name)
    writer = Writer(files, name, stem, definition.arrow_schema())
    try:
        with writer:
            for table in conformed(definition, data, ids):
                writer.add(table)
    finally:
        created.extend(writer.created)
    return writer.files


def _stands(ledger: Ledger, seal: Seal) -> bool:
    """Whether the seal may be in place: where the disk does not even tell, its files must stay."""
    try:
        return ledger.stands(seal)
    except StoreError:
        return True


def _same_or_refused(sealed: Seal, given: Seal, files: Place, hint: str) -> Outcome:
    if differences(sealed, given):
        raise conflict(sealed, given, root=files.root, hint=hint)
    return "unchanged"


def _remove(files: Place, journal: Journal, created: list[str]) -> None:
    """Remove what this writer made. Where the disk refuses even that, the journal stays and `gc` finishes."""
    for path in created:
        try:
            files.remove(path)
        except OSError:
            journal.keep()
        else:
            files.remove_empty(path.rpartition("/")[0])
