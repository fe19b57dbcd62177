"""`evalframe runs`: what a store holds, and what two runs of it differ in."""

from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import Format, JsonOption, StoreOption, show_json, show_rows
from evalframe.errors import UsageError


def runs(
    *,
    store: StoreOption,
    diff: Annotated[list[str] | None, Parameter(help="Two runs: show only what differs between them.")] = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """List the runs of a store, oldest first, with the protocols they were scored under; or compare two of them.

    Example: evalframe runs --store evalframe-demo/store --diff gru gru-excluding
    """
    from evalframe.store.refusals import naming
    from evalframe.verbs import drawing
    from evalframe.verbs.opened import open_store

    if diff is not None and len(diff) != 2:
        with naming(store):
            raise UsageError(
                "--diff takes two runs",
                expected="two run ids",
                found=f"{len(diff)}: {', '.join(diff)}",
                where="--diff",
                hint="evalframe runs --store DIR --diff A B",
            )
    opened = open_store(store)
    found = opened.diff(*diff) if diff else opened.runs()
    if json:
        named = {"a": diff[0], "b": diff[1]} if diff else {}
        show_json({**named, "differences" if diff else "runs": drawing.rows(found.table)}, "runs")
    else:
        show_rows(found, format)
