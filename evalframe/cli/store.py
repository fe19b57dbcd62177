"""`evalframe store ...`: look after a store."""

from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import Format, JsonOption, put, show, show_json
from evalframe.cli.screen import verdict
from evalframe.cli.terminal import Terminal
from evalframe.errors import ExitCode, printable

_Place = Annotated[str, Parameter(name="--store", help="Folder of the store, or its URI (s3://bucket/results).")]
"""The place of a store, which other commands take as `--store`: with or without the word here."""


def verify(folder: _Place, *, format: Format = Format.TABLE, json: JsonOption = False) -> int:
    """Check every sealed file against its seal, and name what differs. Exit 5 if anything does.

    Example: evalframe store verify evalframe-demo/store
    """
    from evalframe.verbs import drawing
    from evalframe.verbs.opened import open_store

    findings = open_store(folder).verify()
    if json:
        show_json({"findings": drawing.rows(findings.table), "ok": not len(findings.table)}, "store verify")
    elif len(findings.table):
        show(findings.table, format, [f"{len(findings.table)} findings: the store is not as it was sealed"])
    else:
        put(verdict("every sealed file matches its seal", Terminal.of()))
    return ExitCode.MISMATCH if len(findings.table) else ExitCode.OK


def gc(
    folder: _Place,
    *,
    dry_run: Annotated[bool, Parameter(help="Only list what would be removed.")] = False,
    json: JsonOption = False,
) -> None:
    """Remove what killed writers left behind; sealed files are never touched.

    Example: evalframe store gc evalframe-demo/store --dry-run
    """
    from evalframe.verbs.opened import open_store

    removed = open_store(folder).gc(dry_run=dry_run)
    if json:
        show_json({"removed": removed, "dry_run": dry_run}, "store gc")
    else:
        put("\n".join([*map(printable, removed), f"{len(removed)} file(s) {'would be ' if dry_run else ''}removed"]))


def withdraw(
    folder: _Place,
    run: Annotated[str, Parameter(name="--run", help="The run to hide.")],
    *,
    reason: Annotated[str, Parameter(help="Why; sealed with the tombstone.")],
    json: JsonOption = False,
) -> None:
    """Hide a run from every reader behind a sealed reason. Its files stay.

    Example: evalframe store withdraw evalframe-demo/store gru --reason "labels were shifted by one window"
    """
    from evalframe.verbs.opened import open_store

    outcome = open_store(folder).withdraw(run, reason=reason)
    if json:
        show_json({"run_id": run, "outcome": outcome, "reason": reason}, "store withdraw")
    else:
        put(printable(f"{run} is withdrawn: {reason}"))
